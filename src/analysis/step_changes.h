/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/selection.h"
#include "profile/file.h"

/*
 * Changes of a reduced profile's steps: steps in which a place took longer, or shorter, than it does usually (struct
 * aif_step_sum_row, of all steps, whichever were kept whole).
 *
 * Usual is what the first row of a place has that is of a tenth of its steps; where none is, that of most steps. Another row differs if
 * its mean is off by a fiftieth of a step (AIF_STEP_CHANGE) and by three standard errors; rows one behind the other that
 * differ in the same direction are one change, which odd steps within one of these do not end.
 */
#define AIF_STEP_CHANGE 0.02

struct aif_step_change {
	uint32_t process, thread;
	struct aif_step_sum_row of; /* .sum, .device, .stack, .kind and .kernel: the place */
	uint32_t first, last;       /* numbers of steps, from 1 */
	uint32_t steps;             /* steps that differ; not odd ones between .first and .last */
	uint64_t start, end;        /* CLOCK_MONOTONIC */
	double usual_ns, ns;        /* a step */
	double total_ns;            /* by which all of them took longer; less than 0: shorter */
	double step_ns;             /* length of the process's steps, mean */
	bool is_early;              /* before the steps that are usual: start-up */
	bool goes_on;               /* up to the last step */
	bool is_communication;
	uint32_t
		peers; /* processes, this one too, of which the place has a change in the same direction */
};
struct aif_step_changes {
	struct aif_step_change *at; /* greatest change first */
	size_t len, cap;
	size_t processes; /* that have sums */
	uint64_t damaged; /* chunks that could not be read */
};
/* Finds the changes of the processes and devices, and of steps that lie in the times, that `sel` (NULL: all) names. *ret is
 * finished by the caller in any case. 0 or -errno. */
int aif_step_changes_find(const struct aif_profile *p, const struct aif_selection *sel,
			  struct aif_step_changes *ret);
void aif_step_changes_finish(struct aif_step_changes *c);

/* Returns the change that costs a program most: one that is slower, neither at its start nor for what other ranks did. NULL: there
 * is none. */
const struct aif_step_change *aif_step_changes_worst(const struct aif_step_changes *c);
