/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/attribution_internal.h"

#include <errno.h>
#include <math.h>

static int add_to_cycle(struct aif_attribution_work *w, uint32_t group, uint32_t cycle, uint64_t ns)
{
	uint64_t key = (uint64_t)group << 32 | cycle, i;

	if (!aif_map_get(&w->in_cycle, key, &i)) {
		i = w->cycle_sums_len;
		if (aif_grow(&w->cycle_sums, &w->cycle_sums_cap, i + 1, sizeof(*w->cycle_sums)) <
			    0 ||
		    aif_map_put(&w->in_cycle, key, i) < 0)
			return -ENOMEM;
		w->cycle_sums[w->cycle_sums_len++] =
			(struct aif_cycle_sum){.group = group, .cycle = cycle};
	}
	w->cycle_sums[i].ns += (double)ns;
	return 0;
}

static uint64_t times(uint64_t n, uint64_t weight)
{
	return (uint64_t)(((unsigned __int128)n * weight + AIF_WEIGHT_ONE - 1) / AIF_WEIGHT_ONE);
}

int aif_attribution_weigh(struct aif_attribution_work *w, struct aif_run *run, uint32_t thread,
			  uint64_t time, uint64_t bytes)
{
	const struct aif_weights_cycle *c = aif_weights_at(w->weights, thread, time);
	struct aif_group *g = &w->groups[run->group];
	uint64_t ns = run->end - run->start, weighted;
	size_t n;

	run->weight = c ? c->weight : AIF_WEIGHT_ONE;
	/* No recording is years long: these weights are nonsense, and sums must not wrap. */
	if (ns > (UINT64_C(1) << 42) || w->c.durations_ns > (UINT64_C(1) << 62) ||
	    bytes > (UINT64_C(1) << 42) || g->bytes > (UINT64_C(1) << 62))
		run->weight = AIF_WEIGHT_ONE;
	weighted = times(ns, run->weight);
	g->time += weighted;
	g->seen += ns;
	g->executions++;
	g->launches += run->weight;
	g->bytes += times(bytes, run->weight);
	w->c.durations_ns += weighted;
	if (!c || run->weight == AIF_WEIGHT_ONE)
		return 0;
	g->sampled = true;
	return add_to_cycle(w, run->group, (uint32_t)(c - aif_weights_cycles(w->weights, &n)),
			    weighted);
}

static int by_group(const void *a, const void *b)
{
	const struct aif_cycle_sum *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->cycle < y->cycle ? -1 : x->cycle > y->cycle;
}

/* The variance of what a group has in one pool (weights.h). `sums`: where it has anything, by cycle. */
static double pool_variance(const struct aif_weights_cycle *pool, size_t first,
			    const struct aif_cycle_sum *sums, size_t n)
{
	double weight = (double)pool->weight / AIF_WEIGHT_ONE, whole = 0, captured = 0, before = 0,
	       squares = 0;
	size_t m = pool->pool_len, at = 0;

	for (size_t i = 0; i < n; i++)
		whole += sums[i].ns / weight;
	if (m < 2) /* nothing to compare with: nothing is known */
		return whole * whole * weight * (weight - 1);
	for (size_t i = 0; i < m; i++)
		captured += pool[i].captured;
	for (size_t i = 0; i < m; i++) {
		bool is_there = at < n && sums[at].cycle == first + i;
		double here = (is_there ? sums[at++].ns / weight : 0) -
			      pool[i].captured * whole / AIF_MAX(captured, 1.0);

		if (i)
			squares += (here - before) * (here - before);
		before = here;
	}
	return weight * (weight - 1) * (double)m / (double)(m - 1) * squares / 2;
}

/* sums[0..n): of one group. */
static double variance(const struct aif_weights_cycle *cycles, const struct aif_cycle_sum *sums,
		       size_t n)
{
	double var = 0;

	for (size_t i = 0, j; i < n; i = j) {
		size_t first = cycles[sums[i].cycle].pool;

		for (j = i; j < n && cycles[sums[j].cycle].pool == first;)
			j++;
		var += pool_variance(&cycles[first], first, sums + i, j - i);
	}
	return var;
}

/* What each process launched while it was not captured, beside what was. */
struct unseen {
	double *left_out, *off_ns, *executions; /* one piece of memory */
};

static int find_unseen(const struct aif_attribution_work *w, struct unseen *ret)
{
	size_t n = w->p->processes_len + 1;
	uint64_t start = w->p->start_ns;

	ret->left_out = calloc(3 * n, sizeof(*ret->left_out));
	if (!ret->left_out)
		return -ENOMEM;
	ret->off_ns = ret->left_out + n;
	ret->executions = ret->off_ns + n;
	aif_weights_left_out(w->weights, start + w->from, start + w->to, ret->left_out,
			     ret->off_ns);
	for (size_t i = 0; i < w->groups_len; i++)
		if (w->groups[i].process != AIF_NONE)
			ret->executions[w->groups[i].process] += (double)w->groups[i].executions;
	return 0;
}

