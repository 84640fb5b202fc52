/* SPDX-License-Identifier: Apache-2.0 */
/* --steps: each step, and what its process's devices did in it: steps that the program marks, or turns of its loop. */
#include "report/report_table.h"
#include "analysis/loop/phases.h"
#include "analysis/ranks/call_steps.h"
#include "analysis/ranks/waits.h"
#include "analysis/time.h"

#include "base/human.h"

#include <errno.h>

/* Half a gigabyte. */
#define MOST_CELLS ((size_t)1 << 26)

static const struct aif_table_column columns[] = {
	{"start", AIF_TABLE_AT},
	{"time", AIF_TABLE_NS},
	{"busy_share", AIF_TABLE_SHARE},
	AIF_UTILIZATION_PARTS,
	{"device_total", AIF_TABLE_NS},  /* of what was launched in it, whenever it ran */
	{"other_threads", AIF_TABLE_NS}, /* of this, by other threads */
	{"launches", AIF_TABLE_COUNT},
	{"process", AIF_TABLE_ID},
	{"device", AIF_TABLE_TEXT},
	{"number", AIF_TABLE_ID}, /* that --time step:N takes; "": its thread's steps are not the loop's */
	{"step", AIF_TABLE_TEXT},
};

struct step {
	int64_t start, end;
	size_t number;
	uint64_t device_ns, others_ns,
		launches; /* device_ns: with that of other threads' launches */
	const char *name;
};

static void step_row(struct aif_report *r, const struct step *s, uint32_t process,
		     const struct aif_device_utilization *d)
{
	uint64_t ns = (uint64_t)s->end - (uint64_t)s->start, known;
	struct aif_utilization_parts parts = {0};

	if (d)
		parts = aif_utilization_parts(d, s->start, s->end);
	known = ns - parts.not_collected;
	aif_table_number(&r->t, s->start > 0 ? (uint64_t)s->start : 0);
	aif_table_number(&r->t, ns);
	aif_table_number(&r->t, aif_share_ppm(d ? known - parts.idle : 0, known));
	aif_utilization_parts_cells(r, &parts);
	aif_table_number(&r->t, s->device_ns);
	aif_table_number(&r->t, s->others_ns);
	aif_table_number(&r->t, s->launches);
	aif_report_process_cell(r, process);
	aif_report_device_cell(r, d ? d->device : AIF_NONE);
	aif_table_id(&r->t, (uint32_t)s->number, s->number ? NULL : "");
	aif_table_text(&r->t, s->name);
}

static size_t first_device(const struct aif_utilization *w, uint32_t process)
{
	return AIF_BISECT(mid, 0, w->len, w->devices[mid].process < process);
}

/* A step of a process that drives several devices has a row for each. */
static int step_rows(struct aif_report *r, const struct aif_utilization *w, const struct step *s,
		     uint32_t process, struct aif_err *err)
{
	size_t d = first_device(w, process);

	if (d == w->len || w->devices[d].process != process)
		step_row(r, s, process, NULL);
	for (; d < w->len && w->devices[d].process == process; d++)
		step_row(r, s, process, &w->devices[d]);
	return r->t.cells_len > MOST_CELLS
		       ? aif_err_set(err, -EFBIG,
				     "report: too many steps on too many devices; choose a part "
				     "by --time or --device")
		       : 0;
}

/* ---- steps that the program marks ---- */

/* Returns the number of a step among those of the loop, from 1; 0: it is none of them. */
static size_t number_of(const struct aif_phases *f, const struct aif_op *o)
{
	size_t lo = AIF_BISECT(mid, 0, f->len, f->steps[mid].start < aif_time_clamp(o->start));

	return o->thread == f->thread && lo < f->len &&
			       f->steps[lo].start == aif_time_clamp(o->start) &&
			       f->steps[lo].end == aif_time_clamp(o->end)
		       ? lo + 1
		       : 0;
}

