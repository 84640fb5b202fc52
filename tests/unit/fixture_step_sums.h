/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Totals of the sums of steps in a profile (docs/FORMAT.md). */

#include "profile/file.h"

/* .executions, .ns and .steps are of work alone. */
struct sums {
	uint64_t rows, executions, ns, steps, idle_ns;
};

/* Adds rows; is passed to aif_profile_step_sums(). */
static inline int take_sums(void *arg, const struct aif_step_sum_row *rows, size_t n)
{
	struct sums *s = arg;

	for (size_t i = 0; i < n; i++) {
		s->rows++;
		if (rows[i].sum == AIF_STEP_SUM_IDLE)
			s->idle_ns += rows[i].ns;
		if (rows[i].sum != AIF_STEP_SUM_WORK)
			continue;
		s->executions += rows[i].executions;
		s->ns += rows[i].ns;
		s->steps += rows[i].steps;
	}
	return 0;
}
