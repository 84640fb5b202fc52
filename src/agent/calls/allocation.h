/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/emit.h"

/*
 * Memory that is allocated and released, as MEMORY records: how much, by whom, whenever a recorder listens. Sizes are
 * written in all blocks of the overhead budget, so sums are exact. A stack is captured in its on-blocks, and always for
 * AIF_ALLOCATION_LARGE bytes and more: a program allocates few such blocks, and they are nearly all that a device holds.
 *
 *     struct aif_allocation a;
 *     if (aif_allocation_begin(&a)) {
 *         ... defines the device in a.thread ...
 *         aif_allocation_end(&a, &(struct aif_emit_memory){...}, regs, api);
 *     }
 *
 * A release is written before the vendor's call, whose memory another thread may be given in a moment, an allocation
 * after it.
 */
#define AIF_ALLOCATION_LARGE (UINT64_C(1) << 20)

struct aif_allocation {
	struct aif_thread *thread;
	uint64_t time;
	enum aif_busy was;
	int saved; /* errno */
	struct aif_emit_cost cost;
};

/* False: nobody listens, or this thread cannot write now. */
bool aif_allocation_begin(struct aif_allocation *a);
/* Counts an allocation that cannot be recorded, as its device is not known. */
void aif_allocation_unplaced(void);
/* regs NULL: without a stack. m's time and stack are set here. */
void aif_allocation_end(struct aif_allocation *a, struct aif_emit_memory *m,
			const struct aif_regs *regs, const struct aif_emit_api *api);
