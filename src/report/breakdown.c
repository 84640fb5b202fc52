/* SPDX-License-Identifier: Apache-2.0 */
/* --breakdown: what each process's devices did with their time. */
#include "report/report_table.h"

static const struct aif_table_column columns[] = {
	{"span", AIF_TABLE_NS},
	{"busy_share", AIF_TABLE_SHARE},
	{"compute_share", AIF_TABLE_SHARE},
	AIF_UTILIZATION_PARTS,
	{"error", AIF_TABLE_NS}, /* of busy */
	{"idle_error", AIF_TABLE_NS},
	{"compute_error", AIF_TABLE_NS},
	{"communication_error", AIF_TABLE_NS},
	{"memory_error", AIF_TABLE_NS},
	{"host_wait", AIF_TABLE_NS},
	{"kernel_wait", AIF_TABLE_NS},
	{"other_wait", AIF_TABLE_NS},
	{"unknown_wait", AIF_TABLE_NS},
	{"communication", AIF_TABLE_NS},
	{"overlap_share", AIF_TABLE_SHARE},
	{"process", AIF_TABLE_ID},
	{"device", AIF_TABLE_TEXT},
};

/* Gaps between what ran on the device, whatever the stream, by cause: their sum is idle. */
static void find_waits(const struct aif_exec_timeline *t, const struct aif_utilization *w,
		       const struct aif_device_utilization *d, uint64_t ret[AIF_IDLE_COUNT])
{
	int64_t end = t->execs[w->order[d->first]].start;
	struct aif_utilization_waits waits = {0};

	for (size_t i = d->first; i < d->end; i++) {
		const struct aif_timeline_exec *x = &t->execs[w->order[i]];

		if (x->start > end) {
			struct aif_utilization_gap gap = aif_utilization_gap(t, d, end, x);

			aif_utilization_waits_add(&waits, t, x, &gap);
		}
		end = AIF_MAX(end, x->end);
	}
	aif_utilization_waits_split(&waits, d->whole.parts.idle, ret);
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	const struct aif_utilization *w = aif_facts_none();
	int e = aif_utilization_get(r->p, r->timeline, &w);

	(void)err;
	for (size_t i = 0; i < w->len && !e; i++) {
		const struct aif_device_utilization *d = &w->devices[i];
		const struct aif_utilization_whole *x = &d->whole;
		uint64_t waits[AIF_IDLE_COUNT], known = x->span - x->parts.not_collected;

		find_waits(r->timeline, w, d, waits);
		aif_table_number(&r->t, x->span);
		aif_table_number(&r->t, aif_share_ppm(x->busy, known));
		aif_table_number(&r->t, aif_share_ppm(x->parts.compute, known));
		aif_utilization_parts_cells(r, &x->parts);
		aif_table_number(&r->t, x->error);
		aif_table_number(&r->t, x->idle_error);
		aif_table_number(&r->t, x->compute_error);
		aif_table_number(&r->t, x->communication_error);
		aif_table_number(&r->t, x->memory_error);
		for (size_t k = 0; k < AIF_IDLE_COUNT; k++)
			aif_table_number(&r->t, waits[k]);
		aif_table_number(&r->t, x->communication);
		aif_table_number(&r->t, aif_share_ppm(aif_utilization_hidden_communication(d),
						      x->communication));
		aif_report_process_cell(r, d->process);
		aif_report_device_cell(r, d->device);
	}
	aif_facts_put(w);
	return e;
}

const struct aif_report_table aif_report_table_breakdown = {
	.lacks = AIF_LACK_WORK | AIF_LACK_EXECUTIONS | AIF_LACK_LAUNCHES | AIF_LACK_RECORDS |
		 AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE,
	.hides_zeros = true,
	.rows = "device activity",
	.no_kernel = "time in which other kernels run is not idle",
	.left_out = aif_report_left_out_execs,
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
