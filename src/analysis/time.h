/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * Raw stamps -> ns since the recording's start (DESIGN section 4). Base is CLOCK_MONOTONIC. Each
 * other clock is mapped piecewise linearly between its pairs; a step between two pairs is taken at
 * the later pair, a wrap of a narrow counter is unrolled, a slew follows from the slopes. Outside
 * the pairs the nearest slope goes on. time.c opens with how the three are told apart.
 */
struct aif_timeline;

/* Reads p->clock_pairs. *ret is a fact, for aif_facts_put() (facts.h). 0 or -ENOMEM. */
int aif_timeline_get(const struct aif_profile *p, const struct aif_timeline **ret);

/* `process` matters for device clocks only. Times before the start give negative numbers.
 * *ret_known (may be NULL) is false when the clock has no pairs: the result is then the raw stamp
 * taken as CLOCK_MONOTONIC. A stamp that a wrapping or stepping clock showed more than once gives
 * its first time in the recording. */
int64_t aif_timeline_map(const struct aif_timeline *t, uint32_t clock, uint32_t process,
			 uint64_t raw, bool *ret_known);

/* The same where the stamp is known not to be earlier than `after` (ns since the start; an execution
 * starts after its launch call began): of several times the first one that is not. */
int64_t aif_timeline_map_after(const struct aif_timeline *t, uint32_t clock, uint32_t process,
			       uint64_t raw, int64_t after, bool *ret_known);

/* The bound of times in views, 73 years in ns: sums and differences of two do not overflow. */
#define AIF_TIME_MAX (INT64_C(1) << 61)

/* Brings a time of a damaged file within the bound. */
static inline int64_t aif_time_clamp(int64_t at)
{
	return AIF_MAX(-AIF_TIME_MAX, AIF_MIN(at, AIF_TIME_MAX));
}
