/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "report/annotate_hits.h"
#include "isa/intel_eu.h"

/* Waits of a sampled instruction: its reasons and, of NVIDIA's and Intel's code, the
 * instructions behind them. */

/* A function's code, if it is one that tells that. */
struct aif_waits_code {
	const struct aif_code *code; /* NULL: it is not */
	unsigned sm;                 /* NVIDIA's, or 0 */
	enum aif_intel_eu gen;       /* Intel's */
	uint32_t *producers;         /* Intel's: aif_intel_eu_producers() */
};
/* `code` may be NULL. 0 or -ENOMEM. */
int aif_waits_code_init(struct aif_waits_code *c, const struct aif_profile *p,
			const struct aif_code *code);
void aif_waits_code_finish(struct aif_waits_code *c); /* a zeroed struct is allowed */

enum { AIF_WAITS_MAX = 2, AIF_WAITS_SOURCES = 2 };
struct aif_waits {
	struct aif_wait {
		const char *reason; /* of the profile, not terminated at .len */
		size_t len;
		uint64_t samples;
	} top[AIF_WAITS_MAX]; /* most samples first */
	size_t len;
	uint64_t sources[AIF_WAITS_SOURCES]; /* offsets; the nearest first */
	char names[AIF_WAITS_SOURCES][16];
	size_t sources_len;
};

/* Finds the waits of the instruction at `offset`, from its hits. */
void aif_waits_find(const struct aif_profile *p, const struct aif_hit *hits, size_t n,
		    const struct aif_waits_code *c, uint64_t offset, struct aif_waits *ret);

/* Appends "long_scoreboard 80 % waits for +0x0120 LDG, wait 20 %". */
void aif_waits_put(const struct aif_waits *w, uint64_t samples, struct aif_buf *out);

/* Appends a line with the reasons of a whole kernel; nothing if there are none. 0 or -ENOMEM. */
int aif_waits_head(const struct aif_profile *p, const struct aif_hits *h,
		   const struct aif_hit_kernel *k, struct aif_buf *out);
