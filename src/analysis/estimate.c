/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/estimate.h"

#include <errno.h>
#include <math.h>

/* The variance of what a sum has in one pool (weights.h). `sums`: where it has anything, by cycle. */
static double pool_variance(const struct aif_weights_cycle *pool, size_t first,
			    const struct aif_estimate_part *sums, size_t n)
{
	double weight = (double)pool->weight / AIF_WEIGHT_ONE, whole = 0, captured = 0, before = 0,
	       squares = 0;
	size_t m = pool->pool_len, at = 0;

	for (size_t i = 0; i < n; i++)
		whole += sums[i].whole / weight;
	if (m < 2) /* nothing to compare with: nothing is known */
		return whole * whole * weight * (weight - 1);
	for (size_t i = 0; i < m; i++)
		captured += pool[i].captured;
	for (size_t i = 0; i < m; i++) {
		bool is_there = at < n && sums[at].cycle == first + i;
		double here = (is_there ? sums[at++].whole / weight : 0) -
			      pool[i].captured * whole / AIF_MAX(captured, 1.0);

		if (i)
			squares += (here - before) * (here - before);
		before = here;
	}
	return weight * (weight - 1) * (double)m / (double)(m - 1) * squares / 2;
}

double aif_estimate_variance(const struct aif_weights *w, const struct aif_estimate_part *parts,
			     size_t n)
{
	size_t len;
	const struct aif_weights_cycle *cycles = aif_weights_cycles(w, &len);
	double var = 0;

	for (size_t i = 0, j; i < n; i = j) {
		size_t first = cycles[parts[i].cycle].pool;

		for (j = i; j < n && cycles[parts[j].cycle].pool == first;)
			j++;
		var += pool_variance(&cycles[first], first, parts + i, j - i);
	}
	return var;
}

static int by_cycle(const void *a, const void *b)
{
	const struct aif_estimate_part *x = a, *y = b;

	return AIF_ORDER(x->cycle, y->cycle);
}

/* Puts the parts in order, a cycle once. */
static void merge(struct aif_estimate *e)
{
	size_t n = 0;

	if (e->len)
		qsort(e->parts, e->len, sizeof(*e->parts), by_cycle);
	for (size_t i = 0; i < e->len; i++)
		if (n && e->parts[n - 1].cycle == e->parts[i].cycle)
			e->parts[n - 1].whole += e->parts[i].whole;
		else
			e->parts[n++] = e->parts[i];
	e->len = n;
}

int aif_estimate_add(struct aif_estimate *e, const struct aif_weights *w, uint32_t cycle,
		     double amount)
{
	double weight = aif_weights_factor(w, cycle);

	e->seen += amount;
	e->whole += amount * weight;
	if (cycle == AIF_NONE || weight <= 1)
		return 0;
	if (e->len && e->parts[e->len - 1].cycle == cycle) {
		e->parts[e->len - 1].whole += amount * weight;
		return 0;
	}
	if (e->len == e->cap) {
		merge(e);
		/* Half of it is free again, or it grows: merging costs little for each amount. */
		if (e->len >= e->cap / 2 &&
		    aif_grow(&e->parts, &e->cap, e->cap + 1, sizeof(*e->parts)) < 0)
			return -ENOMEM;
	}
	e->parts[e->len++] = (struct aif_estimate_part){cycle, amount * weight};
	return 0;
}

double aif_estimate_error(struct aif_estimate *e, const struct aif_weights *w)
{
	double var;

	merge(e);
	var = aif_estimate_variance(w, e->parts, e->len);
	return var > 0 && var < 1e36 ? sqrt(var) : 0;
}

void aif_estimate_finish(struct aif_estimate *e)
{
	free(e->parts);
	*e = (struct aif_estimate){0};
}
