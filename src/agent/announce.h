/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Modules that this thread's ring has reported to the recorder. Each ring reports its own, and no record refers to
 * another ring's: rings are read one after the other, and where libraries come and go at the same addresses, what one
 * ring says of them may be older or newer than a stack in another. Only new stacks come here. */

struct aif_thread;

struct aif_announced {
	uint32_t unwind_generation; /* for which `module` holds */
	uint32_t len;
	struct aif_announced_module {
		uint64_t lo, hi;
	} module[1024]; /* more are told again and again, which is only a waste */
};

/* MODULE records for what the pcs lie in and was not told yet, JIT records for what is in no module. All but pcs[0] are return addresses. */
void aif_announce_modules(struct aif_thread *t, const uint64_t *pcs, unsigned depth);
