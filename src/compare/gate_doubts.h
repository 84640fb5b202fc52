/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "compare/gate.h"

/*
 * Doubts about budgets that are kept by their numbers, where those are not of the same thing in both sides:
 *
 *   a step   takes no longer, and a run does, by more steps or by work outside of them. Unless the caller asked for steps
 *   a name   matches less of the work than in A, and the rest took over: names have changed, or ranges are drawn elsewhere
 *   a value  is 0 or less, as of what was not measured, under a limit above 0
 */

/* Turns a row that is kept into one of which nobody can tell, and says why. 0 or -ENOMEM. */
int aif_gate_doubt(const struct aif_comparison *c, struct aif_gate_row *row);

/* Marks the row as missing where values of B, by run, are what a failed measurement writes. */
void aif_gate_find_unmeasured(const struct aif_comparison *c, const struct aif_budgets *budgets,
			      const double *values, struct aif_gate_row *row);

/* gate.c */

/* Returns the time of the kernels that match, in short or in full; NAN where none does. *ret_launches: how many were launched. */
double aif_gate_kernel_ns(const struct aif_run *r, const struct aif_regex *re,
			  double *ret_launches);
/* Sets values[i] of each run, a unit where the metric is given by unit. 0 or -ENOMEM. */
int aif_gate_values(const struct aif_comparison *c, const struct aif_budget *b,
		    const struct aif_gate_value *outside, double *values);
/* Compares by the budget's margin. */
struct aif_compared aif_gate_compare(const struct aif_comparison *c, const struct aif_budget *b,
				     const double *values, bool is_estimated);
