/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <linux/filter.h>

/*
 * Finds out what a seccomp filter will answer, by running it: cBPF without maps or helpers, so that its answer follows from the
 * call alone. The program is about to install it, and the agent wants to know whether its own calls would end the
 * program.
 */

/* A system call. Arguments whose bit is not set in `known` may be anything; a filter that looks at one of them, or at the
 * address of the instruction, has no answer. */
struct aif_filter_call {
	int nr;
	uint32_t known;
	uint64_t args[6];
};

/* Returns the filter's answer (SECCOMP_RET_...); AIF_FILTER_UNKNOWN where that depends on more. */
#define AIF_FILTER_UNKNOWN 0x1ffffffffull
uint64_t aif_filter_run(const struct sock_filter *filter, unsigned len,
			const struct aif_filter_call *call);

enum aif_filter_allows {
	AIF_FILTER_ALLOWS_NOTHING = 0,
	/* Calls of a thread of the agent's that starts, waits, and ends. */
	AIF_FILTER_ALLOWS_WAITING = 1,
	/* All of the agent's calls, in its own threads and in those of the program. */
	AIF_FILTER_ALLOWS_ALL = 2,
};
enum aif_filter_allows aif_filter_check(const struct sock_filter *filter, unsigned len);
