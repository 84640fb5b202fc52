/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/step_sums.h"
#include "merge/kept_steps.h"

/* Sums up what each place took in each step of a profile that is whole (analysis/step_sums.h): durations of executions, the device's
 * idle time before them, both of the step in which they were launched, and durations of all that compute. *ret: the rows of
 * all processes, for free(). 0 or -errno. */
int aif_merge_step_sums(const struct aif_profile *p, const struct aif_kept_steps *kept,
			struct aif_step_sum_row **ret, size_t *ret_len);
