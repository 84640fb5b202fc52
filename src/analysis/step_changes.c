/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/step_changes.h"

#include "analysis/utilization.h"
#include "base/map.h"
#include "base/sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct finding {
	const struct aif_profile *p;
	const struct aif_selection *sel;
	struct aif_step_sum_row *rows; /* by thread, place and first step */
	size_t len, cap;
	struct aif_step_changes *to;
	double step_ns; /* mean length of the thread's steps */
	uint64_t last;  /* number of its last step */
};

static int take(void *arg, const struct aif_step_sum_row *rows, size_t n)
{
	struct finding *f = arg;

	for (size_t i = 0; i < n; i++) {
		const struct aif_step_sum_row *r = &rows[i];

		if (r->thread == AIF_NONE || !r->first || !r->steps || r->end < r->start)
			continue;
		if (aif_grow(&f->rows, &f->cap, f->len + 1, sizeof(*r)) < 0)
			return -ENOMEM;
		f->rows[f->len++] = *r;
	}
	return 0;
}

static int compare_places(const struct aif_step_sum_row *x, const struct aif_step_sum_row *y)
{
	const uint32_t keys[][2] = {{x->thread, y->thread}, {x->sum, y->sum},
				    {x->device, y->device}, {x->stack, y->stack},
				    {x->kind, y->kind},     {x->kernel, y->kernel}};

	for (size_t i = 0; i < AIF_ARRAY_LEN(keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct aif_step_sum_row *x = a, *y = b;
	int c = compare_places(x, y);

	/* Puts the longer one of two that begin with the same step first: it is around the other. */
	return c                      ? c
	       : x->first != y->first ? (x->first < y->first ? -1 : 1)
	       : x->end != y->end     ? (x->end > y->end ? -1 : 1)
				      : 0;
}

static double mean(const struct aif_step_sum_row *r)
{
	return (double)r->ns / r->steps;
}

/* Says whether a row differs from what is usual: 1 it is longer, -1 it is shorter, 0 it does not. */
static int differs(const struct finding *f, const struct aif_step_sum_row *r,
		   const struct aif_step_sum_row *usual)
{
	double off = mean(r) - mean(usual), d = (double)r->deviation, u = (double)usual->deviation,
	       error = sqrt(d * d / r->steps + u * u / usual->steps);

	if (off == 0 || fabs(off) < AIF_STEP_CHANGE * f->step_ns || fabs(off) < 3 * error)
		return 0;
	return off > 0 ? 1 : -1;
}

static bool is_chosen(const struct finding *f, const struct aif_step_change *c)
{
	uint64_t start = f->p->start_ns, from = c->start - AIF_MIN(c->start, start),
		 to = c->end - AIF_MIN(c->end, start);

	return !f->sel || (aif_selection_keeps(f->sel->processes, c->process) &&
			   aif_selection_keeps(f->sel->threads, c->thread) &&
			   aif_selection_keeps(f->sel->devices, c->of.device) &&
			   to >= f->sel->from_ns && (!f->sel->to_ns || from < f->sel->to_ns));
}

static bool communicates(const struct finding *f, const struct aif_step_sum_row *of)
{
	return of->sum == AIF_STEP_SUM_WORK && of->kernel != AIF_NONE &&
	       aif_work_class_of(aif_profile_str(f->p, f->p->kernels[of->kernel].name)) ==
		       AIF_WORK_COMMUNICATION;
}

/* Starts a change with its first row. */
static struct aif_step_change begin(const struct finding *f, const struct aif_step_sum_row *first,
				    const struct aif_step_sum_row *usual)
{
	return (struct aif_step_change){.process = f->p->threads[first->thread].process,
					.thread = first->thread,
					.of = *first,
					.first = first->first,
					.start = first->start,
					.usual_ns = mean(usual),
					.step_ns = f->step_ns,
					.is_early = first->first < usual->first,
					.is_communication = communicates(f, first)};
}

/* Adds the steps of a row to a change, whose .ns is that of all until it is ended. */
static void join(struct aif_step_change *c, const struct aif_step_sum_row *r)
{
	c->end = AIF_MAX(c->end, r->end);
	c->steps += AIF_MIN(r->steps, UINT32_MAX - c->steps);
	c->ns += (double)r->ns;
}

/* Ends a change, and adds it if it is chosen. 0 or -ENOMEM. */
static int end(struct finding *f, struct aif_step_change c, uint64_t last)
{
	c.last = (uint32_t)AIF_MIN(last, (uint64_t)UINT32_MAX);
	c.total_ns = c.ns - c.usual_ns * c.steps;
	c.ns /= c.steps;
	c.goes_on = last >= f->last;
	/* Before a process's first execution nobody knows since when its device was idle. */
	if (!is_chosen(f, &c) || (c.of.sum == AIF_STEP_SUM_IDLE && last == 1 && c.total_ns < 0))
		return 0;
	if (aif_grow(&f->to->at, &f->to->cap, f->to->len + 1, sizeof(c)) < 0)
		return -ENOMEM;
	f->to->at[f->to->len++] = c;
	return 0;
}

static uint64_t last_of(const struct aif_step_sum_row *r)
{
	return (uint64_t)r->first + r->steps - 1;
}

/* Returns what is usual of a place's rows [from, to). */
static const struct aif_step_sum_row *usual_of(const struct finding *f, size_t from, size_t to)
{
	const struct aif_step_sum_row *best = &f->rows[from];
	uint64_t steps = 0;

	for (size_t i = from; i < to; i++)
		steps += f->rows[i].steps;
	for (size_t i = from; i < to; i++) {
		if (f->rows[i].steps >= steps / 10 + 1)
			return &f->rows[i];
		if (f->rows[i].steps > best->steps)
			best = &f->rows[i];
	}
	return best;
}

/* Finds the change that the place's row `from` begins, up to its row *ret_next, which is not of it: at `to` if none is. */
static int find_change(struct finding *f, size_t from, size_t to, int how,
		       const struct aif_step_sum_row *usual, size_t *ret_next)
{
	struct aif_step_change c = begin(f, &f->rows[from], usual);
	uint64_t last = last_of(&f->rows[from]);
	size_t i = from + 1;
	int e = 0;

	join(&c, &f->rows[from]);
	for (; i < to && !e; i++) {
		const struct aif_step_sum_row *r = &f->rows[i];
		int is = differs(f, r, usual);

		/* A row within the one before is odd: its steps have numbers that the row around it does not count. */
		if (r->end <= c.end) {
			last += r->steps;
			if (is == how)
				join(&c, r);
			else if (is) {
				struct aif_step_change odd = begin(f, r, usual);

				join(&odd, r);
				e = end(f, odd, last_of(r));
			}
			continue;
		}
		/* Odd rows far from each other, within one that is usual, are not one behind the other. */
		if (is != how || r->first > last + 1)
			break;
		join(&c, r);
		last = AIF_MAX(last, last_of(r));
	}
	*ret_next = i;
	return e ? e : end(f, c, last);
}

/* Finds the changes of a place, which has the rows [from, to). */
static int find_place(struct finding *f, size_t from, size_t to)
{
	const struct aif_step_sum_row *usual = usual_of(f, from, to);
	int e = 0;

	for (size_t i = from, next; i < to && !e; i = next) {
		int how = differs(f, &f->rows[i], usual);

		next = i + 1;
		if (how)
			e = find_change(f, i, to, how, usual, &next);
	}
	return e;
}

/* Measures the steps that a thread's rows [from, to) are of. */
static void measure_steps(struct finding *f, size_t from, size_t to)
{
	uint64_t start = UINT64_MAX, end = 0, last = 0;

	f->last = 1;
	for (size_t i = from; i < to; i++) {
		const struct aif_step_sum_row *r = &f->rows[i];

		/* All rows of a place add up to all steps, odd ones within others too. */
		last = i > from && !compare_places(r - 1, r) ? last + r->steps : last_of(r);
		start = AIF_MIN(start, r->start);
		end = AIF_MAX(end, r->end);
		f->last = AIF_MAX(f->last, AIF_MAX(last, last_of(r)));
	}
	f->step_ns = (double)(end - start) / (double)f->last;
}

static int find_thread(struct finding *f, size_t from, size_t to)
{
	int e = 0;

	measure_steps(f, from, to);
	for (size_t i = from, next; i < to && !e; i = next) {
		for (next = i + 1; next < to && !compare_places(&f->rows[i], &f->rows[next]);
		     next++)
			;
		e = find_place(f, i, next);
	}
	return e;
}

/* ---- all of them ---------------------------------------------------------------------------------- */

static uint64_t key_of(const struct aif_step_change *c)
{
	return aif_mix64((uint64_t)c->of.stack << 32 | c->of.kernel) ^
	       aif_mix64((uint64_t)c->of.sum << 1 | (c->total_ns > 0));
}

/* Sets *ret_is_new if a key is not in a set, and adds it. 0 or -ENOMEM. */
static int note(struct aif_map *set, uint64_t key, bool *ret_is_new)
{
	uint64_t value;

	*ret_is_new = !aif_map_get(set, key, &value);
	return *ret_is_new ? aif_map_put(set, key, 1) : 0;
}

/* Counts the processes that have a change of the same place. */
static int count_peers(struct aif_step_changes *c)
{
	struct aif_map seen = {0}, counts = {0};
	uint64_t n;
	int e = 0;

	for (size_t i = 0; i < c->len && !e; i++) {
		uint64_t key = key_of(&c->at[i]);
		bool is_new;

		e = note(&seen, aif_mix64(key) ^ aif_mix64(c->at[i].process + UINT64_C(1)),
			 &is_new);
		if (e || !is_new)
			continue;
		n = 0;
		aif_map_get(&counts, key, &n);
		e = aif_map_put(&counts, key, n + 1);
	}
	for (size_t i = 0; i < c->len && !e; i++)
		if (aif_map_get(&counts, key_of(&c->at[i]), &n))
			c->at[i].peers = (uint32_t)n;
	aif_map_finish(&seen);
	aif_map_finish(&counts);
	return e;
}

static int by_total(const void *a, const void *b)
{
	const struct aif_step_change *x = a, *y = b;
	double of = fabs(x->total_ns), more = fabs(y->total_ns);

	return AIF_ORDER(more, of) ?: AIF_ORDER(x->thread, y->thread)
	       ?: AIF_ORDER(x->first, y->first);
}

int aif_step_changes_find(const struct aif_profile *p, const struct aif_selection *sel,
			  struct aif_step_changes *ret)
{
	struct finding f = {.p = p, .sel = sel, .to = ret};
	struct aif_map processes = {0};
	int e;

	*ret = (struct aif_step_changes){.at = NULL};
	e = aif_profile_step_sums(p, take, &f, &ret->damaged);
	if (!e && f.len)
		aif_sort(f.rows, f.len, sizeof(*f.rows), by_place);
	for (size_t i = 0, next; i < f.len && !e; i = next) {
		uint32_t process = p->threads[f.rows[i].thread].process;
		bool is_new = false;

		for (next = i + 1; next < f.len && f.rows[next].thread == f.rows[i].thread; next++)
			;
		if (process != AIF_NONE) {
			e = note(&processes, process, &is_new);
			e = e ? e : find_thread(&f, i, next);
		}
		ret->processes += is_new;
	}
	aif_map_finish(&processes);
	if (!e)
		e = count_peers(ret);
	if (!e && ret->len)
		aif_sort(ret->at, ret->len, sizeof(*ret->at), by_total);
	free(f.rows);
	return e;
}

void aif_step_changes_finish(struct aif_step_changes *c)
{
	free(c->at);
	*c = (struct aif_step_changes){.at = NULL};
}

/* True if a change is not what becomes of another rank's: ranks that wait for one all change alike. */
static bool is_own(const struct aif_step_changes *c, const struct aif_step_change *x)
{
	return !x->is_communication &&
	       (x->of.sum != AIF_STEP_SUM_IDLE || c->processes < 3 || 2 * x->peers < c->processes);
}

const struct aif_step_change *aif_step_changes_worst(const struct aif_step_changes *c)
{
	const struct aif_step_change *best[AIF_STEP_SUM_KIND_COUNT] = {NULL}, *work, *all, *idle;

	for (size_t i = 0; i < c->len; i++) {
		const struct aif_step_change *x = &c->at[i];

		if (x->total_ns > 0 && !x->is_early && is_own(c, x) && x->of.sum &&
		    x->of.sum < AIF_STEP_SUM_KIND_COUNT && !best[x->of.sum])
			best[x->of.sum] = x;
	}
	work = best[AIF_STEP_SUM_WORK];
	all = best[AIF_STEP_SUM_COMPUTE];
	idle = best[AIF_STEP_SUM_IDLE];
	/* Names one kernel if it has most of what all kernels took longer. */
	if (!work || (all && all->total_ns > 2 * work->total_ns))
		work = all;
	/* A device that waits for another one's kernel is idle as long as that takes longer. */
	return work && (!idle || 2 * work->total_ns >= idle->total_ns) ? work : idle;
}
