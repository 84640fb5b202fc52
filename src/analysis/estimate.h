/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/weights.h"

/*
 * A sum over what was captured that stands for the whole, where launches were left out: each amount counts as often
 * as its launch's weight, and the amounts of each cycle are kept for the standard error (weights.h). What was launched
 * while nothing was left out is exact, and adds nothing to the error.
 */
struct aif_estimate_part {
	uint32_t cycle;
	double whole; /* weighted */
};
struct aif_estimate {
	struct aif_estimate_part *parts; /* in any order, a cycle perhaps several times */
	size_t len, cap;
	double seen;  /* unweighted */
	double whole; /* weighted */
};

/* The cycle is AIF_NONE where the launch stands for itself only. 0 or -ENOMEM; e->seen and .whole are right in both
 * cases. Memory: 16 bytes a cycle, twice that at most. */
int aif_estimate_add(struct aif_estimate *e, const struct aif_weights *w, uint32_t cycle,
		     double amount);
/* Returns the standard error of e->whole, in its unit; 0: it is exact. Orders the parts. */
double aif_estimate_error(struct aif_estimate *e, const struct aif_weights *w);
void aif_estimate_finish(struct aif_estimate *e);

/* The variance of a sum by its parts, a cycle each, by cycle. */
double aif_estimate_variance(const struct aif_weights *w, const struct aif_estimate_part *parts,
			     size_t n);
