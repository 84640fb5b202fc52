/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/step_sums.h"

#include "analysis/exec_timeline.h"
#include "analysis/facts.h"
#include "base/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An execution of a step, or the idle time of its device up to it. */
struct item {
	uint32_t step, exec;
	uint64_t idle; /* 0: the execution */
};

struct summing {
	const struct aif_profile *p;
	const struct aif_kept_steps *kept;
	const struct aif_exec_timeline *t;
	uint32_t *order;         /* executions by process, device and start */
	struct item *items;      /* of a process: two for each execution at most */
	struct aif_map computes; /* by kernel */
	uint32_t *stack_of;      /* by stack, 1 + the one that stands for it; 0: not yet known */
	struct aif_map by_frames;
	struct aif_step_sum_row *rows;
	size_t rows_len, rows_cap;
};

static int by_device(const void *a, const void *b, void *arg)
{
	const struct aif_exec_timeline *t = arg;
	const struct aif_timeline_exec *x = &t->execs[*(const uint32_t *)a],
				       *y = &t->execs[*(const uint32_t *)b];
	const struct aif_timeline_work *v = aif_timeline_work_of(t, x),
				       *w = aif_timeline_work_of(t, y);

	if (v->process != w->process)
		return v->process < w->process ? -1 : 1;
	if (v->device != w->device)
		return v->device < w->device ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int by_step(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return x->exec < y->exec ? -1 : x->exec > y->exec;
}

/* Returns the step of a process in which a time lies, or UINT32_MAX. */
static uint32_t step_at(const struct summing *s, const struct aif_kept_process *of, int64_t time)
{
	uint64_t at = s->p->start_ns + (uint64_t)time;
	size_t i;

	if (time < 0)
		return UINT32_MAX;
	i = AIF_BISECT(mid, 0, of->steps_len, of->steps[mid].to <= at);
	return i < of->steps_len && at >= of->steps[i].from ? (uint32_t)i : UINT32_MAX;
}

/* Returns a number of a frame; ranges that differ by their digits alone have one: ProfilerStep#7, batch 12. */
static uint64_t frame_key(const struct aif_profile *p, uint32_t frame)
{
	const struct aif_frame *f = &p->frames[frame];
	uint64_t key = AIF_FRAME_RANGE;

	if (f->kind != AIF_FRAME_RANGE)
		return frame + UINT64_C(1);
	for (const char *at = aif_profile_str(p, (uint32_t)f->address); *at; at++)
		if (*at < '0' || *at > '9')
			key = aif_mix64(key ^ (uint8_t)*at);
	return key;
}

/* Sets *stack to the first one that has the same frames but for the numbers of ranges. 0 or -ENOMEM. */
static int find_stack(struct summing *s, uint32_t *stack)
{
	uint64_t key = 0, first = *stack;
	int e = 0;

	if (*stack == AIF_NONE)
		return 0;
	if (!s->stack_of[*stack]) {
		for (uint32_t at = *stack; at != AIF_NONE; at = s->p->stacks[at].parent)
			key = aif_mix64(key ^ frame_key(s->p, s->p->stacks[at].frame));
		if (!aif_map_get(&s->by_frames, key, &first))
			e = aif_map_put(&s->by_frames, key, first);
		s->stack_of[*stack] = 1 + (uint32_t)first;
	}
	*stack = s->stack_of[*stack] - 1;
	return e;
}

static int add(struct summing *s, struct aif_step_sums *to, const struct item *i)
{
	const struct aif_timeline_exec *x = &s->t->execs[i->exec];
	const struct aif_timeline_work *w = aif_timeline_work_of(s->t, x);
	struct aif_step_exec of = {
		.device = w->device,
		.kind = w->kind,
		.kernel = w->kernel,
		.stack = s->t->launches[x->launch].stack,
		.computes = !aif_timeline_more_of(s->t, x)->collective &&
			    aif_step_sums_computes(s->p, &s->computes, w->kind, w->kernel),
		.is_idle = i->idle > 0,
		.ns = i->idle ? i->idle : aif_timed_ns(x)};
	int e = find_stack(s, &of.stack);

	return e ? e : aif_step_sums_exec(to, &of);
}

/* Sums up n executions of a process, of its steps one behind the other. */
static int sum_process(struct summing *s, const struct aif_kept_process *of, size_t n)
{
	struct aif_step_sums sums = {.thread = of->thread};
	size_t at = 0;
	int e = 0;

	aif_sort(s->items, n, sizeof(*s->items), by_step);
	for (size_t k = 0; k < of->steps_len && !e; k++) {
		for (; at < n && s->items[at].step == k && !e; at++)
			e = add(s, &sums, &s->items[at]);
		if (!e)
			e = aif_step_sums_step(&sums, of->steps[k].from, of->steps[k].to);
	}
	if (!e)
		e = aif_step_sums_end(&sums);
	if (!e)
		e = aif_grow(&s->rows, &s->rows_cap, s->rows_len + sums.rows_len, sizeof(*s->rows));
	if (!e && sums.rows_len) {
		memcpy(s->rows + s->rows_len, sums.rows, sums.rows_len * sizeof(*s->rows));
		s->rows_len += sums.rows_len;
	}
	aif_step_sums_finish(&sums);
	return e;
}

/* Adds an execution to those of the step in which it was launched, and the idle time up to it to the one in which most of it lies: a
 * loop whose turns begin with a launch waits for that in the turn before. */
static void take(struct summing *s, const struct aif_kept_process *of, uint32_t exec,
		 int64_t busy_to, size_t *len)
{
	const struct aif_timeline_exec *x = &s->t->execs[exec];
	uint32_t step =
		x->launch == AIF_NONE ? UINT32_MAX : step_at(s, of, s->t->launches[x->launch].at);
	uint32_t idle_in;

	if (step == UINT32_MAX)
		return;
	s->items[(*len)++] = (struct item){.step = step, .exec = exec};
	if (x->start <= busy_to)
		return;
	idle_in = step_at(s, of, busy_to + (x->start - busy_to) / 2);
	s->items[(*len)++] = (struct item){.step = idle_in == UINT32_MAX ? step : idle_in,
					   .exec = exec,
					   .idle = (uint64_t)(x->start - busy_to)};
}

/* Collects the executions of a process from .order[from] on, which are those of its devices one behind the other. Returns the next
 * process's first. */
static size_t collect(struct summing *s, size_t from, size_t *ret_len)
{
	const struct aif_exec_timeline *t = s->t;
	uint32_t process = aif_timeline_work_of(t, &t->execs[s->order[from]])->process,
		 device = AIF_NONE;
	const struct aif_kept_process *of =
		process != AIF_NONE && s->kept->processes[process].steps_len
			? &s->kept->processes[process]
			: NULL;
	int64_t busy_to = INT64_MAX;
	size_t i;

	*ret_len = 0;
	for (i = from; i < t->execs_len; i++) {
		const struct aif_timeline_exec *x = &t->execs[s->order[i]];
		const struct aif_timeline_work *w = aif_timeline_work_of(t, x);

		if (w->process != process)
			break;
		if (i == from || w->device != device)
			busy_to = INT64_MAX;
		device = w->device;
		if (of)
			take(s, of, s->order[i], busy_to, ret_len);
		busy_to = busy_to == INT64_MAX ? x->end : AIF_MAX(busy_to, x->end);
	}
	return i;
}

int aif_merge_step_sums(const struct aif_profile *p, const struct aif_kept_steps *kept,
			struct aif_step_sum_row **ret, size_t *ret_len)
{
	struct summing s = {.p = p, .kept = kept};
	size_t n = 0, len;
	int e = aif_exec_timeline_get(p, NULL, &s.t);

	if (!e) {
		n = s.t->execs_len;
		s.order = malloc((n + 1) * sizeof(*s.order));
		s.items = malloc((2 * n + 1) * sizeof(*s.items));
		s.stack_of = calloc(p->stacks_len + 1, sizeof(*s.stack_of));
		e = s.order && s.items && s.stack_of ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < n && !e; i++)
		s.order[i] = (uint32_t)i;
	if (!e)
		aif_sort_r(s.order, n, sizeof(*s.order), by_device, (void *)(uintptr_t)s.t);
	for (size_t i = 0; i < n && !e;) {
		uint32_t process = aif_timeline_work_of(s.t, &s.t->execs[s.order[i]])->process;

		i = collect(&s, i, &len);
		if (len)
			e = sum_process(&s, &kept->processes[process], len);
	}
	aif_facts_put(s.t);
	free(s.order);
	free(s.items);
	free(s.stack_of);
	aif_map_finish(&s.by_frames);
	aif_map_finish(&s.computes);
	if (e) {
		free(s.rows);
		return e;
	}
	*ret = s.rows;
	*ret_len = s.rows_len;
	return 0;
}
