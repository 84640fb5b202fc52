/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/intel_eu.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

/*
 * The bits that are the same for all instructions, measured by changing them one by one and asking IGA 1.1.0:
 *
 *	0..6    operation        29      compacted: 8 bytes
 *	8..15   what it waits for and marks ("software scoreboard"); on Xe-HPC 8..17
 *	92..95  of one that is not compacted, what sort of a message, function or synchronisation
 *
 * The scoreboard's bits, d = distance to an earlier instruction, s = scoreboard:
 *
 *	Xe-LP to Xe-HPG                          Xe-HPC
 *	0010ssss  waits for s to be written      00 100sssss  waits for s to be written
 *	0011ssss  waits for s to be read         00 101sssss  waits for s to be read
 *	0100ssss  marks s                        00 110sssss  marks s
 *	1dddssss  d, and: marks s, if it is      mm dddsssss  d, and: mm = 2 waits for s to be read, 1, 3 to be
 *	          a message or other of those                 written; but of a message all three, of dpas 1:
 *	          that end late; else waits for               marks s
 *	          s to be written
 *	other     no scoreboard                  00 other     no scoreboard
 *
 * "sync.allrd" and "sync.allwr" wait for several: a bit set where bit 46 is set (bits 96..127), else for all.
 */

enum {
	COMPACTED = 29,
	OPCODE = 0x7f,
	FULL = 16,
	SHORT = 8,
	SUB_BYTE = 11,      /* bits 92..95 are its upper half */
	IMMEDIATE_BYTE = 5, /* bit 46 is in it */
	IMMEDIATE = 0x40,
	COMPACTED_IN_3 = 0x20,
	SYNC = 0x01,
	SEND = 0x31,
	SENDC = 0x32,
	MATH = 0x38,
	SYNC_ALLRD = 2,
	SYNC_ALLWR = 3,
};