static int fill_marked(struct aif_report *r, const struct aif_utilization *w,
		       const struct aif_phases *f, struct aif_err *err)
{
	struct aif_op_tree *ops = &r->ops;
	uint64_t others_ns = 0, *launches = calloc(ops->len + 1, sizeof(*launches));
	int e = launches ? 0 : -ENOMEM;

	if (!e)
		e = aif_op_tree_add_device(ops, r->timeline, NULL, NULL);
	if (!e)
		e = aif_op_tree_add_others(ops, r->p, r->timeline, AIF_OP_STEP, NULL, NULL);
	for (size_t i = ops->len; i-- > 0 && !e;) {
		launches[i] += ops->device[i].launches;
		if (ops->ops[i].parent != AIF_NONE)
			launches[ops->ops[i].parent] += launches[i];
		else
			others_ns += ops->others[i].ns; /* which has its children's */
	}
	for (size_t i = 0; i < ops->len && !e; i++) {
		const struct aif_op *o = &ops->ops[i];
		uint32_t process =
			o->thread == AIF_NONE ? AIF_NONE : r->p->threads[o->thread].process;

		if (o->is_step && o->twin == AIF_NONE)
			e = step_rows(
				r, w,
				&(struct step){.start = o->start,
					       .end = o->end,
					       .number = number_of(f, o),
					       .device_ns =
						       ops->device[i].all_ns + ops->others[i].ns,
					       .others_ns = ops->others[i].ns,
					       .launches = launches[i] + ops->others[i].launches,
					       .name = o->name == AIF_NONE
							       ? ""
							       : aif_profile_str(r->p, o->name)},
				process, err);
	}
	aif_report_note_others(r, "step", others_ns);
	free(launches);
	return e;
}

/* ---- turns of its loop ---- */

/* The turn that a launch belongs to, or NULL. */
static struct step *turn_at(struct step *turns, size_t len, int64_t at)
{
	size_t lo = AIF_BISECT(mid, 0, len, turns[mid].end <= at);

	return lo < len && turns[lo].start <= at ? &turns[lo] : NULL;
}

/* Adds what was launched in each turn by the threads of its process; of turns that are queued, what starts in it. */
static void add_launched(const struct aif_report *r, const struct aif_phases *f, uint32_t process,
			 struct step *turns)
{
	const struct aif_exec_timeline *t = r->timeline;

	for (size_t i = 0; i < t->execs_len; i++) {
		const struct aif_timeline_exec *x = &t->execs[i];
		const struct aif_timeline_launch *l =
			x->launch == AIF_NONE ? NULL : &t->launches[x->launch];
		struct step *s = l && aif_timeline_work_of(t, x)->process == process
					 ? turn_at(turns, f->len, f->is_queued ? x->start : l->at)
					 : NULL;

		if (!s)
			continue;
		s->launches++;
		s->device_ns += aif_timed_ns(x);
		s->others_ns +=
			aif_timeline_call_of(t, l)->thread == f->thread ? 0 : aif_timed_ns(x);
	}
}

/* Names the periods outside and inside of the turns. */
static void describe_periods(struct aif_report *r, const struct aif_phases *f)
{
	struct aif_buf *b = &r->before;

	for (size_t i = 0; i < f->levels; i++) {
		const struct aif_loop_level *l = &f->level[i];
		const char *in =
			l->stack == AIF_NONE ? NULL : aif_stack_names_caller(r->stacks, l->stack);

		if (i == f->chosen)
			continue;
		aif_buf_printf(b, "; %s", i < f->chosen ? "inside of " : "inner ones: ");
		aif_human_counted(b, l->turns, "turn");
		if (in && *in)
			aif_buf_printf(b, " in %s", in);
		aif_buf_puts(b, ", median ");
		aif_human_ns(b, l->median_ns);
	}
}

static void describe_loop(struct aif_report *r, const struct aif_phases *f, bool by_calls)
{
	const char *in = f->stack == AIF_NONE ? NULL : aif_stack_names_caller(r->stacks, f->stack);
	struct aif_buf *b = &r->before;

	aif_buf_puts(b, "no step is marked; turns of the loop");
	if (in && *in)
		aif_buf_printf(b, " in %s", in);
	aif_buf_puts(b,
		     by_calls ? ", found by calls between ranks that recur, of the rank with most: "
			      : ", found by launches that recur: ");
	aif_human_counted(b, f->len, "turn");
	aif_buf_puts(b, f->is_sparse ? " that were captured whole, median " : ", median ");
	aif_human_ns(b, f->median_ns);
	aif_buf_puts(b, ", p95 ");
	aif_human_ns(b, f->p95_ns);
	describe_periods(r, f);
	if (f->is_queued)
		aif_buf_puts(b, "; it queues ahead: a turn's time is that of its device work");
	aif_buf_puts(b, "\n");
}

