/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "compare/gate.h"

/* Values of runs that budgets bound. */

static inline bool aif_gate_is_of_whole_runs(enum aif_metric m)
{
	return m == AIF_METRIC_BEFORE || m == AIF_METRIC_AFTER;
}

/* Returns the time of the kernels that match, in short or in full; NAN where none does. *ret_launches: how many were launched. */
double aif_gate_kernel_ns(const struct aif_run *r, const struct aif_regex *re,
			  double *ret_launches);
/* Returns the time of one launch of them, which is known better than how many a unit has where launches were left out. */
double aif_gate_launch_ns(const struct aif_run *r, const struct aif_regex *re);
/* Sets values[i] of each run, a unit where the metric is given by unit. 0 or -ENOMEM. */
int aif_gate_values(const struct aif_comparison *c, const struct aif_budget *b,
		    const struct aif_gate_value *outside, double *values);
/* Compares by the budget's margin. */
struct aif_compared aif_gate_compare(const struct aif_comparison *c, const struct aif_budget *b,
				     const double *values, bool is_estimated);
