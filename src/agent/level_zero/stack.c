/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

/* Stacks of indices, with a change count that keeps a slow thread from taking back a head that has come and gone. */

void aif_ze_push(struct aif_ze_stack *s, _Atomic uint32_t *next, uint32_t index)
{
	uint64_t old = atomic_load_explicit(&s->head, memory_order_relaxed), new;

	do {
		atomic_store_explicit(next, (uint32_t)old, memory_order_relaxed);
		new = ((old >> 32) + 1) << 32 | (index + 1);
	} while (!atomic_compare_exchange_weak_explicit(&s->head, &old, new, memory_order_release,
							memory_order_relaxed));
}

uint32_t aif_ze_pop(struct aif_ze_stack *s, void *base, size_t size, size_t next)
{
	uint64_t old = atomic_load_explicit(&s->head, memory_order_acquire), new;
	uint32_t index;

	do {
		if (!(uint32_t)old)
			return AIF_WIRE_NONE;
		index = (uint32_t)old - 1;
		new = ((old >> 32) + 1) << 32 |
		      atomic_load_explicit(
			      (_Atomic uint32_t *)((uint8_t *)base + index * size + next),
			      memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(&s->head, &old, new, memory_order_acquire,
							memory_order_acquire));
	return index;
}
