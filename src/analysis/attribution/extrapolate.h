/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/sweep.h"

/*
 * Extrapolate: adds to what was captured what it stands for (weights.h), as far as there is time
 * for it on a device and in a queue that runs one thing at a time; and finds the standard
 * errors. Where all was captured nothing changes.
 */

struct aif_extrapolated_group {
	aif_fraction wall;
	uint64_t time, error; /* error: the standard error of time */
};

struct aif_extrapolated {
	struct aif_extrapolated_group *groups; /* as those of struct aif_classified */
	struct aif_device_time *devices;       /* by id */
	uint64_t busy_ns;                      /* of all devices */
	uint64_t durations_ns, overlap_ns;
};

/* 0 or -ENOMEM. *ret, which is zeroed, is finished by aif_extrapolated_finish() in any case. */
int aif_extrapolate(const struct aif_scope *s, const struct aif_weights *weights,
		    const struct aif_classified *c, const struct aif_swept *swept,
		    struct aif_extrapolated *ret);
void aif_extrapolated_finish(struct aif_extrapolated *x);
