/* SPDX-License-Identifier: Apache-2.0 */
#include "names/insn_start.h"

#include "isa/disasm.h"
#include "isa/intel_eu.h"
#include "isa/sass.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64

void aif_insn_starts_finish(struct aif_insn_starts *s)
{
	aif_map_finish(&s->codes);
	free(s->bits);
	*s = (struct aif_insn_starts){0};
}

/* The first word of the code's bits; false: no memory. */
static bool bits_of(struct aif_insn_starts *s, const struct aif_profile *p,
		    const struct aif_code *c, enum aif_intel_eu gen, uint64_t *ret)
{
	uint64_t key = (uint64_t)(c - p->codes);
	size_t words = c->size / AIF_INTEL_EU_LEAST / WORD_BITS + 1, first = s->bits_len;
	struct aif_intel_eu_insn insn;

	if (aif_map_get(&s->codes, key, ret))
		return true;
	if (aif_grow(&s->bits, &s->bits_cap, first + words, sizeof(*s->bits)) < 0 ||
	    aif_map_put(&s->codes, key, first) < 0)
		return false;
	memset(s->bits + first, 0, words * sizeof(*s->bits));
	for (uint64_t at = 0; c->size - at >= AIF_INTEL_EU_LEAST; at += insn.size) {
		uint64_t place = at / AIF_INTEL_EU_LEAST;

		s->bits[first + place / WORD_BITS] |= UINT64_C(1) << place % WORD_BITS;
		aif_intel_eu_decode(c->bytes + at, c->size - at, gen, &insn);
	}
	s->bits_len = first + words;
	*ret = first;
	return true;
}

uint64_t aif_insn_start(struct aif_insn_starts *s, const struct aif_profile *p,
			const struct aif_code *c, uint64_t offset)
{
	const char *arch = aif_profile_str(p, c->arch);
	enum aif_intel_eu gen = aif_intel_eu_of(arch);
	uint64_t first, place = offset / AIF_INTEL_EU_LEAST, at = offset - offset % AIF_SASS_BYTES;
	struct aif_intel_eu_insn insn;

	if (!c->bytes || offset >= c->size)
		return offset;
	/* Bytes behind the last whole instruction are none. */
	if (aif_disasm_sm(arch))
		return c->size - at < AIF_SASS_BYTES ? offset : at;
	if (gen == AIF_INTEL_EU_NONE || !bits_of(s, p, c, gen, &first))
		return offset;
	while (place && !(s->bits[first + place / WORD_BITS] >> place % WORD_BITS & 1))
		place--;
	at = place * AIF_INTEL_EU_LEAST;
	if (c->size - at < AIF_INTEL_EU_LEAST)
		return offset;
	aif_intel_eu_decode(c->bytes + at, c->size - at, gen, &insn);
	return offset - at < insn.size ? at : offset;
}
