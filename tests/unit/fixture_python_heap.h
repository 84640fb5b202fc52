/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/sources/python_objects.h"

#include <string.h>

/*
 * The objects by which torch's lines are found (record/sources/linemaps.c), as CPython 3.11 to 3.14 have them in memory, in
 * an array: sys.modules["torch._inductor.codecache"].PyCodeCache.linemaps["/a.py"] = [(8, 900), ("stack", None)].
 */
enum { HEAP_WORDS = 8192, HEAP_RUNTIME_WORDS = 1024, HEAP_INTERPRETER_WORDS = 2048 };

enum heap_type {
	HEAP_DICT = 1,
	HEAP_LIST,
	HEAP_LONG,
	HEAP_MODULE,
	HEAP_TEXT,
	HEAP_TUPLE,
	HEAP_TYPE
};

struct heap {
	uint64_t words[HEAP_WORDS];
	size_t len;
	unsigned minor;
	uint64_t runtime, none;
};

static inline uint64_t heap_at(const struct heap *h, size_t word)
{
	return (uint64_t)(uintptr_t)&h->words[word];
}

/* Types have addresses that nothing is read from. */
static inline uint64_t heap_type(enum heap_type type)
{
	return UINT64_C(0x10000) + 0x1000 * (uint64_t)type;
}

static inline uint64_t *heap_object(struct heap *h, enum heap_type type, size_t words)
{
	uint64_t *at = &h->words[h->len];

	h->len += words;
	at[0] = 1;
	at[1] = heap_type(type);
	return at;
}

static inline uint64_t heap_text(struct heap *h, const char *text)
{
	size_t len = strlen(text), head = h->minor >= 12 ? 5 : 6;
	uint64_t *at = heap_object(h, HEAP_TEXT, head + len / 8 + 1);

	at[2] = len;
	at[4] = 1 << 2 | 1 << 5 | 1 << 6; /* one byte each, compact, ascii */
	memcpy(at + head, text, len);
	return (uint64_t)(uintptr_t)at;
}

static inline uint64_t heap_int(struct heap *h, uint32_t value)
{
	uint64_t *at = heap_object(h, HEAP_LONG, 4);
	uint32_t digit = value;

	at[2] = h->minor >= 12 ? (value ? 8 : 1) : (value ? 1 : 0);
	memcpy(at + 3, &digit, sizeof(digit));
	return (uint64_t)(uintptr_t)at;
}

static inline uint64_t heap_tuple(struct heap *h, const uint64_t *items, size_t n)
{
	uint64_t *at = heap_object(h, HEAP_TUPLE, 3 + n);

	at[2] = n;
	memcpy(at + 3, items, n * sizeof(*items));
	return (uint64_t)(uintptr_t)at;
}

static inline uint64_t heap_list(struct heap *h, const uint64_t *items, size_t n)
{
	uint64_t *at = heap_object(h, HEAP_LIST, 4 + n);

	at[2] = n;
	at[3] = (uint64_t)(uintptr_t)(at + 4);
	memcpy(at + 4, items, n * sizeof(*items));
	return (uint64_t)(uintptr_t)at;
}

/* general: with hashes, as where not all keys are texts. */
static inline uint64_t heap_dict(struct heap *h, bool general, const char *const *keys,
				 const uint64_t *values, size_t n)
{
	uint64_t text[8], *at, *k, *entry;
	uint8_t sizes[8] = {3, 3, !general};

	for (size_t i = 0; i < n; i++)
		text[i] = heap_text(h, keys[i]);
	at = heap_object(h, HEAP_DICT, 6);
	k = heap_object(h, HEAP_DICT, 5 + 3 * n); /* its head is written over */
	at[2] = n;
	at[4] = (uint64_t)(uintptr_t)k;
	k[0] = 1;
	memcpy(&k[1], sizes, sizeof(sizes));
	k[3] = n; /* entries; then 8 bytes of indices */
	entry = k + 5;
	for (size_t i = 0; i < n; i++) {
		if (general)
			*entry++ = 77;
		*entry++ = text[i];
		*entry++ = values[i];
	}
	return (uint64_t)(uintptr_t)at;
}

static inline uint64_t heap_class(struct heap *h, uint64_t dict)
{
	uint64_t *at = heap_object(h, HEAP_TYPE, 34);

	at[33] = dict;
	return (uint64_t)(uintptr_t)at;
}

static inline uint64_t heap_module(struct heap *h, uint64_t dict)
{
	uint64_t *at = heap_object(h, HEAP_MODULE, 3);

	at[2] = dict;
	return (uint64_t)(uintptr_t)at;
}

static inline void heap_make(struct heap *h, unsigned minor)
{
	static const char *const modules[] = {"sys", "builtins", "torch._inductor.codecache"};
	static const char *const cache[] = {"PyCodeCache"}, *const maps[] = {"linemaps"},
				 *const map[] = {"/b.py", "/a.py"};
	uint64_t lines[2], stacks[2], both[2], value[3], dict;
	uint64_t *runtime, *interpreter;

	memset(h, 0, sizeof(*h));
	h->minor = minor;
	runtime = h->words;
	h->runtime = heap_at(h, 0);
	interpreter = runtime + HEAP_RUNTIME_WORDS;
	h->len = HEAP_RUNTIME_WORDS + HEAP_INTERPRETER_WORDS;
	h->none = (uint64_t)(uintptr_t)heap_object(h, HEAP_TYPE, 2);
	lines[0] = heap_int(h, 8);
	lines[1] = heap_int(h, 900);
	stacks[0] = heap_text(h, "stack");
	stacks[1] = h->none;
	both[0] = heap_tuple(h, lines, 2);
	both[1] = heap_tuple(h, stacks, 2);
	value[0] = h->none;
	value[1] = heap_list(h, both, 2);
	value[0] = heap_dict(h, true, map, value, 2);
	value[0] = heap_class(h, heap_dict(h, false, maps, value, 1));
	value[0] = heap_module(h, heap_dict(h, false, cache, value, 1));
	value[2] = value[0];
	value[0] = value[1] = h->none;
	dict = heap_dict(h, false, modules, value, 3);
	if (minor < 13) {
		runtime[5] = (uint64_t)(uintptr_t)interpreter;
		interpreter[5] = h->runtime;
		interpreter[111] = dict;
		return;
	}
	memcpy(runtime, "xdebugpy", 8);
	runtime[1] = (UINT64_C(0x0300) | minor) << 16;
	runtime[5] = 800;
	runtime[minor == 13 ? 11 : 12] = 7000;
	runtime[100] = (uint64_t)(uintptr_t)interpreter;
	interpreter[875] = dict;
}

/* Reads the heap, and nothing but the heap. */
static inline bool heap_read(void *arg, uint64_t at, void *to, size_t n)
{
	const struct heap *h = arg;

	if (at < heap_at(h, 0) || at > heap_at(h, HEAP_WORDS) || n > heap_at(h, HEAP_WORDS) - at)
		return false;
	memcpy(to, (const char *)h->words + (at - heap_at(h, 0)), n);
	return true;
}

static inline struct aif_python_objects heap_objects(struct heap *h)
{
	return (struct aif_python_objects){.read = heap_read,
					   .arg = h,
					   .minor = h->minor,
					   .type_dict = heap_type(HEAP_DICT),
					   .type_list = heap_type(HEAP_LIST),
					   .type_long = heap_type(HEAP_LONG),
					   .type_module = heap_type(HEAP_MODULE),
					   .type_text = heap_type(HEAP_TEXT),
					   .type_tuple = heap_type(HEAP_TUPLE),
					   .type_type = heap_type(HEAP_TYPE)};
}
