/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Waits of a thread for a CPU, by the kernel's sum of them, which is looked at now and then. */
struct aif_outside_wait {
	uint64_t waited;    /* ns, ever, as far as it was told */
	uint64_t looked_ns; /* the last look */
};

/* A sum of waits that ended between two looks. */
struct aif_outside_waited {
	uint64_t
		since_ns; /* the first of the two looks, or when collecting began; waits of less than a millisecond may be from before */
	uint64_t ns;
};

void aif_outside_wait_init(struct aif_outside_wait *w, uint64_t waited, uint64_t now);
/* Looks at a thread. Returns true if it has waited for long enough since it was told last to be told: *ret. What it waited before collecting
 * began is not told; `collects_from`: 0: it has not begun. */
bool aif_outside_wait_look(struct aif_outside_wait *w, uint64_t waited, uint64_t now,
			   uint64_t collects_from, struct aif_outside_waited *ret);
