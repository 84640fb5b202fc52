/* SPDX-License-Identifier: Apache-2.0 */
/* --ranks: each rank of a job: its work, and how long it waited for others, and others for it. */
#include "report/report_table.h"
#include "analysis/idle/part.h"
#include "analysis/ranks/call_steps.h"
#include "analysis/ranks/waits.h"
#include "report/change_text.h"

#include <errno.h>
#include <stdlib.h>

static const struct aif_table_column columns[] = {
	{"rank", AIF_TABLE_ID},
	{"busy", AIF_TABLE_NS},
	{"busy_share", AIF_TABLE_SHARE},
	{"compute", AIF_TABLE_NS},
	{"step", AIF_TABLE_NS},       /* median */
	{"wait_given", AIF_TABLE_NS}, /* how long others waited for it, all together */
	{"wait_suffered", AIF_TABLE_NS},
	{"transfer", AIF_TABLE_NS}, /* in operations with other ranks, less what it waited */
	{"late", AIF_TABLE_COUNT},  /* operations in which it was the last */
	{"operations", AIF_TABLE_COUNT},
	{"delay",
	 AIF_TABLE_NS}, /* how much earlier those would have begun, had it come with the one before it */
	{"idle", AIF_TABLE_NS},
	/* Idle time by cause, in the order of causes.def. */
	{"idle_launch", AIF_TABLE_NS},
	{"idle_late_start", AIF_TABLE_NS},
	{"idle_wait", AIF_TABLE_NS},
	{"idle_host", AIF_TABLE_NS},
	{"idle_on_cpu", AIF_TABLE_NS},
	{"idle_off_cpu", AIF_TABLE_NS},
	{"idle_compile", AIF_TABLE_NS},
	{"idle_allocate", AIF_TABLE_NS},
	{"idle_prepare", AIF_TABLE_NS},
	{"idle_garbage_collection", AIF_TABLE_NS},
	{"idle_data_loader", AIF_TABLE_NS},
	{"idle_gil", AIF_TABLE_NS},
	{"idle_no_demand", AIF_TABLE_NS},
	{"idle_no_cpu", AIF_TABLE_NS},
	{"idle_other_ranks", AIF_TABLE_NS},
	{"idle_unknown", AIF_TABLE_NS},
	{"clock_error", AIF_TABLE_NS},
	{"host", AIF_TABLE_TEXT},
	{"process", AIF_TABLE_ID},
	{"device", AIF_TABLE_TEXT},
};
static_assert(AIF_ARRAY_LEN(columns) == 16 + AIF_IDLE_CAUSES,
	      "a cause was added: give it a column");

