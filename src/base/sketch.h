/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Distribution of durations in bounded memory: how many there were of each size, 32 sizes for each factor of two, so that
 * a quantile is off by 1.6 % at most. A zeroed struct is empty. Recent durations count more: at AIF_SKETCH_FULL of them all
 * counts are halved.
 */
#define AIF_SKETCH_SIZES 1920
#define AIF_SKETCH_FULL  4096
struct aif_sketch {
	uint32_t len;
	uint32_t count[AIF_SKETCH_SIZES];
};

void aif_sketch_add(struct aif_sketch *s, uint64_t value);
/* Returns the middle of the size that `part` (0 to 1) of the durations do not exceed, and sets *ret_most (may be NULL) to the
 * greatest duration of that size; 0 and 0 of none. */
uint64_t aif_sketch_quantile(const struct aif_sketch *s, double part, uint64_t *ret_most);
