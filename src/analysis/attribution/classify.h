/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/groups.h"
#include "analysis/attribution/in_flight.h"
#include "analysis/attribution/load.h"

/*
 * Classify: what became of each launch. It is timed (an execution is known, which joins a
 * group), untimed (its driver gives no times), in flight (its execution was not over when
 * collection stopped), unreported or unread; what was lost or left out never became a row
 * (count.c).
 */

/* An execution, in ns since the recording's start, clipped to what was asked for. */
struct aif_run {
	uint64_t start, end;
	uint32_t group;
	/* The cycle of the overhead budget whose weight the execution has (weights.h); AIF_NONE: weight 1. */
	uint32_t cycle;
};
_Static_assert(sizeof(struct aif_run) == 24, "recordings have tens of millions of executions");

/* The weighted time of a group in a cycle of the overhead budget. */
struct aif_cycle_sum {
	uint32_t group, cycle;
	double ns;
};

struct aif_classified {
	const struct aif_weights *weights; /* those of struct aif_loaded */
	AIF_TABLE(aif_run, runs);          /* by device and start, from aif_classified_sort() on */
	struct aif_groups groups;
	AIF_TABLE(aif_cycle_sum, cycle_sums); /* by group and cycle, likewise */
	struct aif_in_flight in_flight;
	/* Launches: those of the file but for what --keep dropped; of these, those with an
	 * execution here, those of which later ones of their queue were heard, and those whose
	 * process ended first (aif_conservation). */
	uint64_t launches, joined, unreported, unread;
	uint64_t executions_unjoined, started_before_launch;
	uint64_t durations_ns; /* weighted */
	/* The part of .durations_ns that was launched for another thread's range (sole_threads.h). */
	uint64_t for_others_ns;
	uint64_t damaged; /* chunks */
};

/* 0 or -errno. *ret, which is zeroed, is finished by aif_classified_finish() in any case. */
int aif_classify(const struct aif_scope *s, const struct aif_loaded *l, struct aif_classified *ret);
/* Sorts runs and sums. Not done by aif_classify(), so that the launches' memory is free before sorting takes its own. */
void aif_classified_sort(struct aif_classified *c);
void aif_classified_finish(struct aif_classified *c);
/* Lets go of what the rounding and counting stages do not need; runs_len stays. */
void aif_classified_drop_runs(struct aif_classified *c);

static inline const struct aif_group *aif_group_of(const struct aif_classified *c,
						   const struct aif_run *run)
{
	return &c->groups.at[run->group];
}

/* Returns how many executions the run stands for, in AIF_WEIGHT_ONE. */
static inline uint64_t aif_run_weight(const struct aif_classified *c, const struct aif_run *run)
{
	size_t n;

	return run->cycle == AIF_NONE ? AIF_WEIGHT_ONE
				      : aif_weights_cycles(c->weights, &n)[run->cycle].weight;
}
