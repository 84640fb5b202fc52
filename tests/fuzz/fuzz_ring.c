/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/ring.h"

#include <stdlib.h>

/* A ring whose every byte, and whose head, a hostile target chose. */
#define RING_SIZE 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void dump(void *arg, const void *record)
{
	char text[256];

	*(size_t *)arg += (size_t)aif_wire_dump(record, text, sizeof(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t scratch[AIF_WIRE_MAX_RECORD / 8];
	static uint8_t body[RING_SIZE];
	static struct aif_slot slot;
	struct aif_drain d = {0};
	uint64_t words[2] = {0};
	size_t text = 0;

	memcpy(words, data, AIF_MIN(size, sizeof(words)));
	data += AIF_MIN(size, sizeof(words));
	size -= AIF_MIN(size, sizeof(words));
	memset(body, 0, sizeof(body));
	memcpy(body, data, AIF_MIN(size, sizeof(body)));
	/* Mostly a head that is in range, so that records are looked at. */
	d.tail = words[0] & (RING_SIZE - 8);
	slot.head = words[1] & 1 ? words[1] : d.tail + AIF_MIN(size & ~(size_t)7, sizeof(body));
	aif_ring_drain(&d, &slot, body, RING_SIZE, scratch, sizeof(scratch), UINT64_MAX, dump,
		       &text);
	if (d.tail != slot.head)
		abort(); /* the drain always ends where the target's head was */
	return 0;
}
