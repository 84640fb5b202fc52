/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * Steps of programs that mark ranges and no steps: record_function("step 17"), nvtx.range_push("iteration 3"). A name is
 * a step's where it has one of the words "step", "iteration", "iter" and "batch" at its end, at most a number behind it,
 * and before it nothing but a domain ("megatron:") and words that say of which kind of steps it is: "train_step",
 * "decode step 5", "global-batch". So an "optimizer step" is none.
 */
bool aif_step_names_match(const char *name);

/* AIF_STEP_NAMES_LEAST ranges with such names, of one thread, are steps: fewer are no loop. */
#define AIF_STEP_NAMES_LEAST 3

struct aif_step_names {
	bool is_marked;  /* the program marks steps as such, so that no range is one */
	bool are_enough; /* a thread has so many */
	const struct aif_profile *p;
	unsigned char *what; /* by string */
	uint32_t *count;     /* by thread */
};

/* Makes room for names and threads; finished by the caller in any case. 0 or -ENOMEM. */
int aif_step_names_init(struct aif_step_names *n, const struct aif_profile *p);
/* Looks at a row: at all of a profile's, before the others below are called. */
void aif_step_names_see(struct aif_step_names *n, const struct aif_op_row *row);
/* True if the profile has steps, marked or by the names of ranges. */
static inline bool aif_step_names_any(const struct aif_step_names *n)
{
	return n->is_marked || n->are_enough;
}
/* True if ranges of that name, a string, are steps. */
bool aif_step_names_is(const struct aif_step_names *n, uint32_t name);
void aif_step_names_finish(struct aif_step_names *n);
