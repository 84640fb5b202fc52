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
	bool is_marked; /* the program marks steps as such, so that no range is one */
	bool *is_step;  /* by string; NULL: no range is a step */
};

/* Reads the profile's ranges. *ret is finished by the caller in any case. 0 or -errno. */
int aif_step_names_read(const struct aif_profile *p, struct aif_step_names *ret);
void aif_step_names_finish(struct aif_step_names *n);
