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
