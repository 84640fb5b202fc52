/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/code_index.h"
#include "names/filter.h"
#include "analysis/attribution.h"

/* The samples of kernels, by function and place: what a listing is made from. */

struct aif_hit {
	uint32_t kernel, function; /* numbers in the lists below */
	uint32_t frame, reason;    /* of the profile; the reason may be AIF_NONE */
	uint64_t offset;           /* from the function's beginning */
	uint64_t samples;
};
struct aif_hit_function {
	uint32_t kernel;
	const struct aif_code *code; /* NULL: not kept; offsets are the module's addresses */
	uint32_t frame;              /* one in it */
	bool is_kernel;              /* the kernel itself, not what it calls */
	bool is_imported; /* of a kernel without code: its names are those of its places */
	uint64_t samples;
	size_t first, len; /* in .hits */
};
struct aif_hit_kernel {
	uint32_t kernel; /* the first of its name */
	uint64_t wall_ns, launches, samples;
	size_t first, len; /* in .functions */
};
struct aif_hits {
	struct aif_code_index codes;
	struct aif_hit_kernel *kernels; /* most wall time first */
	size_t kernels_len, kernels_cap;
	struct aif_hit_function *functions; /* by kernel: itself first, then most samples first */
	size_t functions_len, functions_cap;
	struct aif_hit *hits; /* by function, offset, frame, reason */
	size_t hits_len, hits_cap;
};

/* Gathers the samples of the kernels that match. 0 or -ENOMEM. The names must outlive it. */
int aif_hits_init(struct aif_hits *h, const struct aif_names *names,
		  const struct aif_attribution *a, const struct aif_regex *kernel);
void aif_hits_finish(struct aif_hits *h); /* a zeroed struct is allowed */

/* Returns the function's name. */
const char *aif_hits_name(const struct aif_profile *p, const struct aif_hit_function *f);
