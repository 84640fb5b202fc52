/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdatomic.h>

/*
 * The process-wide map: address of a code object -> its number. Lock-free, usable from signal
 * handlers.
 *
 * CPython reuses the memory of a dead code object at once (1,000 times compile and forget: one or
 * two addresses), so an address names a code object only while that lives. Numbers are never
 * reused. An entry is right as long as every death is told (aif_python_codes_remove), because who
 * looks up an address holds that code object alive, by a frame of its own.
 *
 * A node's key is 0 (never used), GRAVE (used, free again), BUSY (being written) or an address.
 * Keys do not become 0 again while anybody looks, so a look-up ends at a 0. Nobody waits: two
 * threads that meet one new code object at once may both enter it. It then has two numbers, which
 * say the same, and its death removes both.
 *
 * Who keeps what a list of addresses meant (capture.c) keeps `deaths` with it: as long as that is
 * the same, each address that had a number then has the same now.
 */

/* 512 KB, of which only what is hashed to is touched. A PyTorch process that trains and decodes
 * launches from some hundred code objects. */
#define AIF_PYTHON_CODES_BITS 15
#define AIF_PYTHON_CODES_LEN  (1u << AIF_PYTHON_CODES_BITS)

/* With half of the places taken, a look-up looks at 1.5 nodes on average, and 32 in a row are
 * all but never taken. */
#define AIF_PYTHON_CODES_PROBES 32

#define AIF_PYTHON_CODES_GRAVE UINT64_C(1)
#define AIF_PYTHON_CODES_BUSY  UINT64_C(2)

struct aif_python_codes {
	struct aif_python_code_node {
		_Alignas(16) _Atomic uint64_t key;
		_Atomic uint32_t id;
	} nodes[AIF_PYTHON_CODES_LEN];
	_Alignas(64) _Atomic uint64_t
		deaths; /* of code objects that had a number, and times that all were forgotten */
};

static inline uint32_t aif_python_codes_first(uint64_t code)
{
	return (uint32_t)((code * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - AIF_PYTHON_CODES_BITS));
}

/* The number in this node if it is that of `code`, else 0. All may be cleared, and the node be
 * another's, while we look. */
static inline uint32_t aif_python_codes_at(const struct aif_python_code_node *node, uint64_t code)
{
	uint32_t id;

	if (aif_unlikely(atomic_load_explicit(&node->key, memory_order_acquire) != code))
		return 0;
	id = atomic_load_explicit(&node->id, memory_order_acquire);
	if (aif_unlikely(atomic_load_explicit(&node->key, memory_order_relaxed) != code))
		return 0;
	return id;
}

uint32_t aif_python_codes_find_more(const struct aif_python_codes *c, uint64_t code);

/* The number of the live code object at `code`, or 0. */
static inline uint32_t aif_python_codes_find(const struct aif_python_codes *c, uint64_t code)
{
	uint32_t id = aif_python_codes_at(&c->nodes[aif_python_codes_first(code)], code);

	return aif_likely(id) ? id : aif_python_codes_find_more(c, code);
}

/* `code` is alive, held by a frame of the calling thread, and was not found. 0 or -ENOSPC. */
int aif_python_codes_insert(struct aif_python_codes *c, uint64_t code, uint32_t id);

/* The code object died: before its memory can be another's. */
void aif_python_codes_remove(struct aif_python_codes *c, uint64_t code);

/* Forgets all, for instance because deaths were not told for a while. */
void aif_python_codes_clear(struct aif_python_codes *c);