/* Finds the phases of all processes that mark steps: *ret, by process; NULL where there is no memory. */
static int find_marked(const struct aif_report *r, struct aif_phases **ret)
{
	struct aif_selection sel = r->o->sel ? *r->o->sel : (struct aif_selection){0};
	const struct aif_exec_timeline *t = aif_facts_none();
	int e;

	*ret = calloc(r->p->processes_len + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	/* Another loop was chosen: its turns are the steps. */
	if (sel.loop)
		return 0;
	sel.in_ranges = false;
	sel.processes = NULL;
	sel.from_ns = sel.to_ns = 0;
	e = aif_exec_timeline_get(r->p, &sel, &t);
	if (!e)
		e = aif_phases_marked(r->p, &sel, t, *ret);
	aif_facts_put(t);
	return e;
}

/* Returns the median step of a rank, of what is selected; AIF_TABLE_NO_VALUE: it has none. */
static int step_of(const struct aif_report *r, const struct aif_rank *rank,
		   const struct aif_phases *marked, uint64_t *ret)
{
	struct aif_selection sel = r->o->sel ? *r->o->sel : (struct aif_selection){0};
	bool *processes = calloc(r->p->processes_len + 1, sizeof(*processes));
	const struct aif_exec_timeline *t = aif_facts_none();
	struct aif_phases f = {0};
	int e = processes ? 0 : -ENOMEM;

	*ret = AIF_TABLE_NO_VALUE;
	if (!e && rank->process != AIF_NONE && marked[rank->process].len) {
		*ret = marked[rank->process].median_ns;
	} else if (!e && rank->process != AIF_NONE) {
		processes[rank->process] = true;
		sel.processes = processes;
		sel.from_ns = sel.to_ns = 0;
		e = aif_exec_timeline_get(r->p, &sel, &t);
		if (!e)
			e = aif_phases_find(r->p, &sel, t, &f);
		if (!e && f.from != AIF_PHASES_UNKNOWN && f.len)
			*ret = f.median_ns;
	}
	aif_phases_finish(&f);
	aif_facts_put(t);
	free(processes);
	return e;
}

/* Returns the median step of a rank that uses no device: of those that it marks itself, else of its turns. */
static int call_step_of(const struct aif_report *r, const struct aif_ranks *ranks, size_t i,
			const struct aif_phases *marked, uint64_t *ret)
{
	const struct aif_phases *own = &marked[ranks->ranks[i].process];
	struct aif_phases f;
	int e;

	if (own->len) {
		*ret = own->median_ns;
		return 0;
	}
	e = aif_rank_call_turns(r->p, r->o->sel, ranks, i, &f);
	*ret = !e && f.from != AIF_PHASES_UNKNOWN && f.len ? f.median_ns : AIF_TABLE_NO_VALUE;
	aif_phases_finish(&f);
	return e;
}

/* Puts what is known of the device of a rank, if it uses one, and its step. */
static void put_device(struct aif_report *r, const struct aif_utilization_parts *parts,
		       bool has_device, uint64_t step)
{
	uint64_t busy = parts->compute + parts->communication_alone + parts->memory_alone;

	if (!has_device) {
		for (unsigned c = 0; c < 3; c++)
			aif_table_number(&r->t, AIF_TABLE_NO_VALUE);
		aif_table_number(&r->t, step);
		return;
	}

	aif_table_number(&r->t, busy);
	aif_table_number(&r->t, aif_share_ppm(busy, busy + parts->idle));
	aif_table_number(&r->t, parts->compute);
	aif_table_number(&r->t, step);
}

/* Puts a rank; lane: of `part`, AIF_RANK_NO_LANE: it uses no device. */
static int put_rank(struct aif_report *r, const struct aif_rank_waits *w, size_t i,
		    const struct aif_idle_part *part, size_t lane, const struct aif_phases *marked)
{
	const bool has_device = lane != AIF_RANK_NO_LANE;
	const struct aif_rank *rank = &w->ranks.ranks[i];
	const struct aif_rank_sums *s = &w->sums[i];
	const struct aif_process *of =
		rank->process == AIF_NONE ? NULL : &r->p->processes[rank->process];
	struct aif_utilization_parts parts =
		has_device ? aif_idle_part_of(part, lane) : (struct aif_utilization_parts){0};
	uint64_t step;
	bool is_known = !w->ranks.why && !rank->is_apart;
	int e = has_device ? step_of(r, rank, marked, &step)
			   : call_step_of(r, &w->ranks, i, marked, &step);

	aif_table_id(&r->t, rank->number == AIF_NONE ? 0 : rank->number,
		     rank->number == AIF_NONE ? "" : NULL);
	put_device(r, &parts, has_device, step);
	aif_table_number(&r->t, is_known ? s->given_ns : AIF_TABLE_NO_VALUE);
	aif_table_number(&r->t, is_known ? s->suffered_ns : AIF_TABLE_NO_VALUE);
	aif_table_number(&r->t, is_known ? s->transfer_ns : AIF_TABLE_NO_VALUE);
	aif_table_number(&r->t, is_known ? aif_timed_rounded(s->late) : AIF_TABLE_NO_VALUE);
	aif_table_number(&r->t, is_known ? aif_timed_rounded(s->operations) : AIF_TABLE_NO_VALUE);
	aif_table_number(&r->t, is_known ? s->lead_ns : AIF_TABLE_NO_VALUE);
	aif_table_number(&r->t, has_device ? parts.idle : AIF_TABLE_NO_VALUE);
	for (unsigned c = 0; c < AIF_IDLE_CAUSES; c++)
		aif_table_number(&r->t, has_device ? part->blame.devices[lane].of_cause[c]
						   : AIF_TABLE_NO_VALUE);
	aif_table_number(&r->t, rank->is_apart ? AIF_TABLE_NO_VALUE : rank->clock_error_ns);
	aif_table_text(&r->t, of ? aif_profile_str(r->p, of->host) : "");
	aif_report_process_cell(r, rank->process);
	aif_report_device_cell(r, rank->device);
	return e;
}

/* Hides what no rank's device has, so that it does not stand among what is not known. */
static void hide_devices(struct aif_report *r)
{
	const size_t busy = (size_t)aif_table_column(&r->t, "busy"),
		     idle = (size_t)aif_table_column(&r->t, "idle");
	size_t known;

	for (size_t c = busy; c < idle + 1 + AIF_IDLE_CAUSES; c = c == busy + 2 ? idle : c + 1)
		if (aif_report_is_empty(r, c, &known))
			aif_report_hide(r, columns[c].name);
}

/* Notes below the table what took longer for a while, which steps that were kept whole need not have. */
static int note_change(struct aif_report *r)
{
	struct aif_stack_names *stacks = NULL;
	struct aif_step_changes c;
	const struct aif_step_change *worst;
	const char *place = "";
	int e = aif_step_changes_find(r->p, r->o->sel, &c);

	worst = e ? NULL : aif_step_changes_worst(&c);
	if (worst)
		e = aif_stack_names_new_with_lines(r->names, &stacks);
	if (!e && worst && worst->of.stack != AIF_NONE)
		place = aif_stack_names_caller(stacks, worst->of.stack);
	if (!place)
		e = -ENOMEM;
	if (!e && worst) {
		aif_change_say(r->names, worst, place, &r->after);
		aif_buf_puts(&r->after, "; report --changes has all\n");
	}
	r->damaged += c.damaged;
	aif_stack_names_free(stacks);
	aif_step_changes_finish(&c);
	return e;
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	const struct aif_rank_waits *w;
	const struct aif_idle_part *part = aif_facts_none();
	struct aif_phases *marked = NULL;
	int e = aif_rank_waits_get(r->p, r->o->sel, &w);

	(void)err;
	if (!e)
		e = find_marked(r, &marked);
	if (!e)
		e = aif_idle_part_get(r->p, r->o->sel, &part);
	for (size_t i = 0; i < w->ranks.ranks_len && !e; i++) {
		if (w->ranks.ranks[i].lane == AIF_RANK_NO_LANE &&
		    (!r->o->sel ||
		     aif_selection_keeps(r->o->sel->processes, w->ranks.ranks[i].process)))
			e = put_rank(r, w, i, part, AIF_RANK_NO_LANE, marked);
		for (size_t d = 0; d < part->u->len && !e; d++)
			if (part->u->devices[d].process == w->ranks.ranks[i].process &&
			    part->u->devices[d].device == w->ranks.ranks[i].device)
				e = put_rank(r, w, i, part, d, marked);
	}
	if (!e) {
		hide_devices(r);
		aif_rank_waits_say(w, &r->before);
		aif_buf_putc(&r->before, '\n');
		e = note_change(r);
	}
	for (size_t i = 0; marked && i < r->p->processes_len; i++)
		aif_phases_finish(&marked[i]);
	free(marked);
	aif_facts_put(part);
	aif_facts_put(w);
	return e;
}

const struct aif_report_table aif_report_table_ranks = {
	.needs = AIF_REPORT_NEEDS_TIMELINE,
	.hides_zeros = true,
	.rows = "ranks",
	.hint = "a rank is a process of a job (RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID, a trace's "
		"distributedInfo) that uses a device or calls MPI, or one whose kernels communicate",
	.no_kernel = "a rank does not wait in other kernels",
	.left_out = aif_report_left_out_execs,
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
