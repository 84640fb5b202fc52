/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "profile/model.h"

/*
 * Finds steps that take longer than others while a recording goes on (record --snapshot-slow): steps that the program
 * marks, ranges that are named like steps where it marks none (analysis/step_names.h), or ranges whose names are asked for.
 *
 * Steps are of one kind if they are of one process and their names differ in a number at their end only. A step is held
 * against those of its kind before it, recent ones in the first place (base/sketch.h). Memory does not grow with the number of steps.
 */
struct aif_slow_limit {
	enum aif_slow_by {
		AIF_SLOW_NONE,
		AIF_SLOW_P99,    /* longer than 99 of 100, and than AIF_SLOW_LEAST medians */
		AIF_SLOW_FACTOR, /* longer than so many medians */
		AIF_SLOW_TIME,   /* longer than that */
	} by;
	double factor;
	uint64_t ns;
};
/* Steps that come close together have a 99th percentile that the next one exceeds by nothing. */
#define AIF_SLOW_LEAST 1.5
/* Steps that are known before one is slow: one of 100 is the slowest of them in any case. */
#define AIF_SLOW_P99_AFTER    128
#define AIF_SLOW_FACTOR_AFTER 32
/* Snapshots of one recording, and the time from a slow step's end to the begin of the next one that gets its own. */
#define AIF_SLOW_SNAPSHOTS 10
#define AIF_SLOW_APART_NS  UINT64_C(10000000000)
/* Kinds of steps; those of others are counted. */
#define AIF_SLOW_KINDS 64

struct aif_slow_step {
	uint32_t name, process;    /* string and process of the profile */
	uint64_t number;           /* by its name, else among its kind, from 0 */
	uint64_t from_ns, to_ns;   /* since the recording's start */
	uint64_t before;           /* steps of its kind that were before it */
	uint64_t usual_ns, p99_ns; /* median and 99th percentile of the steps before; 0: none */
};

struct aif_slow_kind;
struct aif_slow_steps {
	struct aif_slow_limit limit;
	bool (*is_asked)(void *arg, const char *name); /* NULL: marked steps */
	void *arg;
	const struct aif_profile *p; /* the rows are of, set before they are taken */
	struct aif_slow_kind *kinds;
	size_t kinds_len;
	struct aif_strset names; /* names of kinds, without the step number */
	struct aif_map known;    /* string of the profile: which of .names; AIF_NONE: no step */
	bool has_marks;
	struct aif_slow_step found, last;
	bool has_found;
	uint64_t steps, slow, left_out, others; /* others: of kinds beyond AIF_SLOW_KINDS */
	unsigned snapshots;
};

/* Takes rows of ops, in the order in which they come; a callback of aif_profile_ops(). 0 or -ENOMEM. */
int aif_slow_steps_take(void *slow_steps, const struct aif_op_row *rows, size_t n);
/* Goes on behind .found, which has its snapshot. */
void aif_slow_steps_next(struct aif_slow_steps *s);
void aif_slow_steps_finish(struct aif_slow_steps *s);
