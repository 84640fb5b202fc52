/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/arch.h"

struct aif_word {
	uint64_t v;
} __attribute__((packed, may_alias));

/* Marks functions that read other functions' frames, which sanitizers forbid to ordinary code. */
#define AIF_READS_FRAMES __attribute__((no_sanitize("address", "thread", "undefined")))

/* The word at an address that is known to be readable, as far as the unwinder uses it; need not
 * be aligned. */
AIF_READS_FRAMES static inline uint64_t aif_peek(uint64_t at)
{
	return aif_arch_address(((const struct aif_word *)(uintptr_t)at)->v);
}
