/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/schedule.h"
#include "profile/model.h"

/*
 * Finds the cycles of a schedule in a recording as it goes on: in the steps that the program marks, or, as long as it marks
 * none, in the turns of the loop that recurs in its launches.
 */
struct aif_cycle_steps {
	const struct aif_schedule *schedule;
	uint64_t cycles; /* that are over; they count from 0 */
	bool has_marks;
	bool is_sparse; /* turns were found, and launches left out among them: they are not counted */
	uint64_t keep_from; /* ns since the recording's start: what was before is needed no more */
	/* Turns that were counted: where the next one begins, and its number. */
	int64_t turns_at;
	uint64_t turns;
};

/* Looks for the next cycle in the rows of *p. is_over: no more will come, so that a cycle that has begun is one. Returns 1: *ret is
 * it, without its number; 2: it is there, but some thread has not ended its last step yet; 0: it is not there; -errno. */
int aif_cycle_steps_find(struct aif_cycle_steps *c, const struct aif_profile *p, bool is_over,
			 struct aif_cycle *ret);
/* Goes on behind the cycle that was found. */
void aif_cycle_steps_next(struct aif_cycle_steps *c, const struct aif_cycle *cycle);
