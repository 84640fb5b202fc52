/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "names/names.h"
#include "names/profile_names.h"
#include "names/tree.h"

/*
 * Device time by the host functions and lines that it was launched from, with what these call. Functions are named and folded
 * as the flame graph has them; those of one name in two files are two. A function that recurs on a stack has the stack's time once, and so has each of its lines. Work of
 * a graph is at what made its nodes where that is known, else at the replay; of PyTorch's backward at the forward that made it
 * (analysis/backward.h).
 */
struct aif_launch_function {
	uint32_t name, file; /* of .tree; string of the profile */
	uint64_t ns;
	size_t first, len; /* of .places */
	bool is_caller;    /* the application's, by caller_rules.def */
};

struct aif_launch_place {
	uint32_t function;     /* while they are found */
	uint32_t frame, depth; /* one that stands on the line */
	uint64_t ns;
};

struct aif_launch_functions {
	struct aif_tree tree;           /* of names only */
	struct aif_launch_function *at; /* the application's first, then by time */
	size_t len, cap;
	struct aif_launch_place *places;
	size_t places_len, places_cap;
	uint64_t time_ns; /* of all, also of stacks that are not known */
};

/* Finds the functions with a line that is known. *ret is finished by the caller, also after a failure. 0 or -errno with
 * *err. */
int aif_launch_functions_find(const struct aif_names *names, const struct aif_attribution *a,
			      struct aif_launch_functions *ret, struct aif_err *err);
void aif_launch_functions_finish(struct aif_launch_functions *f); /* a zeroed struct is allowed */

const char *aif_launch_function_name(const struct aif_launch_functions *f,
				     const struct aif_launch_function *of);
