/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/calibrate.h"

#include "analysis/cpu_totals.h"
#include "analysis/time.h"
#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A gap in which launches were left out: [from, mid) is idle for certain, of [mid, to) nothing is known. */
struct cut {
	int64_t from, mid, to;
	uint32_t thread; /* which launched what ran before it */
};

struct calibrating {
	struct aif_idle_blaming *b;
	const struct aif_device_utilization *d;
	uint32_t device;
	bool *launches; /* by thread */
	struct cut *cuts;
	size_t cuts_len, cuts_cap;
	/* Times of threads that launch, by stack: all; the parts in which the device's state is known, and in which it was idle for
	 * them, with all further in. */
	double *all, *known, *idle;
	double *share; /* amounts of the blame's shares */
	double *rate;  /* idle part of times */
	double *factor;
	uint8_t *cause;    /* of what the thread did there */
	uint32_t *bracket; /* one of those with shares there, or further in; AIF_NONE: none */
	uint32_t any_bracket;
};

/* ---- what is known of moments ---------------------------------------------------------------- */

/* Returns the first time from `at` on in which nothing was collected. */
static int64_t next_uncollected(const struct aif_spans *s, int64_t at)
{
	size_t lo = AIF_BISECT(mid, 0, s->len, s->at[mid].end <= at);

	return lo < s->len ? AIF_MAX(at, s->at[lo].start) : INT64_MAX;
}

static int find_cuts(struct calibrating *c, const struct aif_utilization *u)
{
	const struct aif_exec_timeline *t = c->b->t;
	int64_t end = t->execs[u->order[c->d->first]].end;
	uint32_t thread = AIF_NONE;

	for (size_t i = c->d->first; i < c->d->end; i++) {
		const struct aif_timeline_exec *x = &t->execs[u->order[i]];

		if (x->start > end && aif_utilization_gap(t, c->d, end, x).is_cut) {
			if (aif_grow(&c->cuts, &c->cuts_cap, c->cuts_len + 1, sizeof(*c->cuts)) < 0)
				return -ENOMEM;
			c->cuts[c->cuts_len++] = (struct cut){
				.from = end,
				.mid = AIF_MIN(next_uncollected(&c->d->not_collected, end),
					       x->start),
				.to = x->start,
				.thread = thread};
		}
		if (x->end >= end)
			thread = x->launch == AIF_NONE ? AIF_NONE
						       : aif_timeline_thread_of(t, x->launch);
		end = AIF_MAX(end, x->end);
	}
	return 0;
}

static const struct cut *cut_at(const struct calibrating *c, int64_t at)
{
	size_t lo = AIF_BISECT(mid, 0, c->cuts_len, c->cuts[mid].to <= at);

	return lo < c->cuts_len && c->cuts[lo].from <= at ? &c->cuts[lo] : NULL;
}

/* Adds a moment of a row, which stands for `ns`. */
static void moment_add(struct calibrating *c, const struct aif_cpu_row *row, int64_t at, double ns)
{
	uint32_t thread = row->thread, stack = row->stack;
	const struct cut *cut = cut_at(c, at);
	const struct aif_idle_segment *s;
	size_t i;

	if (at < c->d->from || at >= c->d->to || aif_spans_covered(&c->d->paused, at, at + 1))
		return;
	c->all[stack] += ns;
	c->cause[stack] = (uint8_t)aif_idle_cause_of_row(c->b, row);
	/* Another thread may launch next while one sleeps. */
	if (cut && (at >= cut->mid || thread != cut->thread || row->waiting))
		return;
	if (!cut && aif_spans_covered(&c->d->not_collected, at, at + 1))
		return;
	c->known[stack] += ns;
	i = cut ? 0 : aif_idle_first_segment(c->b, thread, at);
	s = !cut && i < c->b->segments_len ? &c->b->segments[i] : NULL;
	if (cut || (s && aif_idle_thread_of(c->b, s) == thread && s->from <= at &&
		    c->b->brackets[s->bracket].device == c->device))
		c->idle[stack] += ns;
}

/* A sleep is looked at so often, at most. */
#define MOMENTS   64
#define MOMENT_NS 1000000

static int take(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct calibrating *c = arg;

	for (size_t i = 0; i < n; i++) {
		const struct aif_cpu_row *r = &rows[i];
		int64_t at = aif_time_clamp((int64_t)(r->time - c->b->p->start_ns));
		uint64_t moments;

		if (r->thread == AIF_NONE || r->stack == AIF_NONE || !c->launches[r->thread])
			continue;
		if (!r->waiting) {
			moment_add(c, r, at, (double)r->weight);
			continue;
		}
		if (!aif_cpu_seen(c->b->p, r->stack) || aif_cpu_is_runnable(c->b->p, r->stack))
			continue;
		moments = r->is_whole ? AIF_CLAMP(r->waiting / MOMENT_NS, 1, MOMENTS) : 1;
		for (uint64_t k = 0; k < moments; k++)
			moment_add(c, r,
				   r->is_whole ? at + (int64_t)(AIF_MIN(r->waiting,
									(uint64_t)AIF_TIME_MAX) /
								moments * k)
					       : at,
				   (double)r->waiting / (double)moments);
	}
	return 0;
}

