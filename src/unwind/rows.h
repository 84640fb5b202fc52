/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/arch.h"
#include "unwind/row.h"

#include <stdatomic.h>

/*
 * The process-wide map: address -> row. Insert only, lock-free, usable from signal handlers.
 *
 * A node belongs to one (address, generation); its key holds both. A writer claims a node by
 * changing its key to BUSY, writes the row, then the new key. A node of an earlier generation may
 * be claimed again, so a reader looks at the key before and after it read the row. A node of a
 * later one may not: a thread that lags behind would bring a key back, and a reader who saw it go
 * and come again would take another key's row for its own.
 *
 * Who meets a BUSY node goes on: two nodes for one key may arise and are harmless, since both hold
 * the same row. Nobody waits, so a handler that interrupts a writer is safe.
 *
 * A hit writes nothing. Nodes that also remembered which row came next last time were tried: a few
 * per cent faster for one thread with few stacks, but threads that come from different callers then
 * take the cache lines from each other, and each becomes two to three times slower.
 */

/* 1 MB. Launches of a PyTorch process need a few hundred rows; memory that no row hashes to is
 * never touched. */
#define AIF_ROWS_BITS 16
#define AIF_ROWS_LEN  (1u << AIF_ROWS_BITS)

/* User addresses have 47 or 48 bits, which leaves 17 or 16 for the generation. When these wrap
 * around, the map must be emptied (aif_rows_clear). */
#define AIF_ROWS_ADDRESS_BITS    AIF_ARCH_ADDRESS_BITS
#define AIF_ROWS_GENERATION_MASK ((1u << (64 - AIF_ROWS_ADDRESS_BITS)) - 1)

struct aif_row_node {
	_Alignas(16) _Atomic uint64_t key; /* 0: free */
	_Atomic uint64_t row;
};

struct aif_rows {
	struct aif_row_node nodes[AIF_ROWS_LEN];
};

/* `address` is below 1 << AIF_ROWS_ADDRESS_BITS and above 1. */
static inline uint64_t aif_rows_key(uint64_t address, uint32_t generation)
{
	return address | (uint64_t)generation << AIF_ROWS_ADDRESS_BITS;
}

/* Returns the first of a key's places, by the address alone: what is learned anew after a module
 * went away lands on, and so reclaims, its own stale node. */
static inline uint32_t aif_rows_first(uint64_t address)
{
	return (uint32_t)((address * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - AIF_ROWS_BITS));
}

/* The row in `node`, if it is that of `key`. */
static inline bool aif_rows_read(const struct aif_row_node *node, uint64_t key, uint64_t *ret_row)
{
	uint64_t row;

	if (atomic_load_explicit(&node->key, memory_order_acquire) != key)
		return false;
	row = atomic_load_explicit(&node->row, memory_order_acquire);
	if (aif_unlikely(atomic_load_explicit(&node->key, memory_order_relaxed) != key))
		return false;
	*ret_row = row;
	return true;
}

bool aif_rows_find(const struct aif_rows *r, uint64_t key, uint64_t *ret_row);

/* Keeps a row that was not found. If all its places are taken it is not kept. */
void aif_rows_insert(struct aif_rows *r, uint64_t key, uint64_t row);

/* Forgets all. Others may read and insert meanwhile. */
void aif_rows_clear(struct aif_rows *r);
