/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "analysis/attribution.h"

/* Stall reasons of each kernel's samples, added up: what the kernel waited for. Kernels of one name
 * are one. */

struct aif_stall_sum {
	uint32_t kernel; /* the first one of its name */
	uint32_t reason; /* of aif_stalls.reasons */
	uint64_t samples;
	uint64_t exposed; /* nothing was issued meanwhile; of reasons that distinguish it, else 0 */
};
struct aif_stall_kernel {
	uint32_t kernel;
	uint64_t wall_ns, samples; /* samples: with a reason */
	size_t first, len;         /* in .sums */
};
struct aif_stalls {
	const struct aif_profile *p;
	struct aif_strset reasons;        /* without the ending that says exposed */
	struct aif_map by_name;           /* a kernel's name -> its number in .kernels */
	struct aif_stall_kernel *kernels; /* that have samples with reasons; most wall time first */
	size_t kernels_len, kernels_cap;
	struct aif_stall_sum *sums; /* kernel by kernel, most samples first */
	size_t sums_len, sums_cap;
};

/* 0 or -ENOMEM; kernels_len is 0 where nothing is known. The profile must outlive it. */
int aif_stalls_init(struct aif_stalls *s, const struct aif_profile *p,
		    const struct aif_attribution *a);
void aif_stalls_finish(struct aif_stalls *s); /* a zeroed struct is allowed */

/* Appends what the kernel's samples waited for most: "long_scoreboard 41.2 %"; nothing if none is
 * known to wait. */
void aif_stalls_top(const struct aif_stalls *s, uint32_t kernel, struct aif_buf *out);
