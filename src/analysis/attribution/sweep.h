/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "analysis/attribution/active.h"

/*
 * Sweep: walks the executions of each device in order of time, and shares each ns of it among
 * those that run then. What an execution stands for beyond itself (weights.h) is kept apart, for
 * extrapolate.c.
 */

struct aif_swept_group {
	aif_fraction wall, more_wall; /* more: of executions that were not captured */
};

struct aif_swept_device {
	struct aif_device_time t;            /* of what was captured */
	aif_fraction more_kernel, more_copy; /* unions, as the groups' more_wall */
	double busy_error;                   /* standard error of busy */
	bool is_used;
};

struct aif_swept {
	struct aif_swept_group *groups;   /* as those of struct aif_classified */
	struct aif_swept_device *devices; /* by id */
	uint64_t overlap_ns;
};

/* 0 or -ENOMEM. *ret, which is zeroed, is finished by aif_swept_finish() in any case. */
int aif_sweep(const struct aif_scope *s, const struct aif_loaded *l, const struct aif_classified *c,
	      struct aif_swept *ret);
void aif_swept_finish(struct aif_swept *w);
