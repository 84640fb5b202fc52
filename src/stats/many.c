/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/many.h"

#include "base/base.h"

#include <errno.h>

struct ranked {
	double p;
	size_t at;
};

static int by_p(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return AIF_ORDER(x->p, y->p) ?: AIF_ORDER(x->at, y->at);
}

/* Returns the p in ascending order, for free(). */
static struct ranked *rank(const double *p, size_t n)
{
	struct ranked *r = calloc(n + 1, sizeof(*r));

	for (size_t i = 0; r && i < n; i++)
		r[i] = (struct ranked){p[i], i};
	if (r)
		qsort(r, n, sizeof(*r), by_p);
	return r;
}

int aif_holm_adjust(double *p, size_t n)
{
	struct ranked *r = rank(p, n);
	double most = 0;

	if (!r)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		most = AIF_MAX(most, r[i].p * (double)(n - i));
		p[r[i].at] = AIF_MIN(most, 1);
	}
	free(r);
	return 0;
}

int aif_benjamini_hochberg_adjust(double *p, size_t n)
{
	struct ranked *r = rank(p, n);
	double least = 1;

	if (!r)
		return -ENOMEM;
	for (size_t i = n; i-- > 0;) {
		least = AIF_MIN(least, r[i].p * (double)n / (double)(i + 1));
		p[r[i].at] = least;
	}
	free(r);
	return 0;
}