/* by_calls: turns of a job without devices, which --time cannot choose. */
static int fill_turns(struct aif_report *r, const struct aif_utilization *w,
		      const struct aif_phases *f, bool by_calls, struct aif_err *err)
{
	uint32_t process = f->thread == AIF_NONE ? AIF_NONE : r->p->threads[f->thread].process;
	struct step *turns = calloc(f->len + 1, sizeof(*turns));
	uint64_t others_ns = 0;
	int e = turns ? aif_report_name_stacks(r, AIF_NAME_NORMAL, err) : -ENOMEM;

	for (size_t i = 0; i < f->len && !e; i++)
		turns[i] = (struct step){.start = f->steps[i].start,
					 .end = f->steps[i].end,
					 .number = by_calls ? 0 : i + 1,
					 .name = "turn"};
	if (!e)
		add_launched(r, f, process, turns);
	for (size_t i = 0; i < f->len && !e; i++) {
		if (!aif_timed_in_span(r->o->sel, turns[i].start))
			continue;
		others_ns += turns[i].others_ns;
		e = step_rows(r, w, &turns[i], process, err);
	}
	if (!e)
		describe_loop(r, f, by_calls);
	aif_report_note_others(r, "step", others_ns);
	free(turns);
	return e;
}

/* Finds the loop of a job whose ranks use no device. *f is finished first. 0 or -errno. */
static int find_by_calls(const struct aif_report *r, struct aif_phases *f)
{
	const struct aif_rank_waits *waits = aif_facts_none();
	int e = aif_rank_waits_get(r->p, r->o->sel, &waits);
	size_t rank = e ? 0 : aif_rank_with_most_calls(&waits->ranks, r->o->sel);

	if (!e && rank < waits->ranks.ranks_len) {
		aif_phases_finish(f);
		*f = (struct aif_phases){0};
		e = aif_rank_call_turns(r->p, r->o->sel, &waits->ranks, rank, f);
	}
	aif_facts_put(waits);
	return e;
}

static bool has_marks(const struct aif_op_tree *ops)
{
	for (size_t i = 0; i < ops->len; i++)
		if (ops->ops[i].is_step)
			return true;
	return false;
}

/* Steps are whole, whatever ranges are asked for: these have a part of their work. */
static int read_steps(struct aif_report *r)
{
	struct aif_selection sel;

	if (!r->o->sel || !r->o->sel->in_ranges)
		return 0;
	sel = *r->o->sel;
	sel.in_ranges = false;
	aif_op_tree_finish(&r->ops);
	return aif_op_tree_make(r->p, &sel, r->timeline, AIF_OWNERS_ALL, &r->ops);
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	const struct aif_utilization *w = aif_facts_none();
	struct aif_phases f = {0};
	struct aif_selection whole = {0};
	int e = read_steps(r);
	bool marked = !e && has_marks(&r->ops), by_calls = false;

	if (!e && !marked)
		e = aif_report_read_whole(r, &whole);
	else if (r->o->sel)
		whole = *r->o->sel;
	whole.from_ns = whole.to_ns = 0;
	if (!e)
		e = aif_phases_find(r->p, &whole, r->timeline, &f);
	if (!e && !marked && f.from == AIF_PHASES_UNKNOWN) {
		e = find_by_calls(r, &f);
		by_calls = !e && f.from == AIF_PHASES_TURNS;
	}
	if (!e) {
		/* Each step has its own time, and no other's. */
		aif_facts_put(r->timeline);
		e = aif_exec_timeline_get_unweighed(r->p, marked ? r->o->sel : &whole,
						    &r->timeline);
	}
	if (!e)
		e = aif_utilization_get(r->p, r->timeline, &w);
	aif_report_note_captured(r, "; time in which launches were left out is not_collected:");
	if (!e && marked)
		e = fill_marked(r, w, &f, err);
	else if (!e && f.from == AIF_PHASES_TURNS)
		e = fill_turns(r, w, &f, by_calls, err);
	aif_phases_finish(&f);
	aif_facts_put(w);
	return e;
}

const struct aif_report_table aif_report_table_steps = {
	.lacks = AIF_LACK_WORK | AIF_LACK_RANGES | AIF_LACK_EVENTS,
	.needs = AIF_REPORT_NEEDS_TIMELINE | AIF_REPORT_NEEDS_OPS,
	.hides_zeros = true,
	.rows = "steps",
	.hint = "none is marked, and no loop was found in the launches or in calls between ranks; programs mark them with aiflame.h or aiflame.py (docs/program.md)",
	.no_kernel = "time in which other kernels run is not idle",
	AIF_REPORT_COLUMNS(columns),
	.fill = fill,
};
