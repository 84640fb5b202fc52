/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/extrapolate.h"
#include "analysis/attribution/insides.h"

/* Rows: rounds each group's sums, and splits them over its insides, which are sorted. The rows
 * are *a's. 0 or -ENOMEM. */
int aif_rows_make(const struct aif_groups *groups, const struct aif_extrapolated *x,
		  struct aif_insides *insides, struct aif_attribution *a);
/* Gives *a the times of the devices that executed something. 0 or -ENOMEM. */
int aif_rows_make_devices(const struct aif_scope *s, const struct aif_swept *swept,
			  const struct aif_extrapolated *x, struct aif_attribution *a);
