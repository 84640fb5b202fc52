/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/fraction.h"
#include "base/buf.h"
#include "base/map.h"

/* Executions of one kernel from one stack, in one graph or none, on one stream. A group becomes
 * a row of the result, or several where samples say what is inside. */
struct aif_group {
	uint32_t process, device, stream, kind, kernel, stack, graph, range;
	uint32_t capture, capture_range; /* attribution.h */
	/* The name of .kernel, a string; AIF_NONE for copies (aif_scope_launched_name). */
	uint32_t kernel_name;
	/* Sums over its executions; of those that stand for others (weights.h), as often as they
	 * count. */
	aif_fraction launches; /* in AIF_WEIGHT_ONE */
	uint64_t time, bytes;
	uint64_t seen, executions; /* the time and number of those that were captured */
	uint64_t untimed;          /* launches without times, where none of the kernel has any */
	bool sampled;              /* some of it is estimated */
};

struct aif_groups {
	struct aif_group *at;
	size_t len, cap;
	struct aif_map ids; /* hash of what a group has in common -> index */
};

/* Finds the group with that process, device, stream, kind, kernel, stack, graph and range, or adds it.
 * 0 or -ENOMEM. */
int aif_groups_find_or_add(struct aif_groups *g, const struct aif_group *like, uint32_t *ret);
/* Frees the index, after the last group was added. */
void aif_groups_seal(struct aif_groups *g);
void aif_groups_finish(struct aif_groups *g);