static const struct line {
	uint8_t generations;
	enum aif_intel_eu_kind kind;
	const char *mnemonic;
} lines[OPCODE + 1] = {
#define AIF_INTEL_EU(opcode, generations, mnemonic, kind) \
	[opcode] = {generations, AIF_INTEL_EU_##kind, mnemonic},
#define AIF_INTEL_EU_SUB(opcode, generations, number, suffix)
#include "isa/intel_eu_opcodes.def"
#undef AIF_INTEL_EU
#undef AIF_INTEL_EU_SUB
};

static const struct sub {
	uint8_t opcode, generations, number;
	const char *suffix;
} subs[] = {
#define AIF_INTEL_EU(opcode, generations, mnemonic, kind)
#define AIF_INTEL_EU_SUB(opcode, generations, number, suffix) {opcode, generations, number, suffix},
#include "isa/intel_eu_opcodes.def"
#undef AIF_INTEL_EU
#undef AIF_INTEL_EU_SUB
};

enum aif_intel_eu aif_intel_eu_of(const char *arch)
{
	static const struct {
		const char *arch;
		enum aif_intel_eu gen;
	} known[] = {
		{"xe_lp", AIF_INTEL_EU_XE_LP},   {"xe_hp", AIF_INTEL_EU_XE_HP},
		{"xe_hpg", AIF_INTEL_EU_XE_HPG}, {"xe_lpg", AIF_INTEL_EU_XE_HPG},
		{"xe_hpc", AIF_INTEL_EU_XE_HPC}, {"xe2", AIF_INTEL_EU_XE_HPC},
		{"xe3", AIF_INTEL_EU_XE_HPC},    {"intel_gpu", AIF_INTEL_EU_XE_HPC},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(known); i++)
		if (strcmp(known[i].arch, arch) == 0)
			return known[i].gen;
	return AIF_INTEL_EU_NONE;
}

/* Returns true for instructions whose end the hardware signals by a scoreboard. */
static bool ends_late(const struct aif_intel_eu_insn *i, enum aif_intel_eu gen)
{
	/* Xe-HPC's mathematical functions end in order. */
	return i->kind == AIF_INTEL_EU_SEND || i->kind == AIF_INTEL_EU_TENSOR ||
	       (i->opcode == MATH && gen != AIF_INTEL_EU_XE_HPC);
}

/* Whether it marks the scoreboard that stands beside a distance, instead of waiting for it. */
static bool marks_beside(const struct aif_intel_eu_insn *i, enum aif_intel_eu gen, unsigned mode)
{
	if (gen == AIF_INTEL_EU_XE_HPC && i->kind == AIF_INTEL_EU_TENSOR)
		return mode == 1;
	return ends_late(i, gen);
}

static void decode_scoreboard(uint64_t word, enum aif_intel_eu gen, struct aif_intel_eu_insn *ret)
{
	bool is_hpc = gen == AIF_INTEL_EU_XE_HPC;
	unsigned bits = word >> 8 & 0xff, mode = is_hpc ? word >> 16 & 3 : 0,
		 width = is_hpc ? 5 : 4, form = bits >> width;
	int8_t s = (int8_t)(bits & ((1u << width) - 1));

	ret->marks = AIF_INTEL_EU_NO_SBID;
	if ((is_hpc ? mode != 0 : bits >= 0x80) && marks_beside(ret, gen, mode))
		ret->marks = s;
	else if (is_hpc ? mode != 0 : bits >= 0x80)
		ret->waits = 1u << s;
	else if (is_hpc ? form == 4 || form == 5 : form == 2 || form == 3)
		ret->waits = 1u << s;
	else if (is_hpc ? form == 6 && bits < 0xe0 : form == 4)
		ret->marks = s;
}

static uint32_t get32(const uint8_t *bytes)
{
	uint32_t v;

	memcpy(&v, bytes, sizeof(v));
	return le32toh(v);
}

static const char *suffix_of(unsigned opcode, unsigned number, enum aif_intel_eu gen)
{
	unsigned of = opcode == SENDC ? SEND : opcode;

	for (size_t i = 0; i < AIF_ARRAY_LEN(subs); i++)
		if (subs[i].opcode == of && subs[i].number == number && subs[i].generations & gen)
			return subs[i].suffix;
	return NULL;
}

/* Decodes a short sync instruction. Its function is an entry of a table that only the hardware
 * has; these are the ones that IGA writes, with bits 18..23 and 24..31 in place. */
static void decode_short_sync(const uint8_t *bytes, enum aif_intel_eu gen,
			      struct aif_intel_eu_insn *ret)
{
	static const struct {
		uint8_t generations, byte2, byte3, number;
		bool has_set; /* in bits 52..63 */
	} known[] = {
		{AIF_INTEL_EU_XE_HPC, 0x8c, 0x24, 0, false},
		{AIF_INTEL_EU_XE_HPC, 0xc4, 0x24, SYNC_ALLRD, false},
		{AIF_INTEL_EU_XE_HPC, 0xc4, 0xac, SYNC_ALLRD, true},
		{AIF_INTEL_EU_XE_HPC, 0xcc, 0x24, SYNC_ALLWR, false},
		{AIF_INTEL_EU_XE_HPC, 0xcc, 0xac, SYNC_ALLWR, true},
		{AIF_INTEL_EU_XE_LP | AIF_INTEL_EU_XE_HP | AIF_INTEL_EU_XE_HPG, 0, 0xe8, 0, false},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(known); i++) {
		if (!(known[i].generations & gen) || known[i].byte2 != (bytes[2] & 0xfc) ||
		    known[i].byte3 != bytes[3])
			continue;
		ret->suffix = suffix_of(SYNC, known[i].number, gen);
		if (known[i].number)
			ret->waits |= known[i].has_set ? get32(bytes + 4) >> 20 : UINT32_MAX;
	}
}

/* Decodes what follows the first bytes. */
static void decode_rest(const uint8_t *bytes, enum aif_intel_eu gen, struct aif_intel_eu_insn *ret)
{
	unsigned number;

	if (ret->size == SHORT && ret->opcode == SYNC && bytes[3] & COMPACTED_IN_3)
		decode_short_sync(bytes, gen, ret);
	if (ret->size != FULL)
		return;
	number = bytes[SUB_BYTE] >> 4;
	ret->suffix = suffix_of(ret->opcode, number, gen);
	if (ret->opcode == SYNC && (number == SYNC_ALLRD || number == SYNC_ALLWR))
		ret->waits |= bytes[IMMEDIATE_BYTE] & IMMEDIATE ? get32(bytes + 12) : UINT32_MAX;
}

bool aif_intel_eu_decode(const uint8_t *bytes, size_t n, enum aif_intel_eu gen,
			 struct aif_intel_eu_insn *ret)
{
	uint8_t copy[SHORT] = {0};
	uint64_t word;
	unsigned opcode;
	size_t size;

	memcpy(copy, bytes, AIF_MIN(n, sizeof(copy)));
	memcpy(&word, copy, sizeof(word));
	word = le64toh(word);
	size = word >> COMPACTED & 1 ? SHORT : FULL;
	opcode = word & OPCODE;
	*ret = (struct aif_intel_eu_insn){.opcode = (uint8_t)opcode,
					  .size = (uint8_t)AIF_MIN(n, size)};
	if (lines[opcode].generations & gen) {
		ret->mnemonic = lines[opcode].mnemonic;
		ret->kind = lines[opcode].kind;
	}
	decode_scoreboard(word, gen, ret);
	if (ret->mnemonic)
		decode_rest(bytes, gen, ret);
	return ret->mnemonic != NULL;
}

void aif_intel_eu_text(const struct aif_intel_eu_insn *i, char to[AIF_INTEL_EU_TEXT])
{
	if (!i->mnemonic)
		snprintf(to, AIF_INTEL_EU_TEXT, "0x%02x", i->opcode);
	else
		snprintf(to, AIF_INTEL_EU_TEXT, "%s%s%s", i->mnemonic, i->suffix ? "." : "",
			 i->suffix ? i->suffix : "");
}

void aif_intel_eu_producers(const uint8_t *bytes, size_t n, enum aif_intel_eu gen, uint32_t *ret)
{
	uint32_t marked[AIF_INTEL_EU_SBIDS];

	memset(ret, 0xff, n / SHORT * sizeof(*ret));
	memset(marked, 0xff, sizeof(marked));
	for (size_t at = 0; n - at >= SHORT && at < UINT32_MAX;) {
		struct aif_intel_eu_insn i;

		aif_intel_eu_decode(bytes + at, n - at, gen, &i);
		for (unsigned s = 0; s < AIF_INTEL_EU_SBIDS; s++)
			if (i.waits >> s & 1 && marked[s] != AIF_INTEL_EU_NOTHING &&
			    (ret[at / SHORT] == AIF_INTEL_EU_NOTHING ||
			     marked[s] > ret[at / SHORT]))
				ret[at / SHORT] = marked[s];
		if (i.marks != AIF_INTEL_EU_NO_SBID)
			marked[i.marks] = (uint32_t)at;
		at += i.size;
	}
}
