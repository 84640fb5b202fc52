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

/* One group: what it has in the cycles where it has anything, in their order. */
struct in_cycles {
	const struct aif_weights_cycle *cycles;
	size_t cycles_len;
	const struct aif_cycle_sum *sums;
	size_t n;
};

/* Its time per launch in a cycle. */
static double rate(const struct in_cycles *g, size_t cycle)
{
	size_t lo = 0, hi = g->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (g->sums[mid].cycle < cycle)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < g->n && g->sums[lo].cycle == cycle
		       ? g->sums[lo].ns / AIF_MAX(g->cycles[cycle].launches, 1.0)
		       : 0;
}

/* What the pair of cycles c, c + 1 says of the variance of one launch: NAN where they are no pair. */
static double spread(const struct in_cycles *g, size_t c)
{
	const struct aif_weights_cycle *k = &g->cycles[c];
	double d;

	if (c + 1 >= g->cycles_len || k[0].key != k[1].key)
		return NAN;
	d = rate(g, c) - rate(g, c + 1);
	return d * d / (1 / AIF_MAX(k[0].captured, 1.0) + 1 / AIF_MAX(k[1].captured, 1.0));
}

/* The part of a cycle in the variance of the group's total (weights.h). */
static double cycle_variance(const struct in_cycles *g, size_t c)
{
	const struct aif_weights_cycle *k = &g->cycles[c];
	double before = c ? spread(g, c - 1) : NAN, after = spread(g, c),
	       n = AIF_MAX(k->launches, 1.0), one;

	if (isnan(before) && isnan(after)) /* nothing to compare with: nothing is known */
		return rate(g, c) * rate(g, c) * n * n;
	one = isnan(before) ? after : isnan(after) ? before : (before + after) / 2;
	return (1 - k->captured / n) * n * n / AIF_MAX(k->captured, 1.0) * one;
}

static double variance(const struct in_cycles *g)
{
	double var = 0;

	for (size_t i = 0; i < g->n; i++) {
		size_t c = g->sums[i].cycle;
		bool before_is_ours = i && g->sums[i - 1].cycle + 1 == c,
		     two_before_is_ours = i && g->sums[i - 1].cycle + 2 == c,
		     after_is_ours = i + 1 < g->n && g->sums[i + 1].cycle == c + 1;

		var += cycle_variance(g, c);
		/* Cycles without it tell, too, where they stand beside one with it: each once. */
		if (c && !before_is_ours && !two_before_is_ours &&
		    g->cycles[c - 1].key == g->cycles[c].key)
			var += cycle_variance(g, c - 1);
		if (c + 1 < g->cycles_len && !after_is_ours &&
		    g->cycles[c + 1].key == g->cycles[c].key)
			var += cycle_variance(g, c + 1);
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
		struct in_cycles g = {cycles, len, w->cycle_sums + i, 0};
		double var;

		for (j = i;
		     j < w->cycle_sums_len && w->cycle_sums[j].group == w->cycle_sums[i].group;)
			j++;
		g.n = j - i;
		var = variance(&g);
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
