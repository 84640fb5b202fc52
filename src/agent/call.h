/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/standby.h"

#include <stdatomic.h>

/*
 * The recorder that was met last: one thread at a time writes it, others read it meanwhile, and nobody waits for
 * anybody. A copy that was made while it changed is made again.
 */
struct aif_call_slot {
	_Atomic uint32_t changes; /* odd: it is being changed */
	struct aif_call call;     /* plain for who writes it */
};

#define AIF_CALL_TRIES 1000

static inline void aif_call_set(struct aif_call_slot *s, const struct aif_call *call)
{
	const uint8_t *from = (const uint8_t *)call;
	uint8_t *to = (uint8_t *)&s->call;
	uint32_t changes = atomic_load_explicit(&s->changes, memory_order_relaxed);

	/* A reader that sees a byte of the new call sees that it is being changed. No fences: TSan knows none. */
	atomic_store_explicit(&s->changes, changes | 1, memory_order_relaxed);
	for (size_t i = 0; i < sizeof(*call); i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE);
	atomic_store_explicit(&s->changes, (changes | 1) + 1, memory_order_release);
}

/* False: it changes all the time. */
static inline bool aif_call_get(const struct aif_call_slot *s, struct aif_call *ret)
{
	const uint8_t *from = (const uint8_t *)&s->call;
	uint8_t *to = (uint8_t *)ret;

	for (unsigned tries = 0; tries < AIF_CALL_TRIES; tries++) {
		uint32_t changes = atomic_load_explicit(&s->changes, memory_order_acquire);

		for (size_t i = 0; i < sizeof(*ret); i++)
			to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
		if (!(changes & 1) &&
		    changes == atomic_load_explicit(&s->changes, memory_order_relaxed))
			return true;
	}
	return false;
}
