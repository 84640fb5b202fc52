/* SPDX-License-Identifier: Apache-2.0 */
/* --cpu: CPU time by function, of the program and its libraries. */
#include "analysis/traits.h"
#include "names/cpu_functions.h"
#include "report/report_table.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const struct aif_table_column columns[] = {
	{"self_share", AIF_TABLE_SHARE},   {"self", AIF_TABLE_NS},
	{"total_share", AIF_TABLE_SHARE},  {"total", AIF_TABLE_NS},
	{"self_samples", AIF_TABLE_COUNT}, {"function", AIF_TABLE_TEXT},
	{"line", AIF_TABLE_TEXT},          {"module", AIF_TABLE_TEXT},
};

/* Returns the file's name of a module; "" of Python and where it is not known. */
static const char *module_name(const struct aif_profile *p, uint32_t module, bool is_whole)
{
	const char *path = module < p->modules_len ? aif_profile_str(p, p->modules[module].path)
						   : "",
		   *slash = strrchr(path, '/');

	return slash && !is_whole ? slash + 1 : path;
}

static void put_row(struct aif_report *r, const struct aif_cpu_functions *all,
		    const struct aif_cpu_function *f, struct aif_buf *text)
{
	aif_table_number(&r->t, aif_share_ppm(f->self_ns, all->weight_ns));
	aif_table_number(&r->t, f->self_ns);
	aif_table_number(&r->t, aif_share_ppm(f->total_ns, all->weight_ns));
	aif_table_number(&r->t, f->total_ns);
	aif_table_number(&r->t, f->self_samples);
	aif_table_text(&r->t, aif_cpu_function_name(all, f));
	aif_buf_clear(text);
	aif_cpu_function_place(r->p, f, text);
	aif_table_text(&r->t, aif_buf_str(text));
	aif_table_text(&r->t, module_name(r->p, f->module, r->o->format != AIF_TABLE_PLAIN));
}

/* Half of the 95 % interval of a share of a half by one sample, in points: 1.96 standard errors of a binomial share. */
#define POINTS_OF_ONE 98

/* Says how exactly a share of a half is known, which other shares are known better than: at best, as samples may weigh more and less. */
static void put_interval(uint64_t samples, struct aif_buf *out)
{
	if (samples)
		aif_buf_printf(out, " (a share of 50 %% is known to %.2g points at best)",
			       AIF_MIN(POINTS_OF_ONE / sqrt((double)samples), 50.0));
}

static void put_head(struct aif_report *r, const struct aif_cpu_functions *f)
{
	aif_cpu_weight_say(r->p, f->weight_ns, &r->before);
	aif_buf_puts(&r->before, aif_cpu_counts(r->p) ? " in " : " on CPU in ");
	aif_human_counted(&r->before, f->threads, "thread");
	aif_buf_puts(&r->before, ", ");
	aif_human_counted(&r->before, f->samples, "sample");
	put_interval(f->samples, &r->before);
	if (f->whole_samples < f->samples) {
		aif_buf_puts(&r->before, ", of which ");
		aif_human_share(&r->before,
				aif_share_ppm(f->samples - f->whole_samples, f->samples));
		aif_buf_puts(&r->before, " have no whole stack");
	}
	if (f->unsampled_ns) {
		aif_buf_puts(&r->before, "; ");
		aif_cpu_weight_say(r->p, f->unsampled_ns, &r->before);
		aif_buf_puts(&r->before, " of it before and after samples, of no function");
	}
	if (f->for_others_ns) {
		aif_buf_puts(&r->before, "; ");
		aif_cpu_weight_say(r->p, f->for_others_ns, &r->before);
		aif_buf_puts(&r->before, " by other threads during these ranges");
	}
	aif_buf_puts(&r->before, ":\n");
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	struct aif_cpu_functions f = {0};
	struct aif_buf text = {0};
	int e = aif_cpu_functions_find(r->names, r->o->sel, r->o->detail, AIF_CPU_INNERMOST, &f,
				       err);

	if (!e && f.weight_ns && !r->p->traits.is_imported &&
	    r->p->traits.cpu_weights == AIF_CPU_WEIGHTS_TIME)
		put_head(r, &f);
	for (size_t i = 0; i < f.len && !e; i++)
		put_row(r, &f, &f.at[i], &text);
	if (!e && aif_buf_failed(&text))
		e = -ENOMEM;
	if (!e && f.damaged)
		aif_table_describe_damaged(f.damaged, &r->after);
	aif_buf_finish(&text);
	aif_cpu_functions_finish(&f);
	return e;
}

const struct aif_report_table aif_report_table_cpu = {
	.lacks = AIF_LACK_CPU | AIF_LACK_WAITS | AIF_LACK_STACKS | AIF_LACK_RECORDS |
		 AIF_LACK_EVENTS,
	.hides_zeros = true,
	.rows = "CPU samples",
	.hint = "record with --cpu, or see aiflame info",
	.wants_cpu = true,
	.no_kernel = "CPU time is of no kernel",
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
