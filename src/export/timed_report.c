/* SPDX-License-Identifier: Apache-2.0 */
#include "export/timed_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t pid_of(const struct aif_timed_report *r, uint32_t process)
{
	return process == AIF_NONE ? 0 : r->p->processes[process].pid;
}

void aif_timed_report_put_process(const struct aif_timed_report *r, uint32_t process,
				  struct aif_buf *out)
{
	const char *name = aif_process_names_show(r->processes, process);

	if (name)
		aif_name_sanitize(name, strlen(name), out);
	else
		aif_buf_printf(out, "%" PRIu32, pid_of(r, process));
}

void aif_timed_report_process_cell(struct aif_timed_report *r, uint32_t process)
{
	bool is_plain = r->o->format == AIF_TABLE_PLAIN;

	aif_table_id(
		r->t, pid_of(r, process),
		(is_plain ? aif_process_names_show : aif_process_names_get)(r->processes, process));
}

void aif_timed_report_device_cell(struct aif_timed_report *r, uint32_t device)
{
	aif_table_text(r->t,
		       device == AIF_NONE ? "" : aif_profile_str(r->p, r->p->devices[device].name));
}

void aif_timed_report_kernel_cell(struct aif_timed_report *r, uint32_t kind, uint32_t kernel)
{
	bool is_full = r->o->format != AIF_TABLE_PLAIN || r->o->detail == AIF_NAME_FULL;
	char space[64];

	aif_table_text(r->t, (is_full ? aif_report_kernel
				      : aif_report_kernel_short)(r->p, kind, kernel, space));
}

void aif_timed_report_hide(struct aif_timed_report *r, const char *column)
{
	r->t->hidden |= UINT64_C(1) << aif_table_column(r->t, column);
}

void aif_timed_report_hide_empty(struct aif_timed_report *r)
{
	const struct aif_table *t = r->t;
	size_t process = (size_t)aif_table_column(t, "process");

	for (size_t c = 0; c + 1 < t->width; c++) {
		bool is_id = c == process, is_empty = true;

		if (t->columns[c].type == AIF_TABLE_TEXT || t->columns[c].type == AIF_TABLE_AT ||
		    (t->columns[c].type == AIF_TABLE_ID && !is_id))
			continue;
		for (size_t i = c; i < t->cells_len && is_empty; i += t->width)
			is_empty = t->cells[i] == (is_id ? t->cells[c] : 0);
		if (is_empty)
			aif_timed_report_hide(r, t->columns[c].name);
	}
}

void aif_timed_report_say_others(struct aif_timed_report *r, const char *what, uint64_t ns)
{
	if (!ns)
		return;
	aif_buf_puts(r->after, "other_threads: ");
	aif_human_ns(r->after, ns);
	aif_buf_printf(
		r->after,
		" in device_total were launched by a thread without a %s of its own, as autograd's "
		"is, while the %s ran in another\n",
		what, what);
}

void aif_timed_report_say_part(struct aif_timed_report *r, const char *rest)
{
	if (!r->timed->left_out)
		return;
	aif_report_say_part(r->timed->captured, r->timed->left_out, r->before);
	aif_buf_printf(r->before, "%s\n", rest);
}

bool aif_timed_report_keeps(const struct aif_timed_report *r, const struct aif_timed_exec *x)
{
	return !r->kernel->is_set || aif_filter_kernel(r->kernel, r->p, x->kind, x->kernel);
}

bool aif_timed_report_keep(const void *r, const struct aif_timed_exec *x)
{
	return aif_timed_report_keeps(r, x);
}

/* Runtimes whose devices go by another name; a vendor's comes first. */
void aif_device_word(const struct aif_profile *p, char ret[16])
{
	static const struct {
		const char *vendor, *runtime, *word;
	} words[] = {
		{"IBM", NULL, "AIU"},
		{NULL, "level_zero", "XPU"},
		{NULL, "sycl", "XPU"},
		{NULL, "kineto", "DEVICE"}, /* a trace that does not say whose it is */
	};
	uint32_t runtime = AIF_NONE;

	snprintf(ret, 16, "DEVICE");
	for (size_t i = 0; i < p->devices_len; i++) {
		if (i && p->devices[i].runtime != runtime)
			return;
		runtime = p->devices[i].runtime;
	}
	if (!p->devices_len || runtime == AIF_NONE || !*aif_profile_str(p, runtime))
		return;
	for (size_t i = 0; i < AIF_ARRAY_LEN(words); i++)
		if ((!words[i].vendor ||
		     (p->devices[0].vendor != AIF_NONE &&
		      !strcmp(aif_profile_str(p, p->devices[0].vendor), words[i].vendor))) &&
		    (!words[i].runtime || !strcmp(aif_profile_str(p, runtime), words[i].runtime))) {
			snprintf(ret, 16, "%s", words[i].word);
			return;
		}
	for (size_t i = 0; i < 15; i++) {
		char c = aif_profile_str(p, runtime)[i];

		ret[i] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c >= ' ' ? c : '\0';
		ret[i + 1] = '\0';
		if (!ret[i])
			break;
	}
}

static int operators(struct aif_timed_report *r, struct aif_err *err)
{
	struct aif_err none = {0};
	int e = r->ops->has_operators ? -ENODATA : aif_ops_of_stacks_table(r, &none);

	/* What the program marked is better than nothing. */
	if (e == -ENODATA && r->ops->any)
		return aif_ops_table(r, err);
	if (e && err)
		*err = none;
	return e;
}

