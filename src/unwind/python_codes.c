/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/python_codes.h"

#include <errno.h>

static uint32_t place(uint64_t code, unsigned probe)
{
	return (aif_python_codes_first(code) + probe) & (AIF_PYTHON_CODES_LEN - 1);
}

uint32_t aif_python_codes_find_more(const struct aif_python_codes *c, uint64_t code)
{
	for (unsigned i = 0; i < AIF_PYTHON_CODES_PROBES; i++) {
		const struct aif_python_code_node *node = &c->nodes[place(code, i)];
		uint32_t id = aif_python_codes_at(node, code);

		if (id)
			return id;
		if (atomic_load_explicit(&node->key, memory_order_relaxed) == 0)
			break;
	}
	return 0;
}

int aif_python_codes_insert(struct aif_python_codes *c, uint64_t code, uint32_t id)
{
	for (unsigned i = 0; i < AIF_PYTHON_CODES_PROBES; i++) {
		struct aif_python_code_node *node = &c->nodes[place(code, i)];
		uint64_t key = atomic_load_explicit(&node->key, memory_order_relaxed);

		if (key != 0 && key != AIF_PYTHON_CODES_GRAVE)
			continue;
		if (!atomic_compare_exchange_strong_explicit(
			    &node->key, &key, AIF_PYTHON_CODES_BUSY, memory_order_acquire,
			    memory_order_relaxed))
			continue;
		atomic_store_explicit(&node->id, id, memory_order_release); /* BUSY is seen first */
		atomic_store_explicit(&node->key, code, memory_order_release);
		return 0;
	}
	return -ENOSPC;
}

void aif_python_codes_remove(struct aif_python_codes *c, uint64_t code)
{
	for (unsigned i = 0; i < AIF_PYTHON_CODES_PROBES; i++) {
		struct aif_python_code_node *node = &c->nodes[place(code, i)];
		uint64_t key = atomic_load_explicit(&node->key, memory_order_relaxed);

		if (key == 0)
			break;
		if (key == code) {
			atomic_store_explicit(&node->key, AIF_PYTHON_CODES_GRAVE,
					      memory_order_release);
			atomic_fetch_add(&c->deaths, 1);
		}
	}
}

/* A node that somebody writes at this moment stays: its code object is alive. */
void aif_python_codes_clear(struct aif_python_codes *c)
{
	for (unsigned i = 0; i < AIF_PYTHON_CODES_LEN; i++) {
		uint64_t key = atomic_load_explicit(&c->nodes[i].key, memory_order_relaxed);

		if (key > AIF_PYTHON_CODES_BUSY)
			atomic_compare_exchange_strong(&c->nodes[i].key, &key,
						       AIF_PYTHON_CODES_GRAVE);
	}
	atomic_fetch_add(&c->deaths, 1);
}
