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

/* What the step from a cycle to the next of the same thread adds to a variance (weights.h). */
static double step(const struct aif_weights_cycle *c, double x, double next)
{
	double n = AIF_MAX(c[0].launches, 1.0), m = AIF_MAX(c[1].launches, 1.0),
	       rest = 1 - (c[0].captured + c[1].captured) / (n + m), d = x / n - next / m;

	return rest * d * d * n * m / 2;
}

/* Of one group, whose cycles are sums[0..n). Cycles that are not there had nothing of it. */
static double variance(const struct aif_weights_cycle *cycles, size_t cycles_len,
		       const struct aif_cycle_sum *sums, size_t n)
{
	double var = 0;

	for (size_t i = 0; i < n; i++) {
		const struct aif_weights_cycle *c = &cycles[sums[i].cycle];
		bool has_before = c > cycles && c[-1].thread == c->thread,
		     has_after = c + 1 < cycles + cycles_len && c[1].thread == c->thread,
		     before_is_ours = i && sums[i - 1].cycle + 1 == sums[i].cycle,
		     after_is_ours = i + 1 < n && sums[i + 1].cycle == sums[i].cycle + 1;

		if (has_before && !before_is_ours)
			var += step(c - 1, 0, sums[i].ns);
		if (has_after)
			var += step(c, sums[i].ns, after_is_ours ? sums[i + 1].ns : 0);
		if (!has_before && !has_after) /* nothing to compare with: nothing is known */
			var += sums[i].ns * sums[i].ns;
	}
	return var;
}

static void estimate_errors(struct aif_attribution_work *w)
{
	size_t len;
	const struct aif_weights_cycle *cycles = aif_weights_cycles(w->weights, &len);

	if (w->cycle_sums_len)
		qsort(w->cycle_sums, w->cycle_sums_len, sizeof(*w->cycle_sums), by_group);
	for (size_t i = 0, j; i < w->cycle_sums_len; i = j) {
		double var;

		for (j = i;
		     j < w->cycle_sums_len && w->cycle_sums[j].group == w->cycle_sums[i].group;)
			j++;
		var = variance(cycles, len, w->cycle_sums + i, j - i);
		w->groups[w->cycle_sums[i].group].error = var < 1e36 ? (uint64_t)sqrt(var) : 0;
	}
}

void aif_attribution_settle(struct aif_attribution_work *w)
{
	struct aif_conservation *c = &w->c;
	aif_fraction more = w->more_kernel + w->more_copy,
		     room = (aif_fraction)c->idle_ns << AIF_FRACTION_BITS;
	double fits = more > room ? (double)room / (double)more : 1;
	uint64_t kernel, copy;

	if (!more)
		return;
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
	estimate_errors(w);
}