#define IDLE "time in which other kernels run is not idle"
static const struct {
	int (*fill)(struct aif_timed_report *r, struct aif_err *err);
	const char *of; /* what there is none of, if it is empty */
	bool needs_no_ops;
	const char *no_kernel; /* why --kernel is not for it */
	const char *source;    /* what they come from; NULL: info tells what is there */
} tables[AIF_REPORT_COUNT] = {
	[AIF_REPORT_OPS] = {operators, "operators", false, NULL},
	[AIF_REPORT_RANGES] =
		{aif_ranges_table, "ranges that the program marked", false, NULL,
		 "programs mark them with aiflame.h or aiflame.py (docs/program.md), traces that are imported may have some"},
	[AIF_REPORT_STEPS] =
		{aif_steps_table, "steps", false, IDLE,
		 "programs tell them with aiflame.h or aiflame.py (docs/program.md), traces that are imported may have some"},
	[AIF_REPORT_BREAKDOWN] = {aif_breakdown_table, "device activity", true, IDLE},
	[AIF_REPORT_COMM] =
		{aif_comm_table, "kernels of communication", true, NULL,
		 "they are those of NCCL, RCCL, oneCCL and the like, known by their names"},
	[AIF_REPORT_IDLE] = {aif_idle_table, "idle time between executions", false, IDLE},
	[AIF_REPORT_STREAMS] = {aif_streams_table, "device activity", false, IDLE},
	[AIF_REPORT_COUNTERS] = {aif_counters_table, "counters", true,
				 "what a counter counts is not told by kernel"},
};

/* Where launches were left out it is not known that devices did nothing; of which devices they were is not known. */
static int is_answer(const struct aif_timed_report *r, struct aif_err *err)
{
	bool is_of_devices = r->o->kind == AIF_REPORT_BREAKDOWN || r->o->kind == AIF_REPORT_COMM ||
			     r->o->kind == AIF_REPORT_IDLE || r->o->kind == AIF_REPORT_STREAMS;

	return is_of_devices && !r->timed->execs_len && !(r->o->which && r->o->which->devices)
		       ? aif_report_left_out(r->timed->left_out, "report", err)
		       : 0;
}

/* No rows are an answer: in words for people, to whom an empty table would tell nothing. */
static void nothing(const struct aif_timed_report *r, struct aif_buf *out)
{
	const char *of = tables[r->o->kind].of;

	if (aif_report_is_part(r->o->which) || r->kernel->is_set)
		aif_buf_printf(out, "no %s in what %s" AIF_REPORT_CHOOSES " leave; loosen them\n",
			       of, r->kernel->is_set ? "--kernel, " : "");
	else
		aif_buf_printf(out, "no %s in this profile; %s\n", of,
			       tables[r->o->kind].source ? tables[r->o->kind].source
							 : "see aiflame info");
}

int aif_timed_report_write(const struct aif_profile *p, const struct aif_report_opts *opts,
			   struct aif_buf *out, struct aif_err *err)
{
	struct aif_timed timed = {0};
	struct aif_op_tree ops = {0};
	struct aif_table t = {0};
	struct aif_buf before = {0}, after = {0};
	struct aif_regex kernel = {0};
	struct aif_process_names processes = {0};
	struct aif_timed_report r = {.p = p,
				     .o = opts,
				     .timed = &timed,
				     .ops = &ops,
				     .kernel = &kernel,
				     .processes = &processes,
				     .t = &t,
				     .before = &before,
				     .after = &after};
	int e = aif_regex_init(&kernel, "--kernel", opts->kernel, err);

	if (!e && kernel.is_set && tables[opts->kind].no_kernel)
		e = aif_err_set(err, -EINVAL, "report: --kernel is not for this table: %s",
				tables[opts->kind].no_kernel);
	if (!e)
		e = aif_process_names_init(&processes, p);
	if (!e)
		e = aif_timed_read(p, opts->which, &timed);
	/* What is told of each step is its own. */
	if (!e && opts->kind == AIF_REPORT_STEPS)
		aif_timed_unweigh(&timed);
	if (!e && !tables[opts->kind].needs_no_ops)
		e = aif_op_tree_make(
			p, opts->which, &timed,
			opts->kind == AIF_REPORT_OPS ? AIF_OWNERS_OPERATORS : AIF_OWNERS_ALL, &ops);
	if (!e)
		e = tables[opts->kind].fill(&r, err);
	if (!e)
		e = is_answer(&r, err);
	if (!e && opts->kind != AIF_REPORT_OPS)
		aif_timed_report_hide_empty(&r);
	if (!e)
		e = aif_report_sort(&t, opts, err);
	t.columns_max = opts->columns;
	t.text_max = opts->detail == AIF_NAME_FULL ? 0 : AIF_REPORT_TEXT_COLUMNS;
	if (!e && t.cells_len && opts->format == AIF_TABLE_PLAIN)
		aif_buf_append(out, before.data, before.len);
	if (!e && !t.cells_len && opts->format == AIF_TABLE_PLAIN)
		nothing(&r, out);
	else if (!e)
		e = aif_table_print(&t, opts->format, opts->limit, out);
	if (!e && t.cells_len && opts->format == AIF_TABLE_PLAIN)
		aif_buf_append(out, after.data, after.len);
	if (!e && opts->format == AIF_TABLE_PLAIN && timed.damaged + ops.damaged)
		aif_table_say_damaged(timed.damaged + ops.damaged, out);
	aif_buf_finish(&before);
	aif_buf_finish(&after);
	aif_table_finish(&t);
	aif_op_tree_finish(&ops);
	aif_timed_finish(&timed);
	aif_process_names_finish(&processes);
	aif_regex_finish(&kernel);
	return e == -ENOMEM ? aif_err_set(err, e, "out of memory") : e;
}