/* ---- factors --------------------------------------------------------------------------------- */

/* Adds to each stack what is further in. */
static void sum_up(const struct aif_profile *p, double *of)
{
	for (uint32_t i = (uint32_t)p->stacks_len; i-- > 0;)
		if (p->stacks[i].parent != AIF_NONE)
			of[p->stacks[i].parent] += of[i];
}

/* Samples of a stack that count as much as what is known of the stack around it. */
#define PRIOR_SAMPLES 2

/* Finds the idle part of the time of each stack: where less is known than of the stack around it, that one counts, too. */
static void find_rates(struct calibrating *c, double known, double idle)
{
	const struct aif_profile *p = c->b->p;
	double prior = PRIOR_SAMPLES * c->b->period_ns;

	for (uint32_t i = 0; i < p->stacks_len; i++) {
		uint32_t parent = p->stacks[i].parent;
		double around = parent == AIF_NONE ? idle / known : c->rate[parent];
		double known_around = parent == AIF_NONE ? known : c->known[parent];

		c->rate[i] = c->known[i] < known_around
				     ? (c->idle[i] + prior * around) / (c->known[i] + prior)
				     : around;
	}
}

/* Adds a share to a stack that was in no gap that was captured whole, in gaps of the stack around it. */
static int share_new(struct calibrating *c, uint32_t stack, double ns)
{
	const struct aif_profile *p = c->b->p;
	struct aif_idle_blaming *b = c->b;
	uint32_t around = stack, bracket = c->any_bracket;

	while (around != AIF_NONE && c->bracket[around] == AIF_NONE)
		around = p->stacks[around].parent;
	if (around != AIF_NONE)
		bracket = c->bracket[around];
	if (aif_grow(&b->shares, &b->shares_cap, b->shares_len + 1, sizeof(*b->shares)) < 0)
		return -ENOMEM;
	b->shares[b->shares_len++] =
		(struct aif_idle_share){.bracket = bracket,
					.stack = stack,
					.cause = (enum aif_idle_cause)c->cause[stack],
					.ns = ns,
					.on_cpu = c->cause[stack] == AIF_IDLE_CAUSE_CPU ? ns : 0};
	return 0;
}

/* Finds gaps that a stack, or what is further in, was in. */
static void find_brackets(struct calibrating *c)
{
	const struct aif_profile *p = c->b->p;

	memset(c->bracket, 0xff, (p->stacks_len + 1) * sizeof(*c->bracket)); /* AIF_NONE */
	for (size_t i = 0; i < c->b->shares_len; i++) {
		const struct aif_idle_share *s = &c->b->shares[i];

		if (c->b->brackets[s->bracket].device != c->device || s->stack == AIF_NONE)
			continue;
		c->bracket[s->stack] = c->any_bracket = s->bracket;
	}
	for (uint32_t i = (uint32_t)p->stacks_len; i-- > 0;)
		if (p->stacks[i].parent != AIF_NONE && c->bracket[i] != AIF_NONE)
			c->bracket[p->stacks[i].parent] = c->bracket[i];
}

static bool is_look(const struct calibrating *c, uint32_t stack)
{
	return aif_cpu_seen(c->b->p, stack) != NULL;
}

/* Sets *ret: for each frame, the idle time of sleeps that end in it, and what the shares have of them. Most looks have no stack, or
 * one in few gaps: those in the same call are one. -ENOMEM. */
static int sum_sleeps(const struct calibrating *c, double **ret)
{
	const struct aif_profile *p = c->b->p;
	double *of = calloc(2 * p->frames_len + 1, sizeof(*of));

	*ret = of;
	for (uint32_t i = 0; of && i < p->stacks_len; i++) {
		if (!is_look(c, i))
			continue;
		of[2 * (size_t)p->stacks[i].frame] += c->all[i] * c->rate[i];
		of[2 * (size_t)p->stacks[i].frame + 1] += c->share[i];
	}
	return of ? 0 : -ENOMEM;
}

/* Gives each stack its idle time: by a factor of the shares in it, else by a new one. 0 or -ENOMEM. */
static int find_factors(struct calibrating *c)
{
	const struct aif_profile *p = c->b->p;
	double *sleeps;
	int r = sum_sleeps(c, &sleeps);

	find_brackets(c);
	for (uint32_t i = 0; i < p->stacks_len && r == 0; i++) {
		const double *of = is_look(c, i) ? &sleeps[2 * (size_t)p->stacks[i].frame] : NULL;
		double ns = c->all[i] * c->rate[i], share = of ? of[1] : c->share[i];

		c->factor[i] = share > 0 ? (of ? of[0] : ns) / share : 1;
		/* A sleep without a stack has no place where no gap has another one in its call. */
		if (!(share > 0) && ns > 0 && !(of && p->stacks[i].parent == AIF_NONE))
			r = share_new(c, i, ns);
	}
	free(sleeps);
	return r;
}

/* Returns the part of what nothing was seen of in brackets that is left where samples saw too much of others: in sum they say how
 * much the thread computed or slept. */
