/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/probe.h"
#include "unwind/python.h"

/*
 * The one way in which the walker reads the interpreter's memory. A place may be read when it lies
 * where pointers may point (user addresses; in tests, a piece of fake memory) and is aligned as its
 * field is. On a launch path that is enough, for the reasons in python_walk.c; elsewhere the reader
 * also asks the kernel about each page that it comes to.
 */
struct aif_python_reader {
	uint64_t lo, span; /* [lo, lo + span) */
	bool probe;
	uint64_t pages[8]; /* probed and readable, by the low bits of the page number */
};

static inline void aif_python_reader_init(struct aif_python_reader *r, const struct aif_python *py,
					  bool probe)
{
	r->lo = py->memory_lo;
	r->span = py->memory_hi - py->memory_lo;
	r->probe = probe;
	if (probe)
		for (unsigned i = 0; i < AIF_ARRAY_LEN(r->pages); i++)
			r->pages[i] = 0;
}

#define AIF_PYTHON_PAGE AIF_PROBE_PAGE

static AIF_NOINLINE bool aif_python_probe_page(struct aif_python_reader *r, uint64_t page)
{
	bool readable = aif_probe(page);

	if (readable)
		r->pages[page % AIF_ARRAY_LEN(r->pages)] = page;
	return readable;
}

static inline bool aif_python_probe(struct aif_python_reader *r, uint64_t at, uint64_t len)
{
	for (uint64_t page = at / AIF_PYTHON_PAGE; page <= (at + len - 1) / AIF_PYTHON_PAGE; page++)
		if (r->pages[page % AIF_ARRAY_LEN(r->pages)] != page &&
		    !aif_python_probe_page(r, page))
			return false;
	return true;
}

/* May the `len` > 0 bytes at `at` be read? */
static inline bool aif_python_readable(struct aif_python_reader *r, uint64_t at, uint64_t len)
{
	if (aif_unlikely(len > r->span || at - r->lo > r->span - len))
		return false;
	return !aif_unlikely(r->probe) || aif_python_probe(r, at, len);
}

/* True if an object may start at this address, by the same checks. */
static inline bool aif_python_object(struct aif_python_reader *r, uint64_t at, uint64_t len)
{
	return !aif_unlikely(at & 7) && aif_python_readable(r, at, len);
}

/* The fields of a place that was found readable. Sanitizers know nothing of the interpreter's own
 * allocator, and other threads may write what we read and discard (a frame object's reference count
 * shares no word with what we use). */
struct aif_python_word {
	uint64_t v;
} __attribute__((may_alias));
struct aif_python_half {
	int32_t v;
} __attribute__((may_alias));

__attribute__((no_sanitize("address", "thread"))) static inline uint64_t
aif_python_u64(uint64_t at, uint16_t offset)
{
	return ((const struct aif_python_word *)(uintptr_t)(at + offset))->v;
}

__attribute__((no_sanitize("address", "thread"))) static inline int32_t
aif_python_i32(uint64_t at, uint16_t offset)
{
	return ((const struct aif_python_half *)(uintptr_t)(at + offset))->v;
}

__attribute__((no_sanitize("address", "thread"))) static inline uint8_t
aif_python_u8(uint64_t at, uint16_t offset)
{
	return *(const uint8_t *)(uintptr_t)(at + offset);
}
