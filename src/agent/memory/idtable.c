/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/memory/idtable.h"

#include <string.h>

void aif_idtable_init(struct aif_idtable *t, void *memory, uint32_t min, uint32_t max)
{
	*t = (struct aif_idtable){.memory = memory, .min = min, .max = max, .cap = min};
}

void aif_idtable_clear(struct aif_idtable *t)
{
	/* All sizes used so far: growing expects zeroed memory. */
	memset(t->memory + t->min, 0, (size_t)(2 * t->cap - t->min) * sizeof(*t->memory));
	t->cap = t->min;
	t->len = 0;
	t->clears++;
}

static void grow(struct aif_idtable *t)
{
	struct aif_id_entry *old = t->memory + t->cap, *end = old + t->cap;

	t->cap *= 2;
	for (; old < end; old++)
		if (old->hash)
			*aif_idtable_find(t, old->hash, old->check) = *old;
}

bool aif_idtable_take(struct aif_idtable *t, struct aif_id_entry *free_entry, uint64_t hash,
		      uint32_t check)
{
	bool taken = aif_idtable_also(t, free_entry, hash, check, t->next);

	t->next += taken;
	return taken;
}

bool aif_idtable_also(struct aif_idtable *t, struct aif_id_entry *free_entry, uint64_t hash,
		      uint32_t check, uint32_t id)
{
	if (t->len >= t->max / 2)
		return false;
	*free_entry = (struct aif_id_entry){.hash = hash, .id = id, .check = check};
	if (++t->len > t->cap / 2 && t->cap < t->max)
		grow(t);
	return true;
}
