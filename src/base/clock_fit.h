/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Relates two clocks by events that happened on both at nearly the same moment: a line through pairs of readings, which a
 * minority of pairs that are far off does not move (medians, after Theil and Sen).
 */
struct aif_clock_readings {
	int64_t at; /* of the clock that is related */
	int64_t ns; /* how much later than by the other one */
};
struct aif_clock_fit {
	int64_t from;    /* of the clock that is related: .ns is of there */
	int64_t ns;      /* the difference; it changes by .drift a ns */
	double drift;    /* 0: no more than the pairs scatter */
	int64_t mid_ns;  /* the median difference */
	uint64_t half;   /* half of the pairs are this close to the line, */
	uint64_t within; /* and nine of ten */
};

/* Drifts beyond are no crystals'. */
#define AIF_CLOCK_DRIFT_MAX 500e-6

/* Fits a line to the pairs, which are put in order by .at; n > 0. 0 or -ENOMEM. */
int aif_clock_fit_make(struct aif_clock_readings *pairs, size_t n, struct aif_clock_fit *ret);
/* Returns a time of the clock that is related on the other one. */
int64_t aif_clock_fit_map(const struct aif_clock_fit *f, int64_t at);
