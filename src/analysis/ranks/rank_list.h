/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/ranks/ranks.h"

/* Lists the ranks of `u`, and of the joint calls in ret->calls. 0 or -ENOMEM. */
int aif_rank_list_make(const struct aif_profile *p, const struct aif_utilization *u,
		       struct aif_ranks *ret);
