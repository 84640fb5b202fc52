/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "profile/attribution.h"

/* What CPU samples add up to, by stack. */
struct aif_cpu_stack {
	uint32_t stack; /* AIF_NONE: not known */
	uint64_t weight_ns, samples;
};

struct aif_cpu_totals {
	struct aif_cpu_stack *stacks; /* in the order in which they were first met */
	size_t stacks_len, stacks_cap;
	uint64_t weight_ns, samples;
	size_t threads;
};

/* Of the processes, threads and times that `which` (NULL: all) names. *ret is finished by the caller, also
 * after a failure. 0 or -errno with *err. */
int aif_cpu_totals(const struct aif_profile *p, const struct aif_attribution_opts *which,
		   struct aif_cpu_totals *ret, struct aif_err *err);
void aif_cpu_totals_finish(struct aif_cpu_totals *t);

/* "3.2 s on CPU in 4 threads, sampled at 99 Hz": how it was measured belongs to what was. */
void aif_cpu_totals_say(const struct aif_profile *p, const struct aif_cpu_totals *t,
			struct aif_buf *out);
