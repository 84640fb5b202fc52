/* SPDX-License-Identifier: Apache-2.0 */
/* --changes: steps of a reduced profile in which a place took longer than usual, or shorter, though most were not kept whole. */
#include "report/report_table.h"
#include "analysis/step_changes.h"

#include <errno.h>
#include <math.h>

static const struct aif_table_column columns[] =
	{
		{"rank", AIF_TABLE_ID},
		{"since", AIF_TABLE_ID}, /* number of the first step, from 1 */
		{"until", AIF_TABLE_ID},
		{"steps", AIF_TABLE_COUNT},
		{"start", AIF_TABLE_AT},
		{"usual", AIF_TABLE_NS}, /* a step */
		{"time", AIF_TABLE_NS},
		{"difference", AIF_TABLE_NS}, /* of all of these steps: more if .time is, else less */
		{"ranks", AIF_TABLE_COUNT}, /* processes in which the place changes in that direction */
		{"what", AIF_TABLE_TEXT},
		{"process", AIF_TABLE_ID},
		{"device", AIF_TABLE_TEXT},
		{"kernel", AIF_TABLE_TEXT},
		{"place", AIF_TABLE_TEXT},
};

static int put_change(struct aif_report *r, struct aif_stack_names *stacks,
		      const struct aif_step_change *c)
{
	uint32_t rank = r->p->processes[c->process].rank;
	const char *place = "";

	if (c->of.stack != AIF_NONE)
		place = aif_stack_names_caller(stacks, c->of.stack);
	if (!place)
		return -ENOMEM;
	aif_table_id(&r->t, rank ? rank - 1 : 0, rank ? NULL : "");
	aif_table_id(&r->t, c->first, NULL);
	aif_table_id(&r->t, c->last, NULL);
	aif_table_number(&r->t, c->steps);
	aif_table_number(&r->t, c->start - AIF_MIN(c->start, r->p->start_ns));
	aif_table_number(&r->t, aif_timed_rounded(c->usual_ns));
	aif_table_number(&r->t, aif_timed_rounded(c->ns));
	aif_table_number(&r->t, aif_timed_rounded(fabs(c->total_ns)));
	aif_table_number(&r->t, c->peers);
	aif_table_text(&r->t, c->of.sum == AIF_STEP_SUM_IDLE      ? "idle before"
			      : c->of.sum == AIF_STEP_SUM_COMPUTE ? "all kernels"
			      : c->is_communication               ? "communication"
								  : "work");
	aif_report_process_cell(r, c->process);
	aif_report_device_cell(r, c->of.device);
	if (c->of.sum == AIF_STEP_SUM_WORK)
		aif_report_kernel_cell(r, c->of.kind, c->of.kernel);
	else
		aif_table_text(&r->t, "");
	aif_table_text(&r->t, place);
	return 0;
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	struct aif_stack_names *stacks = NULL;
	struct aif_step_changes c;
	int e = aif_step_changes_find(r->p, r->o->sel, &c);

	(void)err;
	if (!e)
		e = aif_stack_names_new_with_lines(r->names, &stacks);
	for (size_t i = 0; i < c.len && !e; i++)
		if (c.at[i].of.sum != AIF_STEP_SUM_WORK ||
		    aif_report_has_kernel(r, c.at[i].of.kind, c.at[i].of.kernel))
			e = put_change(r, stacks, &c.at[i]);
	r->damaged += c.damaged;
	aif_stack_names_free(stacks);
	aif_step_changes_finish(&c);
	return e;
}

const struct aif_report_table aif_report_table_changes = {
	.lacks = AIF_LACK_STEP_SUMS,
	.hides_zeros = true,
	.rows = "changes",
	.hint = "they are of profiles that aiflame reduce or record --reduce wrote, which know how long each place took in each "
		"step, and of places that took a fiftieth of a step more or less than usual for a while",
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
