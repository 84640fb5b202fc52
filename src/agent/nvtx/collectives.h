/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/nvtx/ranges.h"

/*
 * Counts the collective operations that NCCL marks, by communicator (base/collective_counts.h), so that `aiflame stacks --ranks`
 * can say which rank of a job that hangs has not begun which operation. They are counted from the communicator's first operation on, whether
 * anybody records or not: a number that began with a recording would be another one on each rank. Any thread may call these, in any
 * place: nothing waits, nothing is allocated but once.
 */
#define AIF_NVTX_COLLECTIVES "NCCL"

/* The handle of that domain: compared at each push into a domain. */
extern _Atomic(const void *) aif_nvtx_collectives;
static inline bool aif_nvtx_is_of_collectives(const void *domain)
{
	return domain &&
	       domain == atomic_load_explicit(&aif_nvtx_collectives, memory_order_relaxed);
}
void aif_nvtx_collectives_are_of(const void *domain);

/* Counts the operation that a push of the domain begins: `message` is its registered name, `data` its payload, or NULL. */
void aif_nvtx_collective_begin(struct aif_nvtx *x, const struct aif_nvtx_world *w, uint32_t domain,
			       const void *message, const struct aif_nvtx_data *data);
/* Takes in what the end of a communicator's creation says of it. */
void aif_nvtx_communicator(struct aif_nvtx *x, const struct aif_nvtx_world *w, uint32_t domain,
			   const struct aif_nvtx_data *data);
