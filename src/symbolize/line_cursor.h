/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Reading little-endian numbers from bytes that end somewhere. Past the end everything is 0, and
 * `failed` stays set: so it need not be asked for after each number. */
struct line_cursor {
	const uint8_t *at, *end;
	bool failed;
};

static inline struct line_cursor line_cursor(const uint8_t *bytes, size_t n)
{
	return (struct line_cursor){bytes, bytes + n, false};
}

static inline size_t line_left(const struct line_cursor *p)
{
	return (size_t)(p->end - p->at);
}

/* The next n bytes as a cursor of their own; failed if there are less. */
static inline struct line_cursor line_take(struct line_cursor *p, uint64_t n)
{
	struct line_cursor part = {p->at, p->at, true};

	if (p->failed || n > line_left(p)) {
		p->failed = true;
		return part;
	}
	p->at += n;
	part.end = p->at;
	part.failed = false;
	return part;
}

static inline uint64_t line_unsigned(struct line_cursor *p, uint64_t n)
{
	struct line_cursor part = line_take(p, n);
	uint64_t v = 0;

	for (unsigned i = 0; i < 8 && part.at + i < part.end; i++)
		v |= (uint64_t)part.at[i] << 8 * i;
	return v;
}

static inline uint8_t line_u8(struct line_cursor *p)
{
	return (uint8_t)line_unsigned(p, 1);
}

static inline uint16_t line_u16(struct line_cursor *p)
{
	return (uint16_t)line_unsigned(p, 2);
}

static inline uint32_t line_u32(struct line_cursor *p)
{
	return (uint32_t)line_unsigned(p, 4);
}

static inline uint64_t line_u64(struct line_cursor *p)
{
	return line_unsigned(p, 8);
}

/* *ret_bits: how many were written (at most 64 count). */
static inline uint64_t line_leb(struct line_cursor *p, unsigned *ret_bits, bool *ret_negative)
{
	unsigned shift = 0;
	uint64_t v = 0;
	uint8_t byte;

	do {
		byte = line_u8(p);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift = AIF_MIN(shift + 7, 70u);
	} while ((byte & 0x80) && !p->failed);
	*ret_bits = shift;
	*ret_negative = byte & 0x40;
	return v;
}

static inline uint64_t line_uleb(struct line_cursor *p)
{
	unsigned bits;
	bool negative;

	return line_leb(p, &bits, &negative);
}

/* Reads a ULEB128; a value that does not fit 32 bits becomes UINT32_MAX, for which no table has
 * an entry. */
static inline uint32_t line_uleb32(struct line_cursor *p)
{
	uint64_t v = line_uleb(p);

	return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static inline int64_t line_sleb(struct line_cursor *p)
{
	unsigned bits;
	bool negative;
	uint64_t v = line_leb(p, &bits, &negative);

	if (negative && bits < 64)
		v |= ~UINT64_C(0) << bits;
	return (int64_t)v;
}

/* A terminated text. NULL (and failed) if it does not end. */
static inline const char *line_text(struct line_cursor *p)
{
	const char *text = (const char *)p->at;
	const uint8_t *end = NULL;

	if (!p->failed && p->at < p->end)
		end = __builtin_memchr(p->at, 0, line_left(p));
	if (!end) {
		p->failed = true;
		return NULL;
	}
	p->at = end + 1;
	return text;
}
