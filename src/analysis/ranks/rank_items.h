/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/ranks/ranks.h"

/* Lists what each rank did in operations of several ranks, before it is known which of these are the same (ranks.c). */

#define AIF_RANK_NO_WAIT INT64_MAX
struct aif_rank_item {
	uint64_t group; /* key: the communicator's, or the kernel's */
	uint32_t rank, nth;
	uint32_t sequence;
	uint32_t exec;
	int64_t start, end;
	uint64_t before; /* aif_rank_member.before_ns */
	/* The time when the rank began to wait for an operation that it began at .start, AIF_RANK_NO_WAIT if that is not known; else .start. */
	int64_t waits_from;
	bool is_split; /* begun by one call and waited for in another */
	uint64_t weight;
	uint32_t cycle;
	bool by_kernel;
};

struct aif_rank_items {
	struct aif_rank_item *at;
	size_t len, cap;
};

/* Adds the executions of ranks' devices that communicate, but sends and receives. 0 or -ENOMEM. */
int aif_rank_items_find(const struct aif_profile *p, const struct aif_exec_timeline *t,
			const struct aif_utilization *u, struct aif_ranks *ret,
			struct aif_rank_items *items);
/* Adds the joint calls of ranks' hosts (.calls). 0 or -ENOMEM. */
int aif_rank_items_find_calls(const struct aif_profile *p, struct aif_ranks *ret,
			      struct aif_rank_items *items);
