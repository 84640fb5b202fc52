/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

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
	uint32_t next; /* the next new id */
};

static inline size_t aif_idtable_bytes(uint32_t max)
{
	return (size_t)max * 2 * sizeof(struct aif_id_entry);
}

void aif_idtable_init(struct aif_idtable *t, void *memory, uint32_t min, uint32_t max);

/* Forgets the entries; ids go on. */
void aif_idtable_clear(struct aif_idtable *t);

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
