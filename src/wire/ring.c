/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/ring.h"

/* Parses `len` bytes of our own copy. Returns the bytes of whole records, or 0 with *bad set when
 * the first thing in it cannot be one. */
static size_t parse(struct aif_drain *d, uint8_t *p, size_t len, size_t ring_left, bool *bad,
		    void (*fn)(void *, const void *), void *arg)
{
	size_t at = 0;

	while (len - at >= sizeof(struct aif_wire_head)) {
		struct aif_wire_head *h = (void *)(p + at);
		size_t size = aif_wire_size(h);

		if (size < sizeof(*h) || size > ring_left - at || size > AIF_WIRE_MAX_RECORD) {
			*bad = true;
			break;
		}
		if (size > len - at) /* cut by the copy, whole in the ring */
			break;
		if (!aif_wire_valid(h, size)) {
			*bad = true;
			break;
		}
		if (h->type != AIF_WIRE_PAD) {
			if (d->shift)
				aif_wire_shift(h, d->shift);
			fn(arg, h);
			d->consumed++;
		}
		at += size;
	}
	return at;
}

size_t aif_ring_drain(struct aif_drain *d, struct aif_slot *slot, const uint8_t *body,
		      uint64_t size, void *scratch, size_t max, uint64_t limit,
		      void (*fn)(void *arg, const void *record), void *arg)
{
	uint64_t head = atomic_load_explicit(&slot->head, memory_order_acquire), start = d->tail;

	while (head != d->tail && d->tail - start < limit) {
		uint64_t avail = head - d->tail, at = d->tail & (size - 1);
		size_t contiguous = (size_t)AIF_MIN(avail, size - at),
		       len = AIF_MIN(contiguous, max);
		bool bad = avail > size || (head & 7);
		size_t done = 0;

		if (!bad) {
			memcpy(scratch, body + at, len);
			done = parse(d, scratch, len, contiguous, &bad, fn, arg);
			d->tail += done;
			bad |= !done;
		}
		if (bad) {
			d->bad++;
			d->tail = head;
		}
		atomic_store_explicit(&slot->tail, d->tail, memory_order_release);
	}
	return (size_t)(d->tail - start);
}
