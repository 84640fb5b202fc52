/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <string.h>

/*
 * Numbers in as few bytes as they need, of 1, 2, 4 and 8: two bits of a byte of flags, at `shift`, say how many. A row of
 * numbers behind its flags is read without a branch, of which a byte with a bit for each byte more would take one.
 */
#define AIF_PACKED_MAX 8

/* Writes a number of AIF_PACKED_MAX bytes at most, and its length into *flags. Returns the end. */
static inline uint8_t *aif_packed_put(uint8_t *at, uint64_t n, unsigned shift, uint8_t *flags)
{
	unsigned size = n <= UINT8_MAX ? 0 : n <= UINT16_MAX ? 1 : n <= UINT32_MAX ? 2 : 3;

	*flags |= (uint8_t)(size << shift);
	for (unsigned i = 0; i < 1u << size; i++)
		*at++ = (uint8_t)(n >> 8 * i);
	return at;
}

/* Reads a number. AIF_PACKED_MAX bytes from *at on are read, whatever is behind the number. */
static inline uint64_t aif_packed_take(const uint8_t **at, unsigned shift, uint8_t flags)
{
	unsigned size = 1u << (flags >> shift & 3);
	uint64_t n;

	memcpy(&n, *at, sizeof(n));
	*at += size;
	n = AIF_IS_BIG ? __builtin_bswap64(n) : n;
	return n & UINT64_MAX >> (64 - 8 * size);
}

/* Makes small numbers of differences with either sign. */
static inline uint64_t aif_to_zigzag(uint64_t n)
{
	return n << 1 ^ (n >> 63 ? UINT64_MAX : 0);
}

static inline uint64_t aif_from_zigzag(uint64_t n)
{
	return n >> 1 ^ (n & 1 ? UINT64_MAX : 0);
}
