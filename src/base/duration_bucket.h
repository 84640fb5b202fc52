/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Durations counted in buckets that grow with them: 32 to each doubling, of equal width within it, one for each nanosecond below 32. A
 * duration is within 1/64 (1.6 %) of its bucket's middle, and counts of several processes add up without further error. Whole numbers
 * only, so that each machine has the same buckets.
 */
#define AIF_DURATION_BITS    5
#define AIF_DURATION_EACH    (1u << AIF_DURATION_BITS)
#define AIF_DURATION_BUCKETS ((64 - AIF_DURATION_BITS + 1) * AIF_DURATION_EACH)

static inline uint32_t aif_duration_bucket(uint64_t ns)
{
	unsigned shift;

	if (ns < AIF_DURATION_EACH)
		return (uint32_t)ns;
	shift = 63 - (unsigned)__builtin_clzll(ns) - AIF_DURATION_BITS;
	return shift * AIF_DURATION_EACH + (uint32_t)(ns >> shift);
}

/* Returns the shortest duration of a bucket, and how much longer its longest is. */
static inline uint64_t aif_duration_least(uint32_t bucket, uint64_t *ret_more)
{
	unsigned shift;

	*ret_more = 0;
	if (bucket < 2 * AIF_DURATION_EACH)
		return bucket;
	bucket = AIF_MIN(bucket, AIF_DURATION_BUCKETS - 1);
	shift = bucket / AIF_DURATION_EACH - 1;
	*ret_more = (UINT64_C(1) << shift) - 1;
	return (uint64_t)(bucket % AIF_DURATION_EACH + AIF_DURATION_EACH) << shift;
}

/* Returns the middle of a bucket. */
static inline uint64_t aif_duration_of(uint32_t bucket)
{
	uint64_t more, least = aif_duration_least(bucket, &more);

	return least + more / 2;
}