static double rest_part(const struct calibrating *c)
{
	double idle = 0, seen = 0, rest = 0;

	for (size_t i = 0; i < c->b->brackets_len; i++) {
		const struct aif_idle_bracket *of = &c->b->brackets[i];

		if (of->device != c->device)
			continue;
		idle += of->idle;
		seen += of->seen;
		rest += AIF_MAX(of->idle - of->seen, 0);
	}
	return rest > 0 && idle > seen ? (idle - seen) / rest : 0;
}

/* Multiplies the shares. What nothing was seen of in a bracket stays what it was, as far as that is no chance of samples. */
static void apply(struct calibrating *c)
{
	struct aif_idle_blaming *b = c->b;
	struct aif_idle_bracket *of;
	double part = rest_part(c);

	for (size_t i = 0; i < b->brackets_len; i++) {
		of = &b->brackets[i];
		if (of->device != c->device)
			continue;
		of->idle = part * AIF_MAX(of->idle - of->seen, 0);
		of->seen = of->whole = of->on_cpu = 0;
	}
	for (size_t i = 0; i < b->shares_len; i++) {
		struct aif_idle_share *s = &b->shares[i];
		double factor = s->stack == AIF_NONE ? 1 : c->factor[s->stack];

		of = &b->brackets[s->bracket];
		if (of->device != c->device)
			continue;
		s->ns *= factor;
		s->whole *= factor;
		s->on_cpu *= factor;
		of->idle += s->ns;
		of->seen += s->ns;
		of->whole += s->whole;
		of->on_cpu += s->on_cpu;
	}
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool is_only_device(const struct aif_utilization *u, size_t k)
{
	for (size_t i = 0; i < u->len; i++)
		if (i != k && u->devices[i].process == u->devices[k].process)
			return false;
	return true;
}

/* Samples of which the device's state is known; with fewer nothing is calibrated. */
#define MIN_SAMPLES 20

static int calibrate(struct calibrating *c)
{
	const struct aif_profile *p = c->b->p;
	uint64_t damaged = 0; /* counted already */
	double known = 0, idle = 0, shares = 0;
	int r = aif_profile_cpu(p, take, c, &damaged);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < p->stacks_len; i++) {
		known += c->known[i];
		idle += c->idle[i];
	}
	for (size_t i = 0; i < c->b->shares_len; i++) {
		const struct aif_idle_share *s = &c->b->shares[i];

		if (c->b->brackets[s->bracket].device != c->device || s->stack == AIF_NONE)
			continue;
		c->share[s->stack] += s->ns;
		shares += s->ns;
	}
	if (known < MIN_SAMPLES * c->b->period_ns || !(shares > 0) || !(idle > 0))
		return 0;
	sum_up(p, c->known);
	sum_up(p, c->idle);
	find_rates(c, known, idle);
	r = find_factors(c);
	if (r == 0)
		apply(c);
	return r;
}

static bool is_sampled(const struct aif_idle_blaming *b, uint32_t process)
{
	return process != AIF_NONE && b->is_sampled[process];
}

static bool any_followed(const struct aif_idle_blaming *b)
{
	for (size_t i = 0; i < b->p->threads_len; i++)
		if (b->is_followed[i])
			return true;
	return false;
}

/* Threads of the device's process that launch. */
static void find_launching(struct calibrating *c)
{
	const struct aif_exec_timeline *t = c->b->t;

	for (size_t i = 0; i < t->launches_len; i++) {
		uint32_t thread = aif_timeline_thread_of(t, i);

		if (thread != AIF_NONE && c->b->p->threads[thread].process == c->d->process)
			c->launches[thread] = true;
	}
}

int aif_idle_calibrate(struct aif_idle_blaming *b, const struct aif_utilization *u)
{
	const size_t n = b->p->stacks_len + 1;
	enum { ARRAYS = 6 };
	int r = 0;

	if (!b->t->weights || !b->t->left_out || b->p->traits.is_imported || !(b->period_ns > 0) ||
	    any_followed(b))
		return 0;
	for (size_t k = 0; k < u->len && r == 0; k++) {
		bool is_right = is_only_device(u, k) && is_sampled(b, u->devices[k].process);
		double *of = is_right ? calloc(n * ARRAYS, sizeof(*of)) : NULL;
		struct calibrating c = {.b = b, .d = &u->devices[k], .device = (uint32_t)k};

		if (!is_right)
			continue;
		c.launches = calloc(b->p->threads_len + 1, sizeof(*c.launches));
		c.cause = calloc(n, sizeof(*c.cause));
		c.bracket = malloc(n * sizeof(*c.bracket));
		r = of && c.launches && c.cause && c.bracket ? 0 : -ENOMEM;
		if (r == 0) {
			c.all = of;
			c.known = of + n;
			c.idle = of + 2 * n;
			c.share = of + 3 * n;
			c.rate = of + 4 * n;
			c.factor = of + 5 * n;
			find_launching(&c);
			r = find_cuts(&c, u);
		}
		if (r == 0)
			r = calibrate(&c);
		free(of);
		free(c.launches);
		free(c.cause);
		free(c.bracket);
		free(c.cuts);
	}
	return r;
}
