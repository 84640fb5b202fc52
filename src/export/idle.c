/* SPDX-License-Identifier: Apache-2.0 */
/* --idle: the intervals in which a process's device ran nothing, what ended each, and why it came so late. */
#include "export/timed_report.h"
#include "export/work.h"

#include <errno.h>

static const struct aif_table_column idle_columns[] = {
	{"start", AIF_TABLE_AT},    {"idle", AIF_TABLE_NS},     {"cause", AIF_TABLE_TEXT},
	{"process", AIF_TABLE_ID},  {"device", AIF_TABLE_TEXT}, {"operator", AIF_TABLE_TEXT},
	{"before", AIF_TABLE_TEXT}, {"after", AIF_TABLE_TEXT},
};

static void idle_row(struct aif_timed_report *r, const struct aif_device_work *d,
		     const struct aif_timed_exec *before, const struct aif_timed_exec *after)
{
	struct aif_work_gap gap = aif_work_gap(r->timed, d, before->end, after);
	uint32_t op = aif_op_tree_of(r->ops, after);
	uint32_t name = op == AIF_NONE ? AIF_NONE : r->ops->ops[op].name;

	if (!gap.ns || gap.is_cut)
		return;
	aif_table_number(r->t, before->end > 0 ? (uint64_t)before->end : 0);
	aif_table_number(r->t, gap.ns);
	aif_table_text(r->t, aif_idle_name(gap.cause));
	aif_timed_report_process_cell(r, d->process);
	aif_timed_report_device_cell(r, d->device);
	aif_table_text(r->t, name == AIF_NONE ? "" : aif_profile_str(r->p, name));
	aif_timed_report_kernel_cell(r, before->kind, before->kernel);
	aif_timed_report_kernel_cell(r, after->kind, after->kernel);
}

int aif_idle_table(struct aif_timed_report *r, struct aif_err *err)
{
	struct aif_work w = {0};
	int e = aif_work_make(r->p, r->timed, &w);

	(void)err;
	aif_timed_report_say_part(r, ":");
	aif_table_init(r->t, idle_columns, AIF_ARRAY_LEN(idle_columns));
	for (size_t k = 0; k < w.len && !e; k++) {
		const struct aif_device_work *d = &w.devices[k];
		const struct aif_timed_exec *last = &r->timed->execs[w.order[d->first]];

		for (size_t i = d->first; i < d->end; i++) {
			const struct aif_timed_exec *x = &r->timed->execs[w.order[i]];

			if (x->start > last->end)
				idle_row(r, d, last, x);
			if (x->end >= last->end)
				last = x;
		}
	}
	aif_work_finish(&w);
	if (!e && !r->ops->any)
		aif_timed_report_hide(r, "operator");
	return e ? e : aif_table_sort(r->t, 1);
}
