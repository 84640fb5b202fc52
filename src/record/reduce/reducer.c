/* SPDX-License-Identifier: Apache-2.0 */
#include "record/reduce/reducer.h"

#include "analysis/durations.h"
#include "analysis/kept_lot.h"
#include "analysis/step_names.h"
#include "analysis/weights.h"
#include "base/map.h"
#include "record/reduce/reduced_steps.h"
#include "record/reduce/reduced_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Launch numbers of one slot of a process, which counts them up, agree above this bit (wire/wire.h). */
#define SLOT_SHIFT 40
/* Least launches of a thread by lot in a stretch without which none is left out, and the most steps that are kept for that. */
#define LEAST      AIF_WEIGHTS_MIN
#define MOST_STEPS (AIF_WEIGHTS_MIN + AIF_KEPT_RUN)

struct thread {
	bool launches;      /* it has, ever */
	uint64_t *counts;   /* launches by block of its process in this round; NULL: none */
	bool *wholes;       /* by block: it keeps all of its launches */
	uint64_t made, lot; /* launches of this stretch, and those of steps with the lot */
	bool is_whole;      /* for the rest of this stretch, as one is that began in it */
};

struct process {
	struct aif_reduced_steps steps;
	/* The stretch since the last block that was certain. */
	size_t stretch;
	bool leaves_out;
};

/* Launches that are left out, numbered one behind the other. */
struct run {
	uint64_t first, last;
};

struct aif_reducer {
	uint32_t every;
	uint64_t round_at;
	struct aif_op_row *seen; /* whose names are not known yet */
	size_t seen_len, seen_cap;
	struct aif_map is_step; /* by string: whether ranges of that name are steps */
	struct process *processes;
	size_t processes_len, processes_cap;
	struct thread *threads;
	size_t threads_len, threads_cap;
	struct run *runs; /* by .first */
	size_t runs_len, runs_cap;
	struct aif_map judged; /* by slot: the greatest launch number that is */
	const struct aif_profile *p;
	struct aif_reducer_sum sum;
	struct aif_durations durations; /* of host clocks, which tick in nanoseconds */
	struct aif_map uncounted;       /* processes with executions of other clocks */
	struct aif_reduced_sums sums;
	int error;
};

struct aif_reducer *aif_reducer_new(uint32_t every)
{
	struct aif_reducer *r = calloc(1, sizeof(*r));

	if (r)
		r->every = every;
	return r;
}

static void free_counts(struct aif_reducer *r)
{
	for (size_t i = 0; i < r->threads_len; i++) {
		free(r->threads[i].counts);
		free(r->threads[i].wholes);
		r->threads[i].counts = NULL;
		r->threads[i].wholes = NULL;
	}
}

void aif_reducer_free(struct aif_reducer *r)
{
	if (!r)
		return;
	free_counts(r);
	for (size_t i = 0; i < r->processes_len; i++)
		aif_reduced_steps_finish(&r->processes[i].steps);
	free(r->processes);
	free(r->threads);
	free(r->seen);
	free(r->runs);
	aif_map_finish(&r->is_step);
	aif_map_finish(&r->judged);
	aif_durations_finish(&r->durations);
	aif_map_finish(&r->uncounted);
	aif_reduced_sums_finish(&r->sums);
	free(r);
}

const struct aif_reducer_sum *aif_reducer_sum(const struct aif_reducer *r)
{
	return &r->sum;
}

/* ---- steps ---------------------------------------------------------------------------------------- */

int aif_reducer_see(struct aif_reducer *r, const struct aif_op_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ((rows[i].kind != AIF_OP_STEP && rows[i].kind != AIF_OP_RANGE) ||
		    rows[i].clock != AIF_CLOCK_MONOTONIC || rows[i].thread == AIF_NONE ||
		    rows[i].name == AIF_NONE)
			continue;
		if (aif_grow(&r->seen, &r->seen_cap, r->seen_len + 1, sizeof(*r->seen)) < 0)
			return -ENOMEM;
		r->seen[r->seen_len++] = rows[i];
	}
	return 0;
}

