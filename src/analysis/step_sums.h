/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "profile/model.h"

/*
 * Sums by place and step, in few rows (struct aif_step_sum_row): a place is a stack with what it launched. As long as a step's sum
 * for a place is like that of the steps before, it is added to their row; where it is not for AIF_STEP_SUMS_SURE steps, a row of its own
 * begins with the first of these. Fewer that differ by AIF_STEP_SUMS_ODD of a step have a row, too, and the one around them
 * goes on. So all rows of a place add up to all of its steps, and tell since which step, and until which, it took longer.
 *
 * A sum is like those before if it is off by four of their standard deviations at most, by AIF_STEP_SUMS_LIKE of their mean, or by
 * AIF_STEP_SUMS_LEAST of a step. A place that changes all the time has AIF_STEP_SUMS_ROWS rows and one more for sixteen steps; from then on what differs
 * is added to the row before, whose deviation says so.
 */
#define AIF_STEP_SUMS_SURE  4
#define AIF_STEP_SUMS_LIKE  0.05
#define AIF_STEP_SUMS_LEAST 0.005
#define AIF_STEP_SUMS_ODD   0.05
#define AIF_STEP_SUMS_ROWS  8
/* Rows of a process from which on what differs is added to the rows before: they are held until the last step. Each place has one more. */
#define AIF_STEP_SUMS_ALL_ROWS ((size_t)1 << 18)
/* Most places of a process, each visited with each step; what further ones take is of a place whose stack is not known. Of these are
 * half as many at most: then kernels, at last devices, are not known either, and one place for each kind of sum has all that is left. */
#define AIF_STEP_SUMS_PLACES 4096

/* Steps of a place one behind the other. */
struct aif_step_stretch {
	uint64_t start, end, ns, executions;
	uint32_t first, steps;
	double mean, m2; /* ns a step; the sum of squares of differences from it */
};

struct aif_step_place {
	struct aif_step_sum_row of;    /* .sum, .device, .stack, .kind and .kernel */
	uint64_t ns, executions;       /* of the step in the making */
	struct aif_step_stretch at;    /* a row in the making */
	struct aif_step_stretch other; /* behind it, so far: steps that are not like it */
	uint32_t rows;                 /* that are made */
};

/* Sums of one process. */
struct aif_step_sums {
	uint32_t thread; /* whose steps they are */
	struct aif_step_place *places;
	size_t places_len, places_cap;
	struct aif_map known; /* hash of a place -> its index */
	uint32_t steps;
	uint64_t start, end; /* of the steps so far */
	double step_ns;      /* their mean length */
	struct aif_step_sum_row *rows;
	size_t rows_len, rows_cap;
};
void aif_step_sums_finish(struct aif_step_sums *s);

/* Adds to the step in the making. `of`: the place, as in struct aif_step_place. 0 or -ENOMEM. */
int aif_step_sums_add(struct aif_step_sums *s, const struct aif_step_sum_row *of, uint64_t ns);
/* Execution of the step in the making, or idle time most of which lies in it. */
struct aif_step_exec {
	uint32_t device, kind, kernel, stack;
	bool computes;
	bool is_idle; /* no execution, but the time of the device without work up to one */
	uint64_t ns;
};
/* Adds it to all places that it counts for. 0 or -ENOMEM. */
int aif_step_sums_exec(struct aif_step_sums *s, const struct aif_step_exec *x);
/* Returns true for a kernel that computes. `known`: what was found of others, by kernel, for aif_map_finish(). */
bool aif_step_sums_computes(const struct aif_profile *p, struct aif_map *known, uint32_t kind,
			    uint32_t kernel);
/* Ends the step in the making, which has these times. 0 or -ENOMEM. */
int aif_step_sums_step(struct aif_step_sums *s, uint64_t start, uint64_t end);
/* Makes the rows that are left, and puts .rows in order: by place, then time. 0 or -ENOMEM. */
int aif_step_sums_end(struct aif_step_sums *s);
