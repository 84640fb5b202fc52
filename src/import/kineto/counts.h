/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/builder.h"
#include "import/kineto/aiu.h"

/* Report on a file at its end: how much was read, and what was left out. */

/* Events of one category that are not kept. */
struct kineto_left_out {
	char what[32];
	uint64_t count;
};
#define KINETO_LEFT_OUT_MAX 12 /* the last one is for all others */

struct kineto_group { /* calls of AIU's runtime */
	uint64_t calls, ns;
};

struct kineto_counts {
	uint64_t events, errors, bad, unended, not_kept, not_kept_flows;
	uint64_t partial, too_deep, guessed_threads, duplicates, misjoined, repeated;
	uint64_t python_calls; /* functions of Python that the profiler of the trace followed */
	uint64_t guessed_owners;
	uint64_t overflowed; /* buffers of the program that wrote the trace */
	uint64_t
		samples; /* CPU samples that stand beside the events; counted in those not kept, too */
	int64_t overhead_ns;
	struct kineto_left_out left_out[KINETO_LEFT_OUT_MAX];
	struct kineto_group aiu[AIF_AIU_GROUP_COUNT];
	char first_error[160], end_error[160];
	bool is_torn;
};

/* Counts n events of a category, of which KINETO_LEFT_OUT_MAX are kept apart. */
void kineto_leave_out(struct kineto_left_out *l, const char *what, size_t len, uint64_t n);
/* Adds the file's losses to the profile. */
void kineto_counts_report(const struct kineto_counts *c, struct aif_builder *b, const char *file);