int aif_reducer_see_execs(struct aif_reducer *r, const struct aif_exec_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct aif_exec_row *x = &rows[i];

		if (x->clock >= AIF_CLOCK_DEVICE
			    ? aif_map_put(&r->uncounted, x->process, 1) < 0
			    : aif_durations_add(&r->durations, x,
						x->end > x->start ? x->end - x->start : 0) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool is_id(uint32_t id, size_t len)
{
	return id == AIF_NONE || id < len;
}

int aif_reducer_durations(struct aif_reducer *r, struct aif_profile *tables)
{
	for (size_t i = 0; i < r->durations.len; i++) {
		const struct aif_duration *d = &r->durations.rows[i];
		uint64_t is;

		/* A row of executions that refers to nothing is left out by readers; one of a table spoils the file. */
		if (aif_map_get(&r->uncounted, d->process, &is) ||
		    !is_id(d->process, tables->processes_len) ||
		    !is_id(d->device, tables->devices_len) ||
		    !is_id(d->kernel, tables->kernels_len))
			continue;
		if (aif_grow(&tables->durations, &tables->durations_cap, tables->durations_len + 1,
			     sizeof(*d)) < 0)
			return -ENOMEM;
		tables->durations[tables->durations_len++] = *d;
	}
	return 0;
}

static bool is_step(struct aif_reducer *r, const struct aif_op_row *row)
{
	uint64_t is;

	if (row->kind == AIF_OP_STEP)
		return true;
	if (!aif_map_get(&r->is_step, row->name, &is)) {
		is = aif_step_names_match(aif_profile_str(r->p, row->name));
		if (aif_map_put(&r->is_step, row->name, is) < 0)
			r->error = -ENOMEM;
	}
	return is;
}

/* Makes room for the tables' processes and threads. */
static int grow(struct aif_reducer *r)
{
	const struct aif_profile *p = r->p;

	if (aif_grow(&r->processes, &r->processes_cap, p->processes_len, sizeof(*r->processes)) <
		    0 ||
	    aif_grow(&r->threads, &r->threads_cap, p->threads_len, sizeof(*r->threads)) < 0)
		return -ENOMEM;
	while (r->processes_len < p->processes_len)
		r->processes[r->processes_len++] = (struct process){.steps.thread = AIF_NONE};
	while (r->threads_len < p->threads_len)
		r->threads[r->threads_len++] = (struct thread){.is_whole = true};
	return 0;
}

static struct process *process_of(const struct aif_reducer *r, uint32_t thread)
{
	uint32_t process = thread < r->threads_len ? r->p->threads[thread].process : AIF_NONE;

	return process < r->processes_len ? &r->processes[process] : NULL;
}

/* Takes the steps among the rows that were seen, now that their names are known. */
static void take_steps(struct aif_reducer *r)
{
	for (size_t i = 0; i < r->seen_len; i++) {
		struct process *of = process_of(r, r->seen[i].thread);

		if (of && is_step(r, &r->seen[i]) &&
		    aif_reduced_steps_add(&of->steps, &r->seen[i]) < 0)
			r->error = -ENOMEM;
	}
	r->seen_len = 0;
}

/* ---- which steps are kept ------------------------------------------------------------------------- */

static size_t block_of(const struct process *of, const struct aif_reduced_block *b)
{
	return (size_t)(b - of->steps.blocks);
}

static int count(void *arg, const void *rows, size_t n)
{
	const struct aif_launch_row *l = rows;
	struct aif_reducer *r = arg;

	for (size_t i = 0; i < n; i++) {
		const struct process *of = process_of(r, l[i].thread);
		const struct aif_reduced_block *b =
			of ? aif_reduced_steps_at(&of->steps, l[i].time) : NULL;
		struct thread *t;

		if (!b)
			continue;
		t = &r->threads[l[i].thread];
		if (!t->counts)
			t->counts = calloc(of->steps.blocks_len, sizeof(*t->counts));
		if (!t->counts)
			return -ENOMEM;
		t->counts[block_of(of, b)]++;
		t->launches = true;
	}
	return 0;
}

/* Returns true if a thread that launches in each step has too few launches by lot yet. */
static bool has_too_few(const struct thread *t, size_t steps)
{
	return t->launches && t->lot < LEAST && t->made >= steps;
}

/* Decides on each block in turn, and by thread. 0 or -ENOMEM. */
static int decide(struct aif_reducer *r, uint32_t process)
{
	struct process *of = &r->processes[process];
	struct aif_reduced_steps *s = &of->steps;

	for (size_t i = 0; i < s->blocks_len; i++) {
		struct aif_reduced_block *b = &s->blocks[i];
		bool too_few = of->stretch < AIF_KEPT_RUN;

		for (uint32_t k = 0; k < r->threads_len; k++) {
			struct thread *t = &r->threads[k];

			if (r->p->threads[k].process != process)
				continue;
			if (b->is_certain) {
				t->made = t->lot = 0;
				t->is_whole = false;
			}
			too_few |= of->stretch < MOST_STEPS && has_too_few(t, of->stretch);
		}
		r->sum.steps += b->is_step;
		r->sum.first += b->is_first;
		r->sum.slow += b->is_slow;
		if (b->is_certain) {
			of->stretch = 0;
			of->leaves_out = false;
			continue;
		}
		if (!b->is_on && !of->leaves_out && too_few)
			b->is_on = b->is_drawn = true;
		r->sum.by_lot += b->is_drawn;
		of->stretch++;
		for (uint32_t k = 0; k < r->threads_len; k++) {
			struct thread *t = &r->threads[k];

			if (r->p->threads[k].process != process)
				continue;
			if (!b->is_on && !of->leaves_out)
				t->is_whole = t->lot < LEAST;
			else if (!of->leaves_out)
				t->is_whole = false;
			t->made += t->counts ? t->counts[i] : 0;
			t->lot += b->is_on && t->counts ? t->counts[i] : 0;
			if (!t->is_whole || b->is_on)
				continue;
			if (!t->wholes)
				t->wholes = calloc(s->blocks_len, sizeof(*t->wholes));
			if (!t->wholes)
				return -ENOMEM;
			t->wholes[i] = true;
		}
		of->leaves_out |= !b->is_on;
	}
	return 0;
}

/* Returns true for a thread's launches in a block. One that launches for the first time in a step that is left out keeps them. */
static bool is_kept(const struct aif_reducer *r, uint32_t thread, const struct process *of,
		    const struct aif_reduced_block *b)
{
	const struct thread *t = &r->threads[thread];

	return b->is_on || (t->wholes && t->wholes[block_of(of, b)]);
}

/* ---- rows ----------------------------------------------------------------------------------------- */

/* Says what becomes of what a thread did at a time, of which nothing is left out where .since is 0. */
static enum aif_rewrite at(const struct aif_reducer *r, uint32_t thread, uint64_t time)
{
	const struct process *of = process_of(r, thread);
	const struct aif_reduced_block *b;

	if (!of || !of->steps.since || time < of->steps.since)
		return AIF_REWRITE_KEEP;
	if (time >= of->steps.at)
		return AIF_REWRITE_LATER;
	b = aif_reduced_steps_at(&of->steps, time);
	return !b || is_kept(r, thread, of, b) ? AIF_REWRITE_KEEP : AIF_REWRITE_DROP;
}

static void leave_out(struct aif_reducer *r, uint64_t launch)
{
	struct run *last = r->runs_len ? &r->runs[r->runs_len - 1] : NULL;

	r->sum.left_out++;
	if (last && launch == last->last + 1 && launch >> SLOT_SHIFT == last->last >> SLOT_SHIFT) {
		last->last = launch;
		return;
	}
	if (aif_grow(&r->runs, &r->runs_cap, r->runs_len + 1, sizeof(*r->runs)) < 0)
		r->error = -ENOMEM;
	else
		r->runs[r->runs_len++] = (struct run){.first = launch, .last = launch};
}

/* Takes a launch that was judged, for the sums of its step. */
static void take_launch(struct aif_reducer *r, const struct aif_launch_row *l)
{
	const struct process *of = process_of(r, l->thread);
	const struct aif_reduced_block *b = of ? aif_reduced_steps_at(&of->steps, l->time) : NULL;

	if (b)
		aif_reduced_sums_launch(&r->sums, l, (uint32_t)(of - r->processes),
					block_of(of, b));
}

static void judge_launches(void *arg, const void *rows, size_t n, uint8_t *ret)
{
	const struct aif_launch_row *l = rows;
	struct aif_reducer *r = arg;

	for (size_t i = 0; i < n; i++) {
		uint64_t most = 0, slot = l[i].launch >> SLOT_SHIFT;

		ret[i] = (uint8_t)at(r, l[i].thread, l[i].time);
		if (ret[i] == AIF_REWRITE_DROP)
			leave_out(r, l[i].launch);
		if (ret[i] == AIF_REWRITE_LATER)
			continue;
		take_launch(r, &l[i]);
		aif_map_get(&r->judged, slot, &most);
		if (l[i].launch >= most && aif_map_put(&r->judged, slot, l[i].launch) < 0)
			r->error = -ENOMEM;
	}
}

static int by_first(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Puts the runs in order, and those together that follow on each other. */
static void sort_runs(struct aif_reducer *r)
{
	size_t to = 0;

	if (r->runs_len)
		qsort(r->runs, r->runs_len, sizeof(*r->runs), by_first);
	for (size_t i = 1; i < r->runs_len; i++) {
		if (r->runs[i].first == r->runs[to].last + 1)
			r->runs[to].last = r->runs[i].last;
		else
			r->runs[++to] = r->runs[i];
	}
	r->runs_len = r->runs_len ? to + 1 : 0;
}

static enum aif_rewrite of_launch(const struct aif_reducer *r, uint64_t launch, uint32_t process)
{
	size_t i = AIF_BISECT(mid, 0, r->runs_len, r->runs[mid].last < launch);
	uint64_t most;

	if (i < r->runs_len && launch >= r->runs[i].first)
		return AIF_REWRITE_DROP;
	if (process < r->processes_len && !r->processes[process].steps.since)
		return AIF_REWRITE_KEEP;
	return aif_map_get(&r->judged, launch >> SLOT_SHIFT, &most) && launch <= most
		       ? AIF_REWRITE_KEEP
		       : AIF_REWRITE_LATER;
}

static void judge_execs(void *arg, const void *rows, size_t n, uint8_t *ret)
{
	const struct aif_exec_row *x = rows;
	struct aif_reducer *r = arg;

	for (size_t i = 0; i < n; i++) {
		ret[i] = (uint8_t)of_launch(r, x[i].launch, x[i].process);
		if (ret[i] != AIF_REWRITE_LATER)
			aif_reduced_sums_exec(&r->sums, &x[i]);
	}
}

/* Operators and calls are reported of what is captured, ranges and steps of all. */
static void judge_ops(void *arg, const void *rows, size_t n, uint8_t *ret)
{
	const struct aif_op_row *o = rows;

	for (size_t i = 0; i < n; i++)
		ret[i] = o[i].clock != AIF_CLOCK_MONOTONIC || o[i].kind == AIF_OP_STEP ||
					 o[i].kind == AIF_OP_RANGE
				 ? AIF_REWRITE_KEEP
				 : (uint8_t)at(arg, o[i].thread, o[i].start);
}

static void judge_counters(void *arg, const void *rows, size_t n, uint8_t *ret)
{
	const struct aif_counter_row *c = rows;

	for (size_t i = 0; i < n; i++)
		ret[i] = c[i].launch ? (uint8_t)of_launch(arg, c[i].launch - 1, AIF_NONE)
				     : AIF_REWRITE_KEEP;
}

/* Writes the blocks of a thread, with all that it launched in each; those one behind the other that are alike are one, but for steps
 * with the lot. */
static int write_blocks(struct aif_reducer *r, struct aif_writer *w, uint32_t thread,
			struct aif_err *err)
{
	const struct process *of = process_of(r, thread);
	const struct thread *t = &r->threads[thread];
	struct aif_window_row *rows;
	size_t len = 0;
	int e;

	if (!of || !of->steps.blocks_len || !t->launches)
		return 0;
	rows = calloc(of->steps.blocks_len, sizeof(*rows));
	if (!rows)
		return aif_err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < of->steps.blocks_len; i++) {
		const struct aif_reduced_block *b = &of->steps.blocks[i];
		bool is_whole = t->wholes && t->wholes[i],
		     is_certain = (b->is_on && b->is_certain) || is_whole;
		struct aif_window_row row = {.start = b->from,
					     .end = b->to,
					     .window = AIF_NONE,
					     .device = AIF_NONE,
					     .process = r->p->threads[thread].process,
					     .held = b->is_on || is_whole,
					     .launches = t->counts ? t->counts[i] : 0,
					     .thread = thread,
					     .p_ppm = is_certain ? 1000000 : 1000000 / r->every};
		struct aif_window_row *last = len ? &rows[len - 1] : NULL;

		if (last && last->held == row.held && last->p_ppm == row.p_ppm &&
		    (!row.held || is_certain)) {
			last->end = row.end;
			last->launches += row.launches;
			continue;
		}
		rows[len++] = row;
	}
	e = aif_writer_windows(w, rows, len, err);
	free(rows);
	return e;
}

int aif_reducer_round(struct aif_reducer *r, struct aif_writer *w, const struct aif_profile *tables,
		      uint64_t now, bool is_last, struct aif_err *err)
{
	int e;

	r->p = tables;
	e = grow(r);
	take_steps(r);
	if (!e && !r->error && !is_last && now < r->round_at)
		return 0;
	r->round_at = now + AIF_REDUCER_ROUND_NS;
	for (size_t i = 0; i < r->processes_len && !e; i++)
		e = aif_reduced_steps_blocks(&r->processes[i].steps, tables, r->every, now,
					     is_last);
	if (!e)
		e = aif_writer_look(w, AIF_CHUNK_LAUNCHES, count, r, err);
	for (uint32_t i = 0; i < r->processes_len && !e; i++)
		e = decide(r, i);
	if (!e)
		e = aif_writer_rewrite(w, AIF_CHUNK_LAUNCHES, judge_launches, r, err);
	sort_runs(r);
	if (!e)
		e = aif_writer_rewrite(w, AIF_CHUNK_EXECS, judge_execs, r, err);
	if (!e)
		e = aif_writer_rewrite(w, AIF_CHUNK_OPS, judge_ops, r, err);
	for (uint32_t i = 0; i < r->processes_len && !e; i++)
		aif_reduced_sums_round(&r->sums, tables, i, &r->processes[i].steps);
	aif_reduced_sums_next(&r->sums);
	if (!e && is_last && r->sum.left_out)
		e = aif_reduced_sums_write(&r->sums, w, err);
	r->sum.lacks_step_sums = r->sums.is_incomplete;
	r->sum.missed = r->sums.missed;
	if (!e)
		e = aif_writer_rewrite(w, AIF_CHUNK_COUNTERS, judge_counters, r, err);
	for (uint32_t i = 0; i < r->threads_len && !e; i++)
		e = write_blocks(r, w, i, err);
	free_counts(r);
	e = e ? e : r->error;
	return e == -ENOMEM ? aif_err_set(err, e, "reducing the profile: out of memory") : e;
}