static int estimate_errors(struct aif_attribution_work *w)
{
	size_t len;
	const struct aif_weights_cycle *cycles = aif_weights_cycles(w->weights, &len);
	double *var = calloc(w->groups_len + 1, sizeof(*var));
	struct unseen u;

	if (!var || find_unseen(w, &u) < 0) {
		free(var);
		return -ENOMEM;
	}
	if (w->cycle_sums_len)
		qsort(w->cycle_sums, w->cycle_sums_len, sizeof(*w->cycle_sums), by_group);
	for (size_t i = 0, j; i < w->cycle_sums_len; i = j) {
		for (j = i;
		     j < w->cycle_sums_len && w->cycle_sums[j].group == w->cycle_sums[i].group;)
			j++;
		var[w->cycle_sums[i].group] = variance(cycles, w->cycle_sums + i, j - i);
	}
	for (size_t i = 0; i < w->groups_len; i++) {
		struct aif_group *g = &w->groups[i];
		uint32_t process = g->process;

		if (process != AIF_NONE && u.left_out[process] > 0 && g->executions) {
			double one = (double)g->seen / (double)g->executions,
			       more = AIF_MIN(u.left_out[process] / u.executions[process] * one,
					      u.off_ns[process]);

			var[i] += more * more;
			g->sampled = true;
		}
		g->error = var[i] > 0 && var[i] < 1e36 ? (uint64_t)ceil(sqrt(var[i])) : 0;
	}
	free(u.left_out);
	free(var);
	return 0;
}

struct stream_time {
	double seen, more;
};

/* A queue in order runs one thing at a time: what is estimated of it fits in the time in which nothing of it was
 * seen to run, and so does what is not known of that. Not by cycle: what is launched in one may run long
 * after it. */
static int fit_streams(struct aif_attribution_work *w)
{
	const struct aif_profile *p = w->p;
	struct stream_time *times = calloc(p->streams_len + 1, sizeof(*times));

	if (!times)
		return -ENOMEM;
	for (size_t i = 0; i < w->groups_len; i++) {
		const struct aif_group *g = &w->groups[i];

		if (g->stream != AIF_NONE) {
			times[g->stream].seen += (double)g->seen;
			times[g->stream].more += (double)(g->time - g->seen);
		}
	}
	for (size_t i = 0; i < w->groups_len; i++) {
		struct aif_group *g = &w->groups[i];
		const struct stream_time *t = g->stream == AIF_NONE ? NULL : &times[g->stream];
		double room;
		uint64_t more;

		if (!t || p->streams[g->stream].out_of_order)
			continue;
		room = AIF_MAX((double)(w->to - w->from) - t->seen, 0);
		g->error = (uint64_t)AIF_MIN((double)g->error, room);
		if (t->more <= room)
			continue;
		more = (uint64_t)((double)(g->time - g->seen) * room / t->more);
		w->c.durations_ns -= g->time - g->seen - more;
		g->time = g->seen + more;
	}
	free(times);
	return 0;
}

int aif_attribution_settle(struct aif_attribution_work *w)
{
	struct aif_conservation *c = &w->c;
	aif_fraction more = w->more_kernel + w->more_copy,
		     room = (aif_fraction)c->idle_ns << AIF_FRACTION_BITS;
	double fits = more > room ? (double)room / (double)more : 1;
	uint64_t kernel, copy;
	int r;

	if (!w->weights)
		return 0;
	r = estimate_errors(w);
	if (!r)
		r = fit_streams(w);
	if (r < 0 || !more)
		return r;
	for (size_t g = 0; g < w->groups_len; g++)
		w->groups[g].wall += (aif_fraction)((double)w->groups[g].more_wall * fits);
	kernel = (uint64_t)((aif_fraction)((double)w->more_kernel * fits) >> AIF_FRACTION_BITS);
	copy = (uint64_t)((aif_fraction)((double)w->more_copy * fits) >> AIF_FRACTION_BITS);
	kernel = AIF_MIN(kernel, c->idle_ns);
	copy = AIF_MIN(copy, c->idle_ns - kernel);
	c->busy_kernel_ns += kernel;
	c->busy_copy_ns += copy;
	c->busy_ns += kernel + copy;
	c->idle_ns -= kernel + copy;
	c->durations_ns = AIF_MAX(c->durations_ns, c->busy_ns);
	c->overlap_ns = c->durations_ns - c->busy_ns;
	return 0;
}
