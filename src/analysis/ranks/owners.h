/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/part.h"
#include "analysis/ranks/waits.h"
#include "base/map.h"

/* Activity of each rank at each time, by owner. */
struct aif_rank_segment {
	int64_t from, to;
	uint32_t owner; /* index into .owners */
};
struct aif_rank_segments {
	struct aif_rank_segment *at; /* disjoint, in order */
	size_t len, cap;
};
struct aif_rank_owners {
	const struct aif_profile *p;
	struct aif_wait_row *owners; /* .late and .ns are nothing's */
	size_t owners_len, owners_cap;
	struct aif_map by_key;
	uint64_t *
		stacks; /* by stack: a number that stacks with the same names share; 0: not yet known */
	struct aif_rank_segments *ranks;
	size_t ranks_len;
};

/* Makes the segments of all ranks of `r`. `idle` has its course, and the whole run. 0 or -ENOMEM; finished by the caller in any case. */
int aif_rank_owners_make(const struct aif_profile *p, const struct aif_ranks *r,
			 const struct aif_idle_part *idle, struct aif_rank_owners *ret);
void aif_rank_owners_finish(struct aif_rank_owners *o);
