/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "profile/model.h"

/*
 * Counters that were measured around launches (record --counters query:GROUP), for columns of a table of launches. Of a
 * launch that was executed several times a value is the mean.
 */
#define AIF_LAUNCH_COUNTERS_MAX 12 /* of them; others are in the table `counters` only */

struct aif_launch_counter_sum {
	double sum;
	uint64_t values;
};
struct aif_launch_counters {
	uint32_t names[AIF_LAUNCH_COUNTERS_MAX]; /* strings */
	size_t len;
	struct aif_map launches; /* launch -> row of sums */
	struct aif_launch_counter_sum (*sums)[AIF_LAUNCH_COUNTERS_MAX];
	size_t sums_len, sums_cap;
};

/* *ret is finished by the caller in any case. 0 or -errno. */
int aif_launch_counters_read(const struct aif_profile *p, struct aif_launch_counters *ret);
void aif_launch_counters_finish(struct aif_launch_counters *c);

/* Finds the i-th counter's value of a launch. False: there is none. */
bool aif_launch_counter(const struct aif_launch_counters *c, uint64_t launch, size_t i,
			double *ret);
