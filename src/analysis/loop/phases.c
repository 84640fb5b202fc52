/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/loop/phases.h"

#include "analysis/loop/internal.h"
#include "analysis/step_names.h"

#include <string.h>
#include "analysis/time.h"
#include "analysis/utilization.h"
#include "profile/file.h"

#include <errno.h>

static uint64_t length_of(const struct aif_loop_step *s)
{
	return s->end > s->start ? (uint64_t)s->end - (uint64_t)s->start : 0;
}

/* Returns the median length of `n` steps; `space` has room for them and is left sorted. */
static uint64_t median_of(const struct aif_loop_step *steps, size_t n, uint64_t *space)
{
	for (size_t i = 0; i < n; i++)
		space[i] = length_of(&steps[i]);
	return aif_loop_median(space, n);
}

static int sum_up(struct aif_phases *f)
{
	size_t quarter = f->len / 4;
	uint64_t *ns = malloc((f->len + 1) * sizeof(*ns)), first;

	if (!ns)
		return -ENOMEM;
	f->median_ns = median_of(f->steps, f->len, ns);
	f->p95_ns = aif_loop_p95(ns, f->len);
	f->start = f->steps[0].start;
	f->trend = 1;
	for (size_t i = 0; i < f->len; i++)
		f->end = i ? AIF_MAX(f->end, f->steps[i].end) : f->steps[i].end;
	if (f->len >= AIF_PHASES_TREND_STEPS) {
		first = median_of(f->steps, quarter, ns);
		if (first)
			f->trend = (double)median_of(f->steps + f->len - quarter, quarter, ns) /
				   (double)first;
	}
	free(ns);
	return 0;
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* A step that is no part of another one. */
static bool is_step(const struct aif_op_tree *ops, const struct aif_op *o)
{
	if (!o->is_step || o->twin != AIF_NONE)
		return false;
	for (uint32_t i = o->parent; i != AIF_NONE; i = ops->ops[i].parent)
		if (ops->ops[i].is_step)
			return false;
	return true;
}

static int see_names(void *arg, const struct aif_op_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		aif_step_names_see(arg, &rows[i]);
	return 0;
}

/* Takes the steps of a thread whose operators are [from, to). */
static int take_steps(const struct aif_op_tree *ops, size_t from, size_t to, struct aif_phases *f)
{
	f->len = 0;
	f->thread = ops->ops[from].thread;
	for (size_t i = from; i < to; i++) {
		const struct aif_op *o = &ops->ops[i];

		if (!is_step(ops, o))
			continue;
		if (aif_grow(&f->steps, &f->cap, f->len + 1, sizeof(*f->steps)) < 0)
			return -ENOMEM;
		f->steps[f->len++] = (struct aif_loop_step){.start = aif_time_clamp(o->start),
							    .end = aif_time_clamp(o->end)};
	}
	if (f->len)
		f->from = AIF_PHASES_MARKS;
	return 0;
}

/* Returns the end of the operators of one thread, which are together, and the number of its steps. */
static size_t thread_end(const struct aif_op_tree *ops, size_t from, size_t *ret_steps)
{
	size_t to = from;

	*ret_steps = 0;
	for (; to < ops->len && ops->ops[to].thread == ops->ops[from].thread; to++)
		*ret_steps += is_step(ops, &ops->ops[to]);
	return to;
}

/* Takes the steps of the thread with the most of them. */
static int take_marks(const struct aif_op_tree *ops, struct aif_phases *f)
{
	size_t first = 0, end = 0, most = 0, n;

	for (size_t from = 0, to; from < ops->len; from = to) {
		to = thread_end(ops, from, &n);
		if (n > most) {
			most = n;
			first = from;
			end = to;
		}
	}
	return most ? take_steps(ops, first, end, f) : 0;
}

/* Time at which a thread was seen to leave a function for good. */
struct leaving {
	const struct aif_profile *p;
	uint32_t thread, stack;
	int64_t from, to;
	int64_t last, left; /* seen in it; seen elsewhere behind that, INT64_MAX: never */
};

static bool is_in_function(const struct aif_profile *p, uint32_t stack, uint32_t of)
{
	const struct aif_frame_name *x = aif_profile_frame_name(p, p->stacks[of].frame);

	for (; stack != AIF_NONE; stack = p->stacks[stack].parent) {
		const struct aif_frame_name *y =
			p->stacks[stack].frame == AIF_NONE
				? NULL
				: aif_profile_frame_name(p, p->stacks[stack].frame);

		if (y && y->name == x->name && y->file == x->file)
			return true;
	}
	return false;
}

static int see_leaving(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct leaving *l = arg;

	for (size_t i = 0; i < n; i++) {
		int64_t at = aif_time_clamp((int64_t)(rows[i].time - l->p->start_ns));

		/* Looks at sleeps may have no stack. */
		if (rows[i].thread != l->thread || rows[i].stack == AIF_NONE ||
		    l->p->stacks[rows[i].stack].parent == AIF_NONE || at < l->from || at >= l->to)
			continue;
		if (is_in_function(l->p, rows[i].stack, l->stack)) {
			l->last = AIF_MAX(l->last, at);
			l->left = l->left <= at ? INT64_MAX : l->left;
		} else if (at > l->last) {
			l->left = AIF_MIN(l->left, at);
		}
	}
	return 0;
}

/* Ends the loop with the process's last work: where launches were left out, whole turns are seen only here and there. Behind what was
 * captured, it ends where CPU samples see the thread outside of the function that loops. */
static int reach_last_work(const struct aif_profile *p, const struct aif_exec_timeline *t,
			   struct aif_phases *f)
{
	uint32_t process = p->threads[f->thread].process;
	int64_t from = f->start, to = f->end, captured;
	struct leaving l = {.p = p, .thread = f->thread, .stack = f->stack, .left = INT64_MAX};
	uint64_t damaged = 0;
	int e = 0;

	for (size_t i = 0; i < t->execs_len; i++)
		if (aif_timeline_work_of(t, &t->execs[i])->process == process)
			to = AIF_MAX(to, t->execs[i].end);
	captured = l.last = l.from = to;
	(void)aif_utilization_reach(p, t, process, &from, &to);
	l.to = to;
	if (to > captured && f->stack != AIF_NONE && p->stacks[f->stack].frame != AIF_NONE &&
	    aif_profile_frame_name(p, p->stacks[f->stack].frame))
		e = aif_profile_cpu(p, see_leaving, &l, &damaged);
	f->end = AIF_MAX(f->end, AIF_MIN(to, l.left));
	return e;
}

/* ---- turns ----------------------------------------------------------------------------------- */

size_t aif_phases_step_at(const struct aif_phases *f, int64_t at)
{
	size_t lo = AIF_BISECT(mid, 0, f->len, f->steps[mid].end <= at);

	return lo < f->len && f->steps[lo].start <= at ? lo : f->len;
}

/* Steps of which half of the device time comes more than so many of their lengths behind their end are over on the host long before. */
#define LAG_STEPS 1

/* Gives steps the times of their device work if the host is far ahead: if that work takes more than twice as long as their launches, or
 * most of it comes more than a step later. */
static int follow_queue(const struct aif_profile *p, const struct aif_exec_timeline *t,
			struct aif_phases *f)
{
	struct aif_loop_step *work = malloc((f->len + 1) * sizeof(*work));
	uint32_t process = p->threads[f->thread].process;
	uint64_t device_ns = 0, calls_ns = 0, late_ns = 0;
	size_t n = 0;

	if (!work)
		return -ENOMEM;
	for (size_t i = 0; i < f->len; i++) {
		work[i] = (struct aif_loop_step){.start = INT64_MAX, .end = INT64_MIN};
		calls_ns += length_of(&f->steps[i]);
	}
	for (size_t i = 0; i < t->execs_len; i++) {
		const struct aif_timeline_exec *x = &t->execs[i];
		size_t turn =
			x->launch == AIF_NONE || aif_timeline_work_of(t, x)->process != process
				? f->len
				: aif_phases_step_at(f, t->launches[x->launch].at);

		if (turn == f->len)
			continue;
		work[turn].start = AIF_MIN(work[turn].start, x->start);
		work[turn].end = AIF_MAX(work[turn].end, x->end);
		device_ns += aif_timed_ns(x);
		if (x->start - f->steps[turn].end >
		    LAG_STEPS * (int64_t)AIF_MIN(length_of(&f->steps[turn]), (uint64_t)INT64_MAX))
			late_ns += aif_timed_ns(x);
	}
	f->is_queued = device_ns / 2 > calls_ns || late_ns > device_ns / 2;
	for (size_t i = 0; i < f->len && f->is_queued; i++)
		if (work[i].start <= work[i].end && (!n || work[i].start > f->steps[n - 1].start)) {
			if (n)
				f->steps[n - 1].end = work[i].start;
			f->steps[n++] = work[i];
		}
	f->len = f->is_queued ? n : f->len;
	free(work);
	return 0;
}

/* Does the same with steps that are marked, unless they overlap: then nothing says which one launched what. */
static int follow_marks(const struct aif_profile *p, const struct aif_exec_timeline *t,
			struct aif_phases *f)
{
	for (size_t i = 1; i < f->len; i++)
		if (f->steps[i].start < f->steps[i - 1].end)
			return 0;
	return follow_queue(p, t, f);
}

static int take_turns(const struct aif_profile *p, const struct aif_selection *sel,
		      const struct aif_exec_timeline *t, struct aif_phases *f)
{
	struct aif_loop loop;
	int e = aif_loop_find(p, t, sel ? sel->loop : 0, &loop);

	if (!e && loop.len) {
		f->from = AIF_PHASES_TURNS;
		f->thread = loop.thread;
		f->stack = loop.level[loop.chosen].stack;
		f->place = loop.place;
		f->is_sparse = loop.is_sparse;
		memcpy(f->level, loop.level, sizeof(f->level));
		f->levels = loop.levels;
		f->chosen = loop.chosen;
		memcpy(f->loops, loop.loops, sizeof(f->loops));
		f->loops_len = loop.loops_len;
		f->steps = loop.steps;
		f->len = loop.len;
		f->cap = loop.cap;
		loop.steps = NULL;
	}
	aif_loop_finish(&loop);
	if (!e && f->len && f->thread != AIF_NONE)
		e = follow_queue(p, t, f);
	return e;
}

static int find(const struct aif_profile *p, const struct aif_selection *sel,
		const struct aif_exec_timeline *t, bool are_turns, struct aif_phases *ret)
{
	struct aif_op_tree ops = {0};
	struct aif_step_names names;
	bool has_steps;
	int e;

	/* Most traces have operators and no steps: their tree takes longer than a look. */
	e = aif_step_names_init(&names, p);
	if (!e && !are_turns)
		e = aif_profile_ops(p, see_names, &names, NULL);
	has_steps = !are_turns && aif_step_names_any(&names);
	aif_step_names_finish(&names);
	if (!e && has_steps)
		e = aif_op_tree_make(p, sel, t, AIF_OWNERS_ALL, &ops);
	if (!e && has_steps)
		e = take_marks(&ops, ret);
	if (!e && ret->len > 1 && ret->thread != AIF_NONE)
		e = follow_marks(p, t, ret);
	aif_op_tree_finish(&ops);
	if (!e && !ret->len)
		e = take_turns(p, sel, t, ret);
	if (!e && ret->len)
		e = sum_up(ret);
	if (!e && ret->is_sparse && ret->thread != AIF_NONE)
		e = reach_last_work(p, t, ret);
	return e;
}

/* ---- marks of all processes ------------------------------------------------------------------- */

/* Takes for each process the steps of its thread with the most of them. */
static int take_all_marks(const struct aif_profile *p, const struct aif_op_tree *ops,
			  struct aif_phases *by_process)
{
	int e = 0;

	for (size_t from = 0, to; from < ops->len && !e; from = to) {
		uint32_t thread = ops->ops[from].thread,
			 process = thread == AIF_NONE ? AIF_NONE : p->threads[thread].process;
		size_t n;

		to = thread_end(ops, from, &n);
		if (process != AIF_NONE && n > by_process[process].len)
			e = take_steps(ops, from, to, &by_process[process]);
	}
	return e;
}

/* Sorts executions by process, in *ret: those of process i are [first[i], first[i + 1]), in the order of the file. */
static int sort_execs(const struct aif_profile *p, const struct aif_exec_timeline *t, size_t *first,
		      struct aif_timeline_exec **ret)
{
	*ret = calloc(t->execs_len + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < t->execs_len; i++) {
		uint32_t process = aif_timeline_work_of(t, &t->execs[i])->process;

		if (process != AIF_NONE)
			first[process + 2]++;
	}
	for (size_t i = 0; i < p->processes_len; i++)
		first[i + 2] += first[i + 1];
	for (size_t i = 0; i < t->execs_len; i++) {
		uint32_t process = aif_timeline_work_of(t, &t->execs[i])->process;

		if (process != AIF_NONE)
			(*ret)[first[process + 1]++] = t->execs[i];
	}
	return 0;
}

/* Finishes the phases of each process: with its own executions alone, since there may be a thousand processes. */
static int finish_marks(const struct aif_profile *p, const struct aif_exec_timeline *t,
			struct aif_phases *by_process)
{
	size_t *first = calloc(p->processes_len + 3, sizeof(*first));
	struct aif_timeline_exec *execs = NULL;
	int e = first ? sort_execs(p, t, first, &execs) : -ENOMEM;

	for (size_t i = 0; i < p->processes_len && !e; i++) {
		struct aif_exec_timeline own = *t;

		if (!by_process[i].len)
			continue;
		/* Phases weigh no execution. */
		own.cycles = NULL;
		own.execs = execs + first[i];
		own.execs_len = first[i + 1] - first[i];
		if (by_process[i].len > 1)
			e = follow_marks(p, &own, &by_process[i]);
		if (!e && by_process[i].len)
			e = sum_up(&by_process[i]);
	}
	free(execs);
	free(first);
	return e;
}

int aif_phases_marked(const struct aif_profile *p, const struct aif_selection *sel,
		      const struct aif_exec_timeline *t, struct aif_phases *by_process)
{
	struct aif_op_tree ops = {0};
	struct aif_step_names names;
	int e = aif_step_names_init(&names, p);

	for (size_t i = 0; i < p->processes_len; i++)
		by_process[i] =
			(struct aif_phases){.thread = AIF_NONE, .stack = AIF_NONE, .trend = 1};
	if (!e)
		e = aif_profile_ops(p, see_names, &names, NULL);
	if (!e && aif_step_names_any(&names)) {
		e = aif_op_tree_make(p, sel, t, AIF_OWNERS_ALL, &ops);
		if (!e)
			e = take_all_marks(p, &ops, by_process);
		if (!e)
			e = finish_marks(p, t, by_process);
	}
	aif_step_names_finish(&names);
	aif_op_tree_finish(&ops);
	return e;
}

static int find_in_all(const struct aif_profile *p, const struct aif_selection *sel,
		       const struct aif_exec_timeline *t, bool are_turns, struct aif_phases *ret)
{
	struct aif_selection of_all = sel ? *sel : (struct aif_selection){0};
	const struct aif_exec_timeline *all;
	int e;

	*ret = (struct aif_phases){.thread = AIF_NONE, .stack = AIF_NONE, .trend = 1};
	if (!of_all.in_ranges)
		return find(p, sel, t, are_turns, ret);
	of_all.in_ranges = false;
	e = aif_exec_timeline_get(p, &of_all, &all);
	if (!e)
		e = find(p, &of_all, all, are_turns, ret);
	aif_facts_put(all);
	return e;
}

int aif_phases_find(const struct aif_profile *p, const struct aif_selection *sel,
		    const struct aif_exec_timeline *t, struct aif_phases *ret)
{
	return find_in_all(p, sel, t, sel && sel->loop, ret);
}

int aif_phases_find_turns(const struct aif_profile *p, const struct aif_selection *sel,
			  const struct aif_exec_timeline *t, struct aif_phases *ret)
{
	return find_in_all(p, sel, t, true, ret);
}

void aif_phases_finish(struct aif_phases *f)
{
	free(f->steps);
	*f = (struct aif_phases){.thread = AIF_NONE, .stack = AIF_NONE};
}
