/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"

/*
 * A thread's own table 64-bit hash -> small id, for stacks and shapes. It never allocates: the owner
 * hands it 2 * max entries of zeroed, untouched memory, and a table of n entries lies at entry n of
 * it, so that each doubling moves to fresh pages and a thread with few stacks touches few pages:
 *
 *     entry 0        min     2*min          4*min                           max           2*max
 *     |   unused     | table | next table   | the one after                 | ... |       |
 *
 * Identity is the 64-bit hash and a check word (a stack's depth): with 10,000 stacks of one depth the
 * chance that any two share an id is 3e-12, less than that of a flipped bit in memory.
 */
struct aif_id_entry {
	uint64_t hash; /* 0 = free */
	uint32_t id, check;
};

struct aif_idtable {
	struct aif_id_entry *memory;
	uint32_t min, max; /* entries, powers of two */
	uint32_t cap, len;
	uint32_t next;   /* the next new id */
	uint32_t clears; /* times that entries were forgotten */
};

static inline size_t aif_idtable_bytes(uint32_t max)
{
	return (size_t)max * 2 * sizeof(struct aif_id_entry);
}

void aif_idtable_init(struct aif_idtable *t, void *memory, uint32_t min, uint32_t max);

/* Forgets the entries; ids go on. */
void aif_idtable_clear(struct aif_idtable *t);

/* Hashes n words. The hash may be 0, which a table takes for a free entry. */
static inline uint64_t aif_idtable_hash(const uint64_t *p, size_t n)
{
	/* Two lanes, so that a multiplication need not wait for the one before it. */
	uint64_t a = n, b = ~n;

	for (; n > 1; n -= 2, p += 2) {
		a = (a ^ p[0]) * UINT64_C(0x9e3779b97f4a7c15);
		a ^= a >> 32;
		b = (b ^ p[1]) * UINT64_C(0xc2b2ae3d27d4eb4f);
		b ^= b >> 29;
	}
	if (n)
		a = (a ^ p[0]) * UINT64_C(0x9e3779b97f4a7c15);
	return aif_mix64(a ^ aif_mix64(b));
}

/* The entry of (hash, check), or the free one where it belongs. */
static inline struct aif_id_entry *aif_idtable_find(struct aif_idtable *t, uint64_t hash,
						    uint32_t check)
{
	struct aif_id_entry *table = t->memory + t->cap, *e;
	uint64_t i = hash;

	do
		e = &table[i++ & (t->cap - 1)];
	while (e->hash && (e->hash != hash || e->check != check));
	return e;
}

/* Takes the free entry that aif_idtable_find() returned; gives it the next id. False when the table is
 * full: clear it first. The entry may have moved: it is not to be used afterwards. */
bool aif_idtable_take(struct aif_idtable *t, struct aif_id_entry *free_entry, uint64_t hash,
		      uint32_t check);
/* The same for another name of what has an id already. */
bool aif_idtable_also(struct aif_idtable *t, struct aif_id_entry *free_entry, uint64_t hash,
		      uint32_t check, uint32_t id);
