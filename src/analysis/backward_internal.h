/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/backward_match.h"
#include "analysis/backward_stacks.h"

/* Between backward.c, which collects what ran in a process on a device, and backward_join.c, which joins it. */

struct aif_backward_op {
	uint32_t family, call, forward, first, parts; /* first: the stack of its first launch */
};

struct aif_backward_run {
	struct aif_backward_unit u;
	uint32_t site, sites_len, sites[8]; /* those that it was at */
	uint32_t first;                     /* the stack of the first launch at .site */
	uint32_t name, thread;
	size_t begin; /* of its launches in the lane */
	bool is_over; /* the engine is behind it */
};

struct aif_backward_launch {
	uint64_t time, launch;
	uint32_t process, device, thread, stack, kind, kernel;
	bool is_asked;
};

struct aif_backward_lane { /* a process and device */
	uint64_t key, last_ns;
	struct aif_backward_op *ops;
	struct aif_backward_run *units;
	struct aif_backward_launch *launches;
	size_t ops_len, ops_cap, units_len, units_cap, launches_len, launches_cap;
};

struct aif_backward_target {
	uint32_t forward, how;
};

/* Finds where each of the lane's units belongs, and takes operators that are done with out of the lane.
 * ret: as many as it has units. 0 or -ENOMEM. */
int aif_backward_join(const struct aif_profile *p, const struct aif_torch_stacks *stacks,
		      struct aif_backward_lane *l, struct aif_backward_target *ret);
