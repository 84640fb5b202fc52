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
	uint32_t group, process, device, kernel_name; /* name: string, AIF_NONE for copies */
	uint64_t weight; /* executions that it stands for, in AIF_WEIGHT_ONE */
	uint32_t cycle;  /* of the overhead budget; AIF_NONE: it stands for itself */
};

/* The weighted time of a group in a cycle of the overhead budget. */
struct aif_cycle_sum {
	uint32_t group, cycle;
	double ns;
};

struct aif_classified {
	AIF_TABLE(aif_run, runs); /* by device and start */
	struct aif_groups groups;
	AIF_TABLE(aif_cycle_sum, cycle_sums); /* by group and cycle */
	struct aif_in_flight in_flight;
	/* Launches: those of the file but for what --keep dropped; of these, those with an
	 * execution here, those of which later ones of their queue were heard, and those whose
	 * process ended first (aif_conservation). */
	uint64_t launches, joined, unreported, unread;
	uint64_t executions_unjoined, started_before_launch;
	uint64_t durations_ns; /* weighted */
	uint64_t
		for_others_ns; /* a part of .durations_ns: launched for another thread's range (sole_threads.h) */
	uint64_t damaged; /* chunks */
};

/* 0 or -errno. *ret, which is zeroed, is finished by aif_classified_finish() in any case. */
int aif_classify(const struct aif_scope *s, const struct aif_loaded *l, struct aif_classified *ret);
void aif_classified_finish(struct aif_classified *c);
/* Lets go of what the rounding and counting stages do not need; runs_len stays. */
void aif_classified_drop_runs(struct aif_classified *c);

static inline bool aif_run_is_kernel(const struct aif_run *run)
{
	return run->kernel_name != AIF_NONE;
}
