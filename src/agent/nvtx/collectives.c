/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvtx/collectives.h"

#include "agent/memory/pages.h"
#include "base/collective_counts.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Parts of the names that NCCL gives to its payloads' fields, in all versions from 2.16 on; the communicator from 2.25.1 on. */
#define COMMUNICATOR "communicator"
#define BYTES        "essage size"
#define RANKS        "of ranks"
#define RANK         "Rank"

_Atomic(const void *) aif_nvtx_collectives;
AIF_PUBLIC extern _Atomic(struct aif_collective_counts *) aiflame_collective_counts;
_Atomic(struct aif_collective_counts *) aiflame_collective_counts;

void aif_nvtx_collectives_are_of(const void *domain)
{
	struct aif_collective_counts *c, *first = NULL;

	if (!atomic_load_explicit(&aiflame_collective_counts, memory_order_acquire)) {
		c = aif_pages(sizeof(*c));
		if (!c)
			return;
		c->magic = AIF_COLLECTIVE_COUNTS_MAGIC;
		c->size = sizeof(*c);
		if (!atomic_compare_exchange_strong(&aiflame_collective_counts, &first, c)) {
			int saved = errno;

			munmap(c, sizeof(*c));
			errno = saved;
		}
	}
	atomic_store_explicit(&aif_nvtx_collectives, domain, memory_order_release);
}

/* ---- kinds of operations ---- */

/* True for what all ranks of a communicator take part in, in one order. */
static bool is_collective(const char *name)
{
	static const char *const names[] = {"ncclAllGather", "ncclAllReduce", "ncclAlltoAll",
					    "ncclBroadcast", "ncclBcast",     "ncclGather",
					    "ncclReduce",    "ncclScatter"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Returns the number of a kind, made if it is new; AIF_COLLECTIVE_KINDS: there is no room. `name` is its number in the tables. */
static uint32_t kind_of(struct aif_collective_counts *c, uint32_t name, const char *text)
{
	for (uint32_t i = 0; i < AIF_COLLECTIVE_KINDS; i++) {
		uint32_t seen = atomic_load_explicit(&c->kinds_ready[i], memory_order_acquire);

		/* The text comes a moment behind its number: until then readers see an empty one. */
		if (!seen && atomic_compare_exchange_strong(&c->kinds_ready[i], &seen, name + 1)) {
			strncpy(c->kinds[i], text, AIF_COLLECTIVE_NAME - 1);
			return i;
		}
		if (seen == name + 1)
			return i;
	}
	return AIF_COLLECTIVE_KINDS;
}

/* ---- communicators ---- */

/* Returns the communicator's place, made if it is new; NULL: there is no room. */
static struct aif_communicator *communicator_of(struct aif_collective_counts *c, uint64_t id)
{
	enum { FREE, TAKEN, READY };

	for (uint32_t i = 0; i < AIF_COMMUNICATORS; i++) {
		struct aif_communicator *m = &c->communicators[i];
		uint32_t state = atomic_load_explicit(&m->is_used, memory_order_acquire);

		if (state == FREE && atomic_compare_exchange_strong(&m->is_used, &state, TAKEN)) {
			m->id = id;
			m->rank = UINT32_MAX;
			atomic_store_explicit(&m->is_used, READY, memory_order_release);
			return m;
		}
		/* Passes by what another thread makes at this moment: two threads do not begin one communicator's first
		 * operations at once. */
		if (state == READY && m->id == id)
			return m;
	}
	atomic_fetch_add_explicit(&c->left_out, 1, memory_order_relaxed);
	return NULL;
}

static const struct aif_nvtx_schema *schema_of(struct aif_nvtx *x, uint32_t domain,
					       const struct aif_nvtx_data *data)
{
	return data ? aif_nvtx_schema_find(&x->tables, domain, data->schema) : NULL;
}

void aif_nvtx_collective_begin(struct aif_nvtx *x, const struct aif_nvtx_world *w, uint32_t domain,
			       const void *message, const struct aif_nvtx_data *data)
{
	struct aif_collective_counts *c =
		atomic_load_explicit(&aiflame_collective_counts, memory_order_acquire);
	const uint32_t name = aif_nvtx_string_of(&x->tables, message);
	const struct aif_nvtx_schema *s = schema_of(x, domain, data);
	uint64_t id = 0, bytes = UINT64_MAX, number;
	struct aif_collective_call *call;
	struct aif_communicator *m;
	const char *text;
	size_t len;

	if (!c || name <= AIF_NVTX_NAME_NONE)
		return;
	text = aif_nvtx_name_text(&x->tables, name, &len) + x->tables.names[name].prefix;
	if (!is_collective(text))
		return;
	if (s) {
		aif_nvtx_payload_number(w, s, data, COMMUNICATOR, &id);
		aif_nvtx_payload_number(w, s, data, BYTES, &bytes);
	}
	m = communicator_of(c, id);
	if (!m)
		return;
	number = atomic_fetch_add_explicit(&m->begun, 1, memory_order_relaxed) + 1;
	call = &m->latest[number % AIF_COLLECTIVES_LATEST];
	atomic_store_explicit(&call->number, 0, memory_order_release);
	call->bytes = bytes;
	call->kind = kind_of(c, name, text);
	atomic_store_explicit(&call->number, number, memory_order_release);
}

void aif_nvtx_communicator(struct aif_nvtx *x, const struct aif_nvtx_world *w, uint32_t domain,
			   const struct aif_nvtx_data *data)
{
	struct aif_collective_counts *c =
		atomic_load_explicit(&aiflame_collective_counts, memory_order_acquire);
	const struct aif_nvtx_schema *s = NULL;
	struct aif_communicator *m;
	uint64_t id, size, rank;

	if (c && data && aif_nvtx_is_readable(w, data, sizeof(*data)))
		s = schema_of(x, domain, data);
	if (!s || !aif_nvtx_payload_number(w, s, data, COMMUNICATOR, &id) ||
	    !aif_nvtx_payload_number(w, s, data, RANKS, &size) ||
	    !aif_nvtx_payload_number(w, s, data, RANK, &rank))
		return;
	m = communicator_of(c, id);
	if (!m)
		return;
	m->size = (uint32_t)size;
	m->rank = (uint32_t)rank;
}
