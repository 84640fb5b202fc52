/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/scratch.h"
#include "profile/file.h"

/*
 * A profile without the launches of most of its steps (kept_steps.h): smaller by about as much. What is kept stands for
 * what is not, as where a recording's overhead budget left launches out, so that all views read it, and say of what they estimate how well they
 * know it. Where a thread that launches in each step has fewer than AIF_WEIGHTS_MIN launches by lot between two blocks that are certain, more steps are kept; one that launches less often keeps all of its launches there.
 * Launches, executions, operators and calls of steps that are not kept go; steps, ranges, CPU samples, counters, allocations and
 * the device's samples stay.
 */
struct aif_reduce_opts {
	uint32_t every;              /* one step of so many is kept, from 2 on */
	struct aif_scratch *scratch; /* for the profile while it is not whole; NULL: none */
};
struct aif_reduce_sum {
	uint64_t steps, by_lot, first, slow; /* of all processes, as in struct aif_kept_steps */
	size_t ranks;                        /* processes with steps */
	uint64_t launches, left_out;
	uint64_t whole; /* launches kept of threads with too few, in steps that are left out */
	uint64_t bytes, reduced_bytes; /* of the files */
};

/* Writes the reduced profile of `input` at `output`; it is whole or as it was before. 0 or -errno with *err. */
int aif_reduce_file(const char *input, const char *output, const struct aif_reduce_opts *opts,
		    struct aif_reduce_sum *ret, struct aif_err *err);
