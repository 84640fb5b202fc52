/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/memory/handles.h"

#include "agent/memory/pages.h"
#include "base/map.h"

#include <errno.h>

#define FIRST_CAP 256

static struct aif_handle_slot *slot_of(struct aif_handle_table *t, uint64_t key)
{
	for (uint64_t i = aif_mix64(key);; i++) {
		struct aif_handle_slot *s = &t->slots[i & (t->cap - 1)];
		uint64_t k = atomic_load_explicit(&s->key, memory_order_acquire);

		if (k == key || !k)
			return s;
	}
}

void *aif_handles_get(const struct aif_handles *h, const void *handle)
{
	struct aif_handle_table *t = atomic_load_explicit(&h->table, memory_order_acquire);

	for (uint64_t i = aif_mix64((uintptr_t)handle); t && handle; i++) {
		struct aif_handle_slot *s = &t->slots[i & (t->cap - 1)];
		uint64_t key = atomic_load_explicit(&s->key, memory_order_acquire);

		/* Not its value then: the slot may have been taken for another since. */
		if (!key)
			return NULL;
		if (key == (uintptr_t)handle)
			return atomic_load_explicit(&s->value, memory_order_acquire);
	}
	return NULL;
}

static void put(struct aif_handle_table *t, uint64_t key, void *value)
{
	struct aif_handle_slot *s = slot_of(t, key);

	t->len += !atomic_load_explicit(&s->key, memory_order_relaxed);
	atomic_store_explicit(&s->value, value, memory_order_release);
	atomic_store_explicit(&s->key, key, memory_order_release);
}

int aif_handles_put(struct aif_handles *h, const void *handle, void *value)
{
	struct aif_handle_table *t = atomic_load_explicit(&h->table, memory_order_relaxed), *new;
	size_t cap = t ? t->cap * 2 : FIRST_CAP;
	struct aif_handle_slot *known = t ? slot_of(t, (uintptr_t)handle) : NULL;

	if (known && atomic_load_explicit(&known->key, memory_order_relaxed)) {
		atomic_store_explicit(&known->value, value, memory_order_release);
		return 0;
	}
	if (!t || t->len >= t->cap / 2) {
		new = aif_pages(sizeof(*new) + cap * sizeof(new->slots[0]));
		if (!new)
			return -ENOMEM;
		new->cap = cap;
		for (size_t i = 0; t && i < t->cap; i++)
			if (t->slots[i].key)
				put(new, t->slots[i].key, t->slots[i].value);
		atomic_store_explicit(&h->table, new, memory_order_release);
		t = new;
	}
	put(t, (uintptr_t)handle, value);
	return 0;
}
