/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Memory that the driver hands out and takes back: MEMORY records, by the callbacks of its calls. CUPTI's own records of
 * memory (CUPTI_ACTIVITY_KIND_MEMORY2) would bring the same without a stack, and would have to be switched.
 */
struct aif_cuda;
struct aif_cupti_callback;
struct aif_regs;

/* Effect of a call on memory, by its number, parameters and site. */
struct aif_cuda_allocation {
	uint64_t block, bytes;
	bool is_release, is_host;
};
/* False: nothing here and now. Pure. */
bool aif_cuda_allocation_read(uint32_t id, const struct aif_cupti_callback *cb,
			      struct aif_cuda_allocation *ret);
/* The numbers of calls that are watched; 0 after the last. */
uint32_t aif_cuda_memory_call_at(unsigned i);
bool aif_cuda_is_memory_call(uint32_t id);

/* Records what a call does that calls back. */
void aif_cuda_allocation(struct aif_cuda *cuda, uint32_t id, const struct aif_cupti_callback *cb,
			 const struct aif_regs *regs);
