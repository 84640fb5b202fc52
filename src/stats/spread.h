/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* The spread of a few values: the median does not follow a single slow run. */
struct aif_spread {
	size_t n;
	double median, min, max; /* of an even number the mean of the middle two; NAN of none */
};

/* Measures n values, in any order; those that are NAN are left out. */
void aif_spread_measure(const double *values, size_t n, struct aif_spread *ret);
