/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/kept_steps.h"

#include "analysis/exec_timeline.h"
#include "analysis/facts.h"
#include "analysis/loop/phases.h"
#include "analysis/step_names.h"
#include "base/hash.h"
#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct step {
	uint64_t from, to, number;
	uint32_t thread;
	bool is_slow, is_drawn;
	bool is_certain; /* slow, or one of the first */
};

struct finding {
	const struct aif_profile *p;
	struct aif_step_names names;
	struct step *steps; /* of all threads */
	size_t len, cap;
};

static int see(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct finding *f = arg;

	for (size_t i = 0; i < n; i++)
		aif_step_names_see(&f->names, &rows[i]);
	return 0;
}

static int take(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct finding *f = arg;

	for (size_t i = 0; i < n; i++) {
		const struct aif_op_row *r = &rows[i];

		if ((r->kind != AIF_OP_STEP &&
		     (r->kind != AIF_OP_RANGE || !aif_step_names_is(&f->names, r->name))) ||
		    r->thread == AIF_NONE || r->name == AIF_NONE ||
		    r->clock != AIF_CLOCK_MONOTONIC || r->end <= r->start)
			continue;
		if (aif_grow(&f->steps, &f->cap, f->len + 1, sizeof(*f->steps)) < 0)
			return -ENOMEM;
		f->steps[f->len++] =
			(struct step){.from = r->start,
				      .to = r->end,
				      .number = aif_kept_number(aif_profile_str(f->p, r->name)),
				      .thread = r->thread};
	}
	return 0;
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to > y->to ? -1 : x->to < y->to;
}

static int by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Marks the slow ones of n steps; *ret_median. 0 or -ENOMEM. */
static int find_slow(struct step *s, size_t n, uint64_t *ret_median)
{
	uint64_t *length = malloc(n * sizeof(*length)), least;
	size_t most = (size_t)((double)n * AIF_KEPT_SLOW_PART);

	if (!length)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		length[i] = s[i].to - s[i].from;
	qsort(length, n, sizeof(*length), by_length);
	*ret_median = length[n / 2];
	most = AIF_MIN(AIF_MAX(most, (size_t)AIF_KEPT_SLOW_LEAST), n);
	least = AIF_MAX(length[n - most], (uint64_t)((double)*ret_median * AIF_KEPT_SLOW));
	for (size_t i = 0; i < n; i++)
		s[i].is_slow = s[i].to - s[i].from >= least;
	free(length);
	return 0;
}

/* Adds a block; one that is like the one before it, and is no step by lot, goes on with that. */
static int add_block(struct aif_kept_process *to, uint64_t from, uint64_t until, bool is_on,
		     bool is_certain)
{
	struct aif_kept_block *last = to->len ? &to->blocks[to->len - 1] : NULL;

	if (from >= until)
		return 0;
	if (last && last->is_on == is_on && last->is_certain == is_certain &&
	    (!is_on || is_certain)) {
		last->to = until;
		return 0;
	}
	if (aif_grow(&to->blocks, &to->cap, to->len + 1, sizeof(*to->blocks)) < 0)
		return -ENOMEM;
	to->blocks[to->len++] = (struct aif_kept_block){
		.from = from, .to = until, .is_on = is_on, .is_certain = is_certain};
	return 0;
}

/* Keeps the outer ones of steps that overlap, each up to the next one where the pause between is short. Returns how many. */
static size_t follow_on(struct step *s, size_t n, uint64_t start, uint64_t median)
{
	uint64_t at = start;
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i].from < at)
			continue;
		if (s[i].number == UINT64_MAX)
			s[i].number = len;
		at = s[i].to;
		if (len && s[i].from - s[len - 1].to <= median)
			s[len - 1].to = s[i].from;
		s[len++] = s[i];
	}
	return len;
}

/* Draws runs of the steps [from, to) between two blocks that are certain, which would stand for them otherwise, until `least` are
 * drawn, or all of them. */
static void draw_runs(struct step *s, size_t from, size_t to, size_t least)
{
	for (;;) {
		size_t best = to, drawn = 0;

		for (size_t i = from; i < to; i++)
			if (s[i].is_drawn)
				drawn++;
			else if (best == to || aif_mix64(s[i].number) < aif_mix64(s[best].number))
				best = i;
		if (drawn >= least || best == to)
			return;
		for (size_t i = best; i < to && i < best + AIF_KEPT_RUN; i++)
			s[i].is_drawn = true;
	}
}

static void draw(struct step *s, size_t n, uint32_t every, size_t least)
{
	size_t from = 0;

	for (size_t i = 0; i < n; i++)
		s[i].is_drawn = aif_kept_is_drawn(s[i].number, every) && !s[i].is_certain;
	for (size_t i = 0; i < n; i++) {
		bool has_pause = i && s[i].from > s[i - 1].to;

		if (!has_pause && !s[i].is_certain)
			continue;
		draw_runs(s, from, i, least);
		from = i + s[i].is_certain;
	}
	draw_runs(s, from, n, least);
}

