/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "names/names.h"
#include "names/profile_names.h"
#include "names/tree.h"

/*
 * Device time by the host functions and lines that launched it, directly or through their callees.
 * Functions are named and folded as in the flame graph; two functions of one name in two files stay
 * apart. A function that recurs on a stack, or a line that does, has the stack's time once. Work of
 * a CUDA graph counts for the stack that captured its nodes where that is known, else for the
 * replay's; work of PyTorch's backward for the forward that made it (analysis/backward.h).
 */
struct aif_launch_function {
	uint32_t name; /* in .tree: aif_launch_function_name() */
	uint32_t file; /* string of the profile */
	uint64_t ns;
	size_t first, len;   /* its lines: .lines[first] to .lines[first + len - 1] */
	bool is_application; /* no framework's or standard library's (caller_rules.def) */
};

struct aif_launch_line {
	uint32_t function;     /* index in .at until that is sorted; meaningless afterwards */
	uint32_t frame, depth; /* a frame that stands on the line, and its inline depth there */
	uint64_t ns;
};

struct aif_launch_functions {
	struct aif_tree tree; /* has the functions' names, no nodes */
	/* The application's functions first, then by time, longest first. */
	struct aif_launch_function *at;
	size_t len, cap;
	struct aif_launch_line *lines;
	size_t lines_len, lines_cap;
	uint64_t time_ns; /* device time of all launches, those without a stack included */
};

/* Finds the functions with a line that is known. *ret is finished by the caller, also after a
 * failure. 0 or -errno with *err. */
int aif_launch_functions_find(const struct aif_names *names, const struct aif_attribution *a,
			      struct aif_launch_functions *ret, struct aif_err *err);
void aif_launch_functions_finish(struct aif_launch_functions *f); /* a zeroed struct is allowed */

const char *aif_launch_function_name(const struct aif_launch_functions *f,
				     const struct aif_launch_function *of);
