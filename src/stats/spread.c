/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/spread.h"

#include <math.h>

/* Returns the value that `rank` others are below, by counting: runs are few. */
static double ranked(const double *values, size_t n, size_t rank)
{
	for (size_t i = 0; i < n; i++) {
		size_t below = 0, equal = 0;

		if (isnan(values[i]))
			continue;
		for (size_t k = 0; k < n; k++) {
			below += values[k] < values[i];
			equal += values[k] == values[i];
		}
		if (below <= rank && rank < below + equal)
			return values[i];
	}
	return NAN;
}

void aif_spread_measure(const double *values, size_t n, struct aif_spread *ret)
{
	*ret = (struct aif_spread){.median = NAN, .min = NAN, .max = NAN};
	for (size_t i = 0; i < n; i++)
		ret->n += !isnan(values[i]);
	if (!ret->n)
		return;
	ret->min = ranked(values, n, 0);
	ret->max = ranked(values, n, ret->n - 1);
	ret->median = (ranked(values, n, (ret->n - 1) / 2) + ranked(values, n, ret->n / 2)) / 2;
}
