/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/*
 * Lot of the steps that a reduced profile keeps whole (merge/kept_steps.h, record/reduce/reducer.h): one of each `every` runs of
 * AIF_KEPT_RUN consecutive ones, drawn by the numbers of steps, so that all ranks keep the same steps. A run's first step tells little of
 * idle time at its begin, as what was launched before is not known: hence several.
 *
 * The first AIF_KEPT_FIRST are kept too, which are seldom like the others, and slow ones: those that took AIF_KEPT_SLOW medians of their
 * process's steps, AIF_KEPT_SLOW_PART of all at most, or AIF_KEPT_SLOW_LEAST of few steps.
 */
#define AIF_KEPT_RUN        4
#define AIF_KEPT_FIRST      8
#define AIF_KEPT_SLOW       1.5
#define AIF_KEPT_SLOW_PART  0.01
#define AIF_KEPT_SLOW_LEAST 8

/* Returns true for the steps of one of each `every` runs. */
static inline bool aif_kept_is_drawn(uint64_t number, uint32_t every)
{
	uint64_t run = number / AIF_KEPT_RUN;

	return run % every == aif_mix64(run / every) % every;
}

/* Returns the number at the end of a step's name; UINT64_MAX: there is none. */
static inline uint64_t aif_kept_number(const char *name)
{
	size_t len = strlen(name), at = len;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	return at < len ? strtoull(name + at, NULL, 10) : UINT64_MAX;
}
