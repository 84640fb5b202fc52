/* SPDX-License-Identifier: Apache-2.0 */
/* --gaps: the intervals in which a process's device ran nothing, what ended each, and why it came so late. */
#include "report/report_table.h"
#include "analysis/utilization.h"

static const struct aif_table_column columns[] = {
	{"start", AIF_TABLE_AT},    {"idle", AIF_TABLE_NS},     {"cause", AIF_TABLE_TEXT},
	{"process", AIF_TABLE_ID},  {"device", AIF_TABLE_TEXT}, {"operator", AIF_TABLE_TEXT},
	{"before", AIF_TABLE_TEXT}, {"after", AIF_TABLE_TEXT},
};

static void put_kernel(struct aif_report *r, const struct aif_timeline_exec *x)
{
	const struct aif_timeline_work *of = aif_timeline_work_of(r->timeline, x);

	aif_report_kernel_cell(r, of->kind, of->kernel);
}

static void idle_row(struct aif_report *r, const struct aif_device_utilization *d,
		     const struct aif_timeline_exec *before, const struct aif_timeline_exec *after)
{
	struct aif_utilization_gap gap = aif_utilization_gap(r->timeline, d, before->end, after);
	uint32_t op = aif_op_tree_of(&r->ops, after);
	uint32_t name = op == AIF_NONE ? AIF_NONE : r->ops.ops[op].name;

	if (!gap.ns || gap.is_cut)
		return;
	aif_table_number(&r->t, before->end > 0 ? (uint64_t)before->end : 0);
	aif_table_number(&r->t, gap.ns);
	aif_table_text(&r->t, aif_idle_name(gap.cause));
	aif_report_process_cell(r, d->process);
	aif_report_device_cell(r, d->device);
	aif_table_text(&r->t, name == AIF_NONE ? "" : aif_profile_str(r->p, name));
	put_kernel(r, before);
	put_kernel(r, after);
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	const struct aif_utilization *w = aif_facts_none();
	int e = aif_utilization_get(r->p, r->timeline, &w);

	(void)err;
	aif_report_note_captured(r, ":");
	for (size_t k = 0; k < w->len && !e; k++) {
		const struct aif_device_utilization *d = &w->devices[k];
		const struct aif_timeline_exec *last = &r->timeline->execs[w->order[d->first]];

		for (size_t i = d->first; i < d->end; i++) {
			const struct aif_timeline_exec *x = &r->timeline->execs[w->order[i]];

			if (x->start > last->end)
				idle_row(r, d, last, x);
			if (x->end >= last->end)
				last = x;
		}
	}
	aif_facts_put(w);
	if (!e && !r->ops.rows->any)
		aif_report_hide(r, "operator");
	return e ? e : aif_table_sort(&r->t, 1);
}

const struct aif_report_table aif_report_table_gaps = {
	.lacks = AIF_LACK_WORK | AIF_LACK_EXECUTIONS | AIF_LACK_LAUNCHES | AIF_LACK_RECORDS |
		 AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE | AIF_REPORT_NEEDS_OPS,
	.hides_zeros = true,
	.rows = "gaps between executions",
	.no_kernel = "time in which other kernels run is not idle",
	.left_out = aif_report_left_out_execs,
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
