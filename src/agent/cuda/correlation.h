/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdatomic.h>

/*
 * From CUPTI's correlation ids to launches. The launch callback leaves the launch's number in a table, from which the
 * execution takes it; an entry lives as long as it takes for AIF_CUDA_CORRELATIONS more launches: 4 s at the 68,000
 * launches/s of a fast decode, against some 0.3 s that a record is under way. A graph's executions all have the
 * correlation id of its launch.
 */
#define AIF_CUDA_CORRELATIONS (1u << 18)

#define AIF_CUDA_NOT_CAPTURED (UINT64_MAX - 1) /* the budget left it out */
#define AIF_CUDA_CONFUSED     (UINT64_MAX - 2) /* CUPTI gave several launches this number */

struct aif_cuda_correlation {
	_Atomic uint64_t id; /* correlation id + 1; 0 = free */
	_Atomic uint64_t launch;
};

static inline void aif_cuda_correlation_set(struct aif_cuda_correlation *all, uint32_t correlation,
					    uint64_t launch)
{
	struct aif_cuda_correlation *c = &all[correlation % AIF_CUDA_CORRELATIONS];

	/* No reader may take the new number for the old id's. */
	atomic_store_explicit(&c->id, 0, memory_order_relaxed);
	atomic_store_explicit(&c->launch, launch, memory_order_release);
	atomic_store_explicit(&c->id, (uint64_t)correlation + 1, memory_order_release);
}

/* Fetches the entry that is about to be set. */
static inline void aif_cuda_correlation_prefetch(struct aif_cuda_correlation *all,
						 uint32_t correlation)
{
	__builtin_prefetch(&all[correlation % AIF_CUDA_CORRELATIONS], 1);
}

/* False: unknown, or overwritten. */
static inline bool aif_cuda_correlation_get(struct aif_cuda_correlation *all, uint32_t correlation,
					    uint64_t *ret_launch)
{
	struct aif_cuda_correlation *c = &all[correlation % AIF_CUDA_CORRELATIONS];
	uint64_t id = (uint64_t)correlation + 1;

	if (atomic_load_explicit(&c->id, memory_order_acquire) != id)
		return false;
	*ret_launch = atomic_load_explicit(&c->launch, memory_order_acquire);
	return atomic_load_explicit(&c->id, memory_order_acquire) == id;
}

/* Forgets all of them. */
static inline void aif_cuda_correlations_clear(struct aif_cuda_correlation *all)
{
	for (unsigned i = 0; i < AIF_CUDA_CORRELATIONS; i++)
		if (atomic_load_explicit(&all[i].id, memory_order_relaxed))
			atomic_store_explicit(&all[i].id, 0, memory_order_relaxed);
}
