/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of programs without a device (record --cpu): their functions, and what sampling cost. */
#include "report/summary/parts.h"

#include "analysis/traits.h"
#include "base/human.h"
#include "names/cpu_functions.h"
#include "profile/file.h"
#include "text/elide.h"
#include "text/table.h"

#include <stdlib.h>
#include <string.h>

#define NAME_COLUMNS 48
/* A function with less is not worth a line. */
#define LEAST_PPM 1000

static uint64_t meta_number(const struct aif_profile *p, const char *key)
{
	return strtoull(aif_profile_meta(p, key), NULL, 10);
}

static void put_function(const struct aif_names *names, const struct aif_cpu_functions *all,
			 const struct aif_cpu_function *f, struct aif_buf *out)
{
	const char *name = aif_cpu_function_name(all, f);
	size_t width = aif_elide_width(name, strlen(name));
	struct aif_buf cell = {0};

	aif_human_share(&cell, aif_share_ppm(f->self_ns, all->weight_ns));
	aif_buf_printf(out, "%8s  ", aif_buf_str(&cell));
	if (width > NAME_COLUMNS) {
		size_t begin = out->len;

		aif_buf_puts(out, name);
		aif_name_cut(out, begin, NAME_COLUMNS);
		aif_buf_putc(out, ' ');
	} else {
		aif_buf_printf(out, "%s%*s", name,
			       (int)(NAME_COLUMNS / 2 > width ? NAME_COLUMNS / 2 - width : 1), "");
	}
	aif_buf_clear(&cell);
	aif_cpu_weight_say(names->p, f->self_ns, &cell);
	aif_buf_printf(out, " %8s", aif_buf_str(&cell));
	aif_buf_clear(&cell);
	aif_cpu_function_place(names->p, f, &cell);
	if (cell.len)
		aif_buf_printf(out, "  %s", aif_buf_str(&cell));
	aif_buf_putc(out, '\n');
	aif_buf_finish(&cell);
}

/* True of a job whose ranks use no device, and were recorded as they call MPI. */
static bool is_job(const struct aif_profile *p)
{
	for (size_t i = 0; i < p->processes_len; i++)
		if (p->processes[i].rank && p->processes[i].flags & AIF_PROCESS_JOINED &&
		    !(p->processes[i].flags & AIF_PROCESS_RUNTIME))
			return true;
	return false;
}

bool aif_summary_functions(const struct aif_names *names, size_t most, struct aif_buf *out)
{
	const struct aif_profile *p = names->p;
	struct aif_cpu_functions f = {0};
	bool has = false;
	int r;

	if (!*aif_profile_meta(p, "cpu_programs") && !is_job(p))
		return false;
	r = aif_cpu_functions_find(names, NULL, AIF_NAME_NORMAL, AIF_CPU_OF_PROGRAM, &f, NULL);
	if (r < 0)
		aif_profile_fail(p, r);
	has = !r && f.samples && f.weight_ns;
	for (size_t i = 0; has && i < f.len && i < most; i++) {
		if (i && aif_share_ppm(f.at[i].self_ns, f.weight_ns) < LEAST_PPM)
			break;
		aif_buf_puts(out, i ? "         " : "function ");
		put_function(names, &f, &f.at[i], out);
	}
	if (has) {
		aif_buf_puts(out, "quality  ");
		aif_human_share(out, aif_share_ppm(f.whole_samples, f.samples));
		aif_buf_puts(out, " of the samples have a whole stack\n");
	}
	if (has && aif_cpu_lacks_python(p))
		aif_buf_puts(out,
			     "python   its functions are not in samples from outside: record with "
			     "--inject always\n");
	aif_cpu_functions_finish(&f);
	return has;
}

void aif_summary_cpu_cost(const struct aif_profile *p, struct aif_buf *out)
{
	uint64_t helper = meta_number(p, "cost.helper_cpu_ns"),
		 recorder = meta_number(p, "cost.recorder_cpu_ns"),
		 target = meta_number(p, "cost.target_cpu_ns"),
		 known = meta_number(p, "cost.cpu_known_ns"),
		 without = meta_number(p, "cost.cpu_without_samples_ns"),
		 unreaped = meta_number(p, "cost.cpu_unreaped_ns");

	if (!target)
		return;
	aif_buf_printf(out, "cost     the command and its children used %s",
		       unreaped ? "at least " : "");
	aif_human_ns(out, target);
	aif_buf_puts(out, " of CPU, of which the agent's thread ");
	aif_human_share(out, aif_share_ppm(helper, target));
	if (unreaped) {
		aif_buf_puts(out, "; ");
		aif_human_ns(out, unreaped);
		aif_buf_puts(out,
			     " of it is known by samples alone: of processes that nobody waited "
			     "for");
	} else if (known) {
		aif_buf_puts(out, "; the profile has ");
		aif_human_share(out, aif_share_ppm(known, target));
		aif_buf_puts(out, " of it");
		if (without) {
			aif_buf_puts(out, ", ");
			aif_human_ns(out, without);
			aif_buf_puts(out, " before threads' first samples and after their last");
		}
	}
	aif_buf_puts(out, "; the recorder ");
	aif_human_ns(out, recorder);
	aif_buf_puts(out, " beside it\n");
}
