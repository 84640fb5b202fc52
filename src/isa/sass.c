/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/sass.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

/*
 * An instruction's 128 bits, as far as they are the same for all:
 *
 *	0..8    operation        12..14  predicate, 7 = always
 *	9..11   form             15      negated
 *	105..108 stall cycles    109     yield (0: the scheduler may turn to another warp)
 *	110..112 write scoreboard, 113..115 read scoreboard, 7 = none
 *	116..121 waits for       122..125 operand reuse
 */

enum {
	OPERATIONS = 512,
	ANY_TYPE = -1,
	DEPBAR = 0x11a, /* waits for a scoreboard that is an operand: bits 44..46 */
};

struct line {
	uint16_t operation;
	uint8_t forms;
	int8_t type;
	uint8_t from, to;
	enum aif_sass_kind kind;
	const char *mnemonic;
};

static const struct line lines[] = {
#define AIF_SASS(operation, forms, from, to, mnemonic, kind, source) \
	{operation, forms, ANY_TYPE, from, to, AIF_SASS_##kind, mnemonic},
#define AIF_SASS_TYPED(operation, forms, type, from, to, mnemonic, kind, source) \
	{operation, forms, type, from, to, AIF_SASS_##kind, mnemonic},
#include "isa/sass_opcodes.def"
#undef AIF_SASS
#undef AIF_SASS_TYPED
};

static uint64_t low(const uint8_t *bytes)
{
	uint64_t v;

	memcpy(&v, bytes, sizeof(v));
	return le64toh(v);
}

static uint64_t high(const uint8_t *bytes)
{
	return low(bytes + 8);
}

/* The first line of an operation: they are sorted by it. */
static size_t first_line(unsigned operation)
{
	return AIF_BISECT(mid, 0, AIF_ARRAY_LEN(lines), lines[mid].operation < operation);
}

/* Returns true if the guarding predicate is a uniform one: instructions of the uniform datapath
 * have a predicate file of their own. */
static bool is_uniform(const char *mnemonic)
{
	return mnemonic[0] == 'U' || strcmp(mnemonic, "SYNCS") == 0 ||
	       strcmp(mnemonic, "LDCU") == 0 || strcmp(mnemonic, "LDTM") == 0 ||
	       strcmp(mnemonic, "STTM") == 0;
}

bool aif_sass_decode(const uint8_t *bytes, unsigned sm, struct aif_sass *ret)
{
	uint64_t lo = low(bytes), hi = high(bytes);
	unsigned operation = lo & (OPERATIONS - 1), form = lo >> 9 & 7;
	int type = (int)((hi >> 8 & 3) << 1 | lo >> 63);

	*ret = (struct aif_sass){
		.opcode = lo & 0xfff,
		.predicate = lo >> 12 & 7,
		.negated = lo >> 15 & 1,
	};
	for (size_t i = first_line(operation);
	     i < AIF_ARRAY_LEN(lines) && lines[i].operation == operation; i++) {
		const struct line *l = &lines[i];

		if (!(l->forms >> form & 1) || sm < l->from || sm > l->to ||
		    (l->type != ANY_TYPE && l->type != type))
			continue;
		ret->mnemonic = l->mnemonic;
		ret->kind = l->kind;
		ret->uniform = is_uniform(l->mnemonic);
		return true;
	}
	return false;
}

void aif_sass_text(const struct aif_sass *s, char to[AIF_SASS_TEXT])
{
	char guard[8] = "";

	if (!s->mnemonic) {
		snprintf(to, AIF_SASS_TEXT, "0x%03x", s->opcode);
		return;
	}
	if (s->predicate != AIF_SASS_TRUE)
		snprintf(guard, sizeof(guard), "@%s%sP%u ", s->negated ? "!" : "",
			 s->uniform ? "U" : "", s->predicate & 7u);
	else if (s->negated)
		snprintf(guard, sizeof(guard), "@!%sPT ", s->uniform ? "U" : "");
	snprintf(to, AIF_SASS_TEXT, "%s%s", guard, s->mnemonic);
}

void aif_sass_control(const uint8_t *bytes, struct aif_sass_control *ret)
{
	uint64_t bits = high(bytes) >> 41;

	ret->stall = bits & 15;
	ret->yield = !(bits >> 4 & 1);
	ret->write = bits >> 5 & 7;
	ret->read = bits >> 8 & 7;
	ret->wait = bits >> 11 & 63;
	ret->reuse = bits >> 17 & 15;
}

static unsigned waits(const uint8_t *bytes, const struct aif_sass_control *c)
{
	uint64_t lo = low(bytes);
	unsigned scoreboard = lo >> 44 & 7;

	if ((lo & (OPERATIONS - 1)) == DEPBAR && scoreboard < AIF_SASS_SCOREBOARDS)
		return c->wait | 1u << scoreboard;
	return c->wait;
}

static unsigned sets(const struct aif_sass_control *c)
{
	return 1u << c->write |
	       1u << c->read; /* AIF_SASS_NO_SCOREBOARD is one that nobody waits for */
}

size_t aif_sass_waits_for(const uint8_t *bytes, size_t n, size_t index, size_t *ret_indices,
			  size_t max)
{
	struct aif_sass_control c;
	unsigned wanted;
	size_t found = 0;

	if (index >= n)
		return 0;
	aif_sass_control(bytes + index * AIF_SASS_BYTES, &c);
	wanted = waits(bytes + index * AIF_SASS_BYTES, &c);
	for (size_t i = index; i-- > 0 && wanted && found < max;) {
		const uint8_t *at = bytes + i * AIF_SASS_BYTES;

		aif_sass_control(at, &c);
		if (sets(&c) & wanted)
			ret_indices[found++] = i;
		/* an instruction waits before it sets: what comes before it is over */
		wanted &= ~waits(at, &c);
	}
	return found;
}
