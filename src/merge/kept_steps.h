/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/kept_lot.h"
#include "base/err.h"
#include "profile/model.h"

/*
 * Choice of the steps that a reduced profile keeps: one of each `every` runs of AIF_KEPT_RUN consecutive ones, by a lot that falls alike on all ranks,
 * since it is drawn by the numbers of steps; and slow ones, those that took AIF_KEPT_SLOW medians of their process's steps, the longest
 * AIF_KEPT_SLOW_PART of all at most; and the first AIF_KEPT_FIRST, which are seldom like the others. What runs before, between and behind steps is kept; a pause that is no longer than a step is part
 * of the step before it. Where fewer of the steps between two such have the lot than are asked for, one run at the least, more runs of them get it.
 *
 * Where the profile has no marked steps, the turns of the loop that recurs in its launches are steps, if they have the times of their
 * launches.
 *
 * So the time of a process with steps is a sequence of blocks, as one of the overhead budget's is (analysis/weights.h): what was
 * kept by lot stands for the steps around it that were left out. A run's first step tells little of idle time at its begin, as what was
 * launched before is not known: hence several.
 */

struct aif_kept_block {
	uint64_t from, to; /* CLOCK_MONOTONIC */
	bool is_on, is_certain;
	size_t steps; /* how many it has */
};
/* Times of a step, or of a turn of the loop that recurs in the launches of a process whose profile has no marked steps
 * (analysis/loop/phases.h). */
struct aif_kept_turn {
	uint64_t from, to;
};
struct aif_kept_process {
	struct aif_kept_block *
		blocks; /* in order, without holes; none: it marks no steps, and all of it is kept */
	size_t len, cap;
	struct aif_kept_turn *steps; /* in order, those that are left out, too */
	size_t steps_len;
	uint32_t thread; /* whose steps they are */
};
struct aif_kept_steps {
	struct aif_kept_process *processes; /* by process of the profile */
	size_t processes_len;
	uint64_t steps, by_lot, first, slow; /* of all processes; a step is one of these at most */
	size_t with_steps;                   /* processes */
	uint32_t turns_thread;               /* whose turns were taken for steps, by their number */
	struct aif_kept_turn *turns;
	size_t turns_len;
};

/* least: by process, how many steps are kept by lot at the least between two blocks that are certain; NULL: one run. 0 or -errno;
 * finished by the caller in any case. */
int aif_kept_steps_find(const struct aif_profile *p, uint32_t every, const size_t *least,
			struct aif_kept_steps *ret);
void aif_kept_steps_finish(struct aif_kept_steps *k);
/* Returns the block of a process that a time is in, or NULL: the process marks no steps. */
const struct aif_kept_block *aif_kept_steps_at(const struct aif_kept_steps *k, uint32_t process,
					       uint64_t at);
