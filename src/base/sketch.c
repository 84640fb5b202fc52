/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sketch.h"

/* Sizes of a factor of two, and the bits that number them; smaller durations are a size each. */
#define PARTS      32
#define PARTS_BITS 5

static unsigned size_of(uint64_t value)
{
	unsigned shift;

	if (value < PARTS)
		return (unsigned)value;
	shift = 63 - (unsigned)__builtin_clzll(value) - PARTS_BITS;
	return shift * PARTS + (unsigned)(value >> shift);
}

void aif_sketch_add(struct aif_sketch *s, uint64_t value)
{
	if (s->len >= AIF_SKETCH_FULL) {
		s->len = 0;
		for (unsigned i = 0; i < AIF_SKETCH_SIZES; i++)
			s->len += s->count[i] /= 2;
	}
	s->count[size_of(value)]++;
	s->len++;
}

uint64_t aif_sketch_quantile(const struct aif_sketch *s, double part, uint64_t *ret_most)
{
	double wanted = part * s->len, seen = 0;
	uint64_t least = 0, most = 0;
	unsigned i = 0, shift;

	for (; i < AIF_SKETCH_SIZES && s->len; i++) {
		seen += s->count[i];
		if (s->count[i] && seen >= wanted)
			break;
	}
	if (s->len) {
		shift = i < PARTS ? 0 : i / PARTS - 1;
		least = i < PARTS ? i : (uint64_t)(PARTS + i % PARTS) << shift;
		most = least + ((UINT64_C(1) << shift) - 1);
	}
	if (ret_most)
		*ret_most = most;
	return least + (most - least) / 2;
}
