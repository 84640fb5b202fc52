/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/attribution.h"

/*
 * Launches whose executions are not known: those seen from outside (outside.h), those for which the driver gave no
 * times, and those of a process of which no execution was told at all. Nothing but their number can be shown.
 */

/* Adds a row for each of their stacks and kernels to what was computed for `which` (NULL: all): a number of launches,
 * without time. 0 or -errno with *err. */
int aif_timeless_add(const struct aif_profile *p, const struct aif_attribution_opts *which,
		     struct aif_attribution *a, struct aif_err *err);
/* How many there are; 0 also where they could not be read. */
uint64_t aif_timeless_count(const struct aif_profile *p);
