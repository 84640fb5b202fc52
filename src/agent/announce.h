/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <pthread.h>

/* Which modules the recorder was told about: process-wide, so that a library that 50 threads run
 * through is described once. Only new stacks come here. */

struct aif_thread;

struct aif_announced {
	pthread_mutex_t lock;
	uint32_t generation, unwind_generation; /* for which `module` holds */
	uint32_t len;
	struct aif_announced_module {
		uint64_t lo, hi;
	} module[1024]; /* more are told again and again, which is only a waste */
};

/* MODULE records for what the pcs lie in and was not told yet. All but pcs[0] are return addresses. */
void aif_announce_modules(struct aif_thread *t, const uint64_t *pcs, unsigned depth);
void aif_announced_init(struct aif_announced *a);
