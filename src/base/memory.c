/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_bool failed;

void aif_memory_fail(void)
{
	atomic_store_explicit(&failed, true, memory_order_relaxed);
}

bool aif_memory_failed(void)
{
	return atomic_load_explicit(&failed, memory_order_relaxed);
}

void *aif_memory_calloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		aif_memory_fail();
	return p;
}