/* Makes the blocks of a process of its steps, n of one thread's. */
static int add_process(struct aif_kept_steps *k, const struct aif_profile *p, struct step *s,
		       size_t n, uint32_t every, size_t least)
{
	struct aif_kept_process *to = &k->processes[p->threads[s->thread].process];
	uint64_t at = p->start_ns, median = 0;
	int r = find_slow(s, n, &median);

	n = r ? 0 : follow_on(s, n, p->start_ns, median);
	for (size_t i = 0; i < n; i++)
		s[i].is_certain = s[i].is_slow || i < AIF_KEPT_FIRST;
	draw(s, n, every, least);
	k->with_steps++;
	to->thread = s->thread;
	to->steps = calloc(n + 1, sizeof(*to->steps));
	if (!to->steps)
		r = -ENOMEM;
	for (size_t i = 0; i < n && !r; i++) {
		to->steps[to->steps_len++] = (struct aif_kept_turn){s[i].from, s[i].to};
		k->steps++;
		k->first += i < AIF_KEPT_FIRST;
		k->slow += s[i].is_slow && i >= AIF_KEPT_FIRST;
		k->by_lot += s[i].is_drawn;
		r = add_block(to, at, s[i].from, true, true);
		if (!r)
			r = add_block(to, s[i].from, s[i].to, s[i].is_certain || s[i].is_drawn,
				      s[i].is_certain);
		if (!r)
			to->blocks[to->len - 1].steps++;
		at = s[i].to;
	}
	return r ? r : add_block(to, at, UINT64_MAX, true, true);
}

/* Finds the thread of each process that has the most steps. */
static void find_threads(const struct finding *f, size_t *first, size_t *count)
{
	for (size_t from = 0, to; from < f->len; from = to) {
		uint32_t process = f->p->threads[f->steps[from].thread].process;

		for (to = from; to < f->len && f->steps[to].thread == f->steps[from].thread; to++)
			;
		if (process != AIF_NONE && to - from > count[process]) {
			first[process] = from;
			count[process] = to - from;
		}
	}
}

/* Takes the turns of the loop for steps, where no step is marked and all launches are there. 0 or -errno. */
static int take_turns(struct finding *f, struct aif_kept_steps *ret)
{
	const struct aif_exec_timeline *t;
	struct aif_phases x = {.from = AIF_PHASES_UNKNOWN};
	int r = aif_exec_timeline_get(f->p, NULL, &t);

	if (!r)
		r = aif_phases_find(f->p, NULL, t, &x);
	aif_facts_put(t);
	/* Turns that have the times of their device work say nothing of when they were launched. */
	if (!r && x.from == AIF_PHASES_TURNS && x.thread != AIF_NONE && !x.is_queued &&
	    !x.is_sparse && x.len) {
		f->steps = calloc(x.len, sizeof(*f->steps));
		ret->turns = calloc(x.len, sizeof(*ret->turns));
		r = f->steps && ret->turns ? 0 : -ENOMEM;
	}
	for (size_t i = 0; f->steps && ret->turns && i < x.len; i++) {
		const struct aif_loop_step *s = &x.steps[i];

		if (s->start < 0 || s->end <= s->start)
			continue;
		ret->turns[ret->turns_len] = (struct aif_kept_turn){
			f->p->start_ns + (uint64_t)s->start, f->p->start_ns + (uint64_t)s->end};
		f->steps[f->len] = (struct step){.from = ret->turns[ret->turns_len].from,
						 .to = ret->turns[ret->turns_len].to,
						 .number = f->len,
						 .thread = x.thread};
		f->len++;
		ret->turns_len++;
	}
	ret->turns_thread = x.thread;
	aif_phases_finish(&x);
	return r;
}

int aif_kept_steps_find(const struct aif_profile *p, uint32_t every, const size_t *least,
			struct aif_kept_steps *ret)
{
	struct finding f = {.p = p};
	size_t *first = calloc(p->processes_len + 1, sizeof(*first)),
	       *count = calloc(p->processes_len + 1, sizeof(*count));
	int r = aif_step_names_init(&f.names, p);

	*ret = (struct aif_kept_steps){
		.processes_len = p->processes_len,
		.processes = calloc(p->processes_len + 1, sizeof(*ret->processes))};
	if (!r && (!first || !count || !ret->processes))
		r = -ENOMEM;
	if (!r)
		r = aif_profile_ops(p, see, &f, NULL);
	if (!r)
		r = aif_profile_ops(p, take, &f, NULL);
	if (!r && !f.len)
		r = take_turns(&f, ret);
	if (!r && f.len)
		qsort(f.steps, f.len, sizeof(*f.steps), by_thread_and_time);
	if (!r)
		find_threads(&f, first, count);
	for (size_t i = 0; i < p->processes_len && !r; i++)
		if (count[i])
			r = add_process(ret, p, &f.steps[first[i]], count[i], every,
					least ? AIF_MAX(least[i], (size_t)1) : 1);
	aif_step_names_finish(&f.names);
	free(f.steps);
	free(first);
	free(count);
	return r;
}

void aif_kept_steps_finish(struct aif_kept_steps *k)
{
	for (size_t i = 0; i < k->processes_len && k->processes; i++) {
		free(k->processes[i].blocks);
		free(k->processes[i].steps);
	}
	free(k->processes);
	free(k->turns);
	*k = (struct aif_kept_steps){.processes = NULL};
}

const struct aif_kept_block *aif_kept_steps_at(const struct aif_kept_steps *k, uint32_t process,
					       uint64_t at)
{
	const struct aif_kept_process *of =
		process < k->processes_len ? &k->processes[process] : NULL;
	size_t i;

	if (!of || !of->len)
		return NULL;
	i = AIF_BISECT(mid, 0, of->len, of->blocks[mid].to <= at);
	return &of->blocks[AIF_MIN(i, of->len - 1)];
}
