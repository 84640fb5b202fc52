/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/rows.h"

static_assert(sizeof(struct aif_row_node) == 16, "four nodes a cache line, none across two");

#define BUSY UINT64_C(1)

/* A key has this many places, neighbours: 4 cache lines. With all taken (the map is nearly full:
 * tens of thousands of rows) its row is computed each time, 0.5 us. */
#define PLACES 16

static uint32_t first_place(uint64_t key)
{
	return aif_rows_first(key & ((UINT64_C(1) << AIF_ROWS_ADDRESS_BITS) - 1));
}

/* Is `old` of an earlier generation than `key`? They wrap around: the half behind is earlier. */
static bool is_earlier(uint64_t old, uint64_t key)
{
	uint64_t ahead = (key >> AIF_ROWS_ADDRESS_BITS) - (old >> AIF_ROWS_ADDRESS_BITS);

	ahead &= AIF_ROWS_GENERATION_MASK;
	return ahead != 0 && ahead <= AIF_ROWS_GENERATION_MASK / 2;
}

bool aif_rows_find(const struct aif_rows *r, uint64_t key, uint64_t *ret_row)
{
	uint32_t at = first_place(key);

	for (unsigned i = 0; i < PLACES; i++, at = (at + 1) % AIF_ROWS_LEN) {
		if (aif_rows_read(&r->nodes[at], key, ret_row))
			return true;
		if (atomic_load_explicit(&r->nodes[at].key, memory_order_relaxed) == 0)
			break; /* nodes never become free again but all at once */
	}
	return false;
}

void aif_rows_insert(struct aif_rows *r, uint64_t key, uint64_t row)
{
	uint32_t at = first_place(key);

	for (unsigned i = 0; i < PLACES; i++, at = (at + 1) % AIF_ROWS_LEN) {
		struct aif_row_node *node = &r->nodes[at];
		uint64_t old = atomic_load_explicit(&node->key, memory_order_relaxed);

		if (old == BUSY || (old != 0 && !is_earlier(old, key)))
			continue;
		if (!atomic_compare_exchange_strong_explicit(
			    &node->key, &old, BUSY, memory_order_acq_rel, memory_order_relaxed))
			continue;
		/* release, so that a reader who sees this row also sees that the key was BUSY */
		atomic_store_explicit(&node->row, row, memory_order_release);
		atomic_store_explicit(&node->key, key, memory_order_release);
		return;
	}
}

void aif_rows_clear(struct aif_rows *r)
{
	for (uint32_t i = 0; i < AIF_ROWS_LEN; i++) {
		uint64_t old = atomic_load_explicit(&r->nodes[i].key, memory_order_relaxed);

		if (old != 0 && old != BUSY)
			atomic_compare_exchange_strong_explicit(&r->nodes[i].key, &old, 0,
								memory_order_acq_rel,
								memory_order_relaxed);
	}
}
