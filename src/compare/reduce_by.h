/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "analysis/range_index.h"
#include "compare/run.h"

/* Counts the ranges and steps that begin in [from, to) ns since the recording's start. 0 or -errno. */
int aif_run_count_ranges(const struct aif_profile *p, int64_t from, int64_t to,
			 struct aif_run *ret);

/* Fills a run's trees of operators and ranges from rows of attribution, apart by their ranges where `ranges` is given (NULL: the
 * profile has none). Trees are empty where the profile knows of none. They are finished by the caller. 0 or -errno. */
int aif_run_reduce_by(const struct aif_profile *p, const struct aif_attribution *a,
		      const struct aif_range_index *ranges, struct aif_tree to[AIF_RUN_BYS]);
