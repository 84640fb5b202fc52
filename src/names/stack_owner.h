/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * The owner of the thread of a stack: libraries start threads of their own in a program. The owner
 * follows from the file of the function that the thread was started with, which is the outermost
 * frame; complete stacks only.
 */
enum aif_stack_owner {
	AIF_OWNER_PROGRAM = 0,
	AIF_OWNER_CUPTI,   /* started by CUPTI for itself, for whoever has it measure */
	AIF_OWNER_AIFLAME, /* the agent's */
	AIF_OWNER_COUNT
};

/* Returns the owner of each stack, in memory for free(). NULL when memory runs out. */
uint8_t *aif_stack_owners(const struct aif_profile *p);

/* CPU time of CUPTI's threads, by CPU samples, in processes whose launches it told aiflame. */
struct aif_cupti_cpu {
	uint64_t ours_ns; /* where nobody else is known to have had it work */
	uint64_t
		shared_ns; /* where somebody else did, too, or tried: at most this was for aiflame */
};
/* Sums up the CPU time of CUPTI's threads; 0 in imported profiles. 0 or -errno. */
int aif_cupti_cpu(const struct aif_profile *p, struct aif_cupti_cpu *ret);
/* "about 1.71 s" or "at most 1.71 s" between the two; nothing where there is none. */
void aif_cupti_cpu_describe(const struct aif_profile *p, const char *before, const char *after,
			    struct aif_buf *out);
