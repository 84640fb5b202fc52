/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/ranks/verdict.h"

/* Finds whether work is shared unevenly among the ranks (verdict.h): sets *ret to UNEVEN, or leaves it. 0 or -ENOMEM. */
int aif_rank_balance(const struct aif_ranks *r, const struct aif_selection *sel,
		     const struct aif_utilization *u, const struct aif_phases *f,
		     struct aif_rank_verdict *ret);
