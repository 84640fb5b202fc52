/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/insides.h"
#include "analysis/attribution/sample_counts.h"
#include "analysis/attribution/unmatched.h"

/* Windows: gives the samples that devices have counted to the groups that launched their kernels
 * (windows.c opens with the essay). Uses up `counted`. 0 or -ENOMEM. */
int aif_split_counted(const struct aif_scope *s, const struct aif_loaded *l,
		      const struct aif_classified *c, struct aif_counted *counted,
		      struct aif_insides *insides, struct aif_sample_counts *counts,
		      struct aif_unmatched *unmatched);
