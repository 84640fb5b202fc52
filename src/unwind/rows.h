/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/row.h"

#include <stdatomic.h>

/*
 * The process-wide map: address -> row. Insert only, lock-free, usable from signal handlers.
 *
 * A node belongs to one (address, generation); its key holds both. A writer claims a node by changing
 * its key to BUSY, writes the row, then the new key. A node of an earlier generation may be claimed
 * again, so a reader looks at the key before and after it read the row. Who meets a BUSY node goes on:
 * two nodes for one key may arise and are harmless, since both hold the same row. Nobody waits, so a
 * handler that interrupts a writer is safe.
 *
 * `hint` links frames: the index of the node that came next, at the caller, last time. It is only a
 * guess, verified by the key, and saves hashing and one cache line: 5 to 9 ns a frame instead of 9 to
 * 11. It may be any value below AIF_ROWS_LEN at any time.
 */

/* Launches of a PyTorch process need a few hundred rows. Memory that no row hashes to is never
 * touched. */
#define AIF_ROWS_BITS 16
#define AIF_ROWS_LEN  (1u << AIF_ROWS_BITS)
#define AIF_ROWS_NONE UINT32_MAX

/* User addresses have 47 bits, which leaves 17 for the generation. When these wrap around, the map
 * is emptied (aif_rows_clear). */
#define AIF_ROWS_ADDRESS_BITS    47
#define AIF_ROWS_GENERATION_MASK ((1u << (64 - AIF_ROWS_ADDRESS_BITS)) - 1)

struct aif_row_node {
	_Alignas(32) _Atomic uint64_t key; /* 0: free */
	_Atomic uint64_t row;
	_Atomic uint32_t hint;
};

struct aif_rows {
	struct aif_row_node nodes[AIF_ROWS_LEN];
};

static inline uint64_t aif_rows_key(uint64_t address, uint32_t generation)
{
	return address | (uint64_t)generation << AIF_ROWS_ADDRESS_BITS;
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

/* The node of `key`, AIF_ROWS_NONE if there is none. Keys are of addresses from 4096 on. */
uint32_t aif_rows_find(const struct aif_rows *r, uint64_t key, uint64_t *ret_row);

/* Keeps a row that was not found. The node, or AIF_ROWS_NONE if all places for it are taken. */
uint32_t aif_rows_insert(struct aif_rows *r, uint64_t key, uint64_t row);

/* Forgets all. Others may read and insert meanwhile. */
void aif_rows_clear(struct aif_rows *r);
