/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock_fit.h"

#include "base/sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Fewer pairs show no drift. */
#define DRIFT_PAIRS 8
/* A drift moves the ends of the pairs apart by this many times what they scatter, or it is none. */
#define DRIFT_SURE 4

static int by_at(const void *a, const void *b)
{
	const struct aif_clock_readings *x = a, *y = b;

	return AIF_ORDER(x->at, y->at);
}

/* The value below which `share` of them are; they are put in order. */
static double quantile(double *v, size_t n, double share)
{
	size_t at = (size_t)(share * (double)n);

	qsort(v, n, sizeof(*v), aif_by_double);
	return v[at < n ? at : n - 1];
}

/* Finds the line of a given drift, and how far the pairs are from it. */
static struct aif_clock_fit line(const struct aif_clock_readings *p, size_t n, double drift,
				 double *space)
{
	struct aif_clock_fit f = {.from = p[0].at, .drift = drift};
	double mid;

	for (size_t i = 0; i < n; i++)
		space[i] = (double)(p[i].ns - p[0].ns) - drift * (double)(p[i].at - f.from);
	mid = quantile(space, n, 0.5);
	f.ns = p[0].ns + llround(mid);
	for (size_t i = 0; i < n; i++)
		space[i] = fabs(space[i] - mid);
	f.half = (uint64_t)quantile(space, n, 0.5);
	f.within = (uint64_t)quantile(space, n, 0.9);
	return f;
}

int aif_clock_fit_make(struct aif_clock_readings *p, size_t n, struct aif_clock_fit *ret)
{
	double *space = calloc(n, sizeof(*space)), drift;
	size_t half = n / 2, len = 0;
	struct aif_clock_fit drifting;

	if (!space)
		return -ENOMEM;
	qsort(p, n, sizeof(*p), by_at);
	*ret = line(p, n, 0, space);
	ret->mid_ns = ret->ns;
	for (size_t i = 0; n >= DRIFT_PAIRS && i + half < n; i++)
		if (p[i + half].at > p[i].at)
			space[len++] = (double)(p[i + half].ns - p[i].ns) /
				       (double)(p[i + half].at - p[i].at);
	drift = len ? quantile(space, len, 0.5) : 0;
	if (drift != 0 && fabs(drift) <= AIF_CLOCK_DRIFT_MAX) {
		drifting = line(p, n, drift, space);
		if (drifting.half < ret->half && fabs(drift) * (double)(p[n - 1].at - p[0].at) >
							 DRIFT_SURE * (double)(drifting.half + 1)) {
			drifting.mid_ns = ret->mid_ns;
			*ret = drifting;
		}
	}
	free(space);
	return 0;
}

int64_t aif_clock_fit_map(const struct aif_clock_fit *f, int64_t at)
{
	return at - f->ns - llround(f->drift * (double)(at - f->from));
}
