/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"

/*
 * Launches whose executions are not known: those seen from outside (ebpf_launches.h), those for
 * which the driver gave no times, and those of a process of which no execution was told at all.
 * Nothing but their number can be shown.
 */

/* Adds a row for each of their stacks and kernels to what was computed for `sel` (NULL: all): a
 * number of launches, without time. 0 or -errno with *err. */
int aif_untimed_add(const struct aif_profile *p, const struct aif_selection *sel,
		    struct aif_attribution *a, struct aif_err *err);
/* Returns how many such launches there are; 0 also where they could not be read. */
uint64_t aif_untimed_count(const struct aif_profile *p);
