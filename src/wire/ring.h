/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "wire/shm.h"

#include <string.h>

/*
 * A ring: one producer (the thread that owns the slot), one consumer (the recorder), in shared
 * memory. Positions are byte counts that only grow; the place in the ring is the count modulo its
 * size, a power of two. A record never wraps: a PAD record fills the end when the next one does not
 * fit. The producer never waits: a full ring means a lost record, which is counted. The consumer
 * trusts nothing that it reads: it copies bytes out first and judges the copy.
 *
 * Publishing is one store-release of `head`; consuming one store-release of `tail`.
 */

/* ---- producer: all fields are its own; the slot's are shared --------------------------------- */

struct aif_ring {
	struct aif_slot *slot;
	uint8_t *body;
	uint64_t size, head;
	uint64_t tail; /* last seen: re-read only when the ring seems full */
	uint64_t next; /* head after the record under way */
};

static inline void aif_ring_init(struct aif_ring *r, struct aif_slot *slot, uint8_t *body,
				 uint64_t size)
{
	r->slot = slot;
	r->body = body;
	r->size = size;
	r->head = r->next = atomic_load_explicit(&slot->head, memory_order_relaxed);
	r->tail = atomic_load_explicit(&slot->tail, memory_order_acquire);
}

/* Room for `need` more bytes? A tail that makes no sense (written by nobody we know) is "full". */
static inline bool aif_ring_room(struct aif_ring *r, uint64_t need)
{
	if (aif_likely(r->head - r->tail <= r->size - need))
		return true;
	r->tail = atomic_load_explicit(&r->slot->tail, memory_order_acquire);
	return r->head - r->tail <= r->size - need;
}

/* The next record will be written. */
static inline void aif_ring_prefetch(const struct aif_ring *r)
{
	__builtin_prefetch(r->body + (r->head & (r->size - 1)), 1);
}

/* Space for one record of `len` bytes (a multiple of 8, at most AIF_WIRE_MAX_RECORD), to be filled
 * and then published by aif_ring_commit; NULL when the ring is full. The header is filled in. */
static inline void *aif_ring_reserve(struct aif_ring *r, enum aif_wire_type type, size_t len)
{
	uint64_t at = r->head & (r->size - 1), pad = 0;
	struct aif_wire_head *h;

	if (aif_unlikely(at + len > r->size))
		pad = r->size - at;
	if (aif_unlikely(!aif_ring_room(r, pad + len)))
		return NULL;
	if (aif_unlikely(pad)) {
		/* A pad is at most a record long, so its words fit. */
		h = (struct aif_wire_head *)(r->body + at);
		*h = (struct aif_wire_head){.type = AIF_WIRE_PAD, .words = (uint16_t)(pad / 8)};
		at = 0;
	}
	h = (struct aif_wire_head *)(r->body + at);
	*h = (struct aif_wire_head){.type = (uint16_t)type, .words = (uint16_t)(len / 8)};
	r->next = r->head + pad + len;
	return h;
}

static inline void aif_ring_commit(struct aif_ring *r)
{
	r->head = r->next;
	atomic_store_explicit(&r->slot->head, r->head, memory_order_release);
}

/* ---- consumer -------------------------------------------------------------------------------- */

struct aif_drain {
	uint64_t tail;     /* its own: the shared one is only told */
	uint64_t shift;    /* what makes the producer's stamps the consumer's: aif_wire_shift() */
	uint64_t bad;      /* times that the ring held nonsense and was skipped to its head */
	uint64_t consumed; /* records */
};

/* Copies out what is there, at most `max` bytes at a time, and calls fn for each valid record
 * (PAD is skipped). Nonsense (a head out of range, a malformed record) skips to the head and
 * counts one in d->bad: the producer goes on unharmed. `scratch` holds at least `max` bytes,
 * 8-byte aligned; max is at least AIF_WIRE_MAX_RECORD. Copies nothing more once `limit` bytes
 * are consumed: a producer that is as quick as we are does not keep us. Returns bytes consumed. */
size_t aif_ring_drain(struct aif_drain *d, struct aif_slot *slot, const uint8_t *body,
		      uint64_t size, void *scratch, size_t max, uint64_t limit,
		      void (*fn)(void *arg, const void *record), void *arg);
