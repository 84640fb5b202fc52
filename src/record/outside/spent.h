/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"

/*
 * CPU time of processes that are sampled from outside, by their own clocks: what threads used that ended before they were found is in
 * no sample.
 */
struct aif_outside_spent {
	uint32_t pid;
	uint64_t begin_ns,
		last_ns;     /* the process's CPU time when it was met, and at the last look */
	uint64_t sampled_ns; /* sum of its samples' weights */
};

struct aif_outside_spents {
	struct aif_outside_spent *at;
	size_t len, cap;
	struct aif_map by_pid; /* -> index of `at` */
};
void aif_outside_spents_finish(struct aif_outside_spents *s);

/* Looks at a process's clock; one that is new is met, as is each while nothing is collected. */
void aif_outside_spent_look(struct aif_outside_spents *s, uint32_t pid, bool collects);
void aif_outside_spent_sampled(struct aif_outside_spents *s, uint32_t pid, uint64_t ns);
/* Returns the CPU time of a process that is in no sample, and begins anew; 0 where that is little. */
uint64_t aif_outside_spent_missing(struct aif_outside_spents *s, uint32_t pid);
