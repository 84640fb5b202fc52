/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit/fixture_python_heap.h"

#include <stdlib.h>

/*
 * Objects of a Python program whose memory has changed while it is read: nothing outside of it is touched (heap_read() refuses
 * it), and each read comes to an end within the limits. The first byte is the version; then come changes: of which word, two
 * bytes, what kind, and a value.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct heap heap;

static void see(const struct aif_python_objects *o, uint64_t at, unsigned depth)
{
	struct aif_buf text = {0};
	uint64_t *items;
	uint32_t number;
	size_t n;

	if (aif_python_text(o, at, &text) && text.len > (size_t)4 * AIF_PYTHON_CHARS_MAX)
		abort();
	aif_buf_finish(&text);
	if (aif_python_int(o, at, &number) && number >> 30)
		abort();
	if (depth > 3 || !aif_python_items(o, at, &items, &n))
		return;
	if (n > AIF_PYTHON_ITEMS_MAX)
		abort();
	for (size_t i = 0; i < AIF_MIN(n, 16); i++)
		see(o, items[i], depth + 1);
	free(items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;
	struct aif_python_objects o;
	uint64_t at, used;

	if (!size)
		return 0;
	heap_make(&heap, 11 + *data++ % 4);
	used = heap.len - HEAP_RUNTIME_WORDS - HEAP_INTERPRETER_WORDS;
	for (; end - data >= 5; data += 5) {
		/* Mostly of the objects, which are few words. */
		uint64_t *word =
			&heap.words[data[2] & 0x80 ? (data[0] | data[1] << 8) % HEAP_WORDS
						   : HEAP_RUNTIME_WORDS + HEAP_INTERPRETER_WORDS +
							     (data[0] | data[1] << 8) % used];
		uint64_t value = (uint64_t)data[3] | (uint64_t)data[4] << 8;

		switch (data[2] & 3) {
		case 0: /* to another place of the heap */
			*word = heap_at(&heap, value % HEAP_WORDS);
			break;
		case 1:
			*word = value;
			break;
		case 2:
			*word ^= UINT64_C(1) << value % 64;
			break;
		default:
			*word = heap_type(1 + value % HEAP_TYPE);
		}
	}
	o = heap_objects(&heap);
	at = aif_python_modules(&o, heap.runtime);
	at = at ? aif_python_get(&o, at, "torch._inductor.codecache") : 0;
	at = at ? aif_python_attribute(&o, at, "PyCodeCache") : 0;
	at = at ? aif_python_attribute(&o, at, "linemaps") : 0;
	at = at ? aif_python_get(&o, at, "/a.py") : 0;
	if (at)
		see(&o, at, 0);
	for (size_t i = 0; i < used; i++)
		see(&o, heap_at(&heap, HEAP_RUNTIME_WORDS + HEAP_INTERPRETER_WORDS + i), 3);
	return 0;
}
