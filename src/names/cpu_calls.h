/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/cpu_functions.h"

/*
 * CPU time of functions by line, with what each line calls: of a sample, the time of a line is that of its function's
 * outermost call there, however often the line recurs, and is of the next function on the stack that is shown.
 */
struct aif_cpu_call {
	uint32_t function; /* in .at of the functions */
	uint32_t callee;   /* in .at of the functions; AIF_NONE: none, the time is the line's own */
	uint32_t frame,
		depth; /* of the profile: a frame that stands on the line, and its inline depth */
	uint32_t line; /* 0: not known */
	uint64_t ns;
};

struct aif_cpu_calls {
	struct aif_cpu_call *at; /* by function, then line, then most time first */
	size_t len, cap;
};

/* Sums up all samples for the functions for which wanted[index in f->at] is true. *ret is finished by the caller, also after
 * a failure. 0 or -errno with *err. */
int aif_cpu_calls_find(const struct aif_names *names, struct aif_cpu_functions *f,
		       const bool *wanted, struct aif_cpu_calls *ret, struct aif_err *err);
void aif_cpu_calls_finish(struct aif_cpu_calls *c); /* a zeroed struct is allowed */
