/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Machine code of Intel's EUs from Xe (Gen12) on: instructions of 16 bytes, or 8 where they are
 * compacted. Pure; any bytes are allowed. Names are those of IGA, Intel's assembler. */

/* Bits, as intel_eu_opcodes.def has them. */
enum aif_intel_eu {
	AIF_INTEL_EU_NONE,
	AIF_INTEL_EU_XE_LP = 1,
	AIF_INTEL_EU_XE_HP = 2,
	AIF_INTEL_EU_XE_HPG = 4,
	AIF_INTEL_EU_XE_HPC = 8
};

/* Returns the generation of a profile's code by its architecture, such as "xe_hpc". Newer ones
 * count as Xe-HPC. AIF_INTEL_EU_NONE: not Intel's, or older than Xe. */
enum aif_intel_eu aif_intel_eu_of(const char *arch);

enum aif_intel_eu_kind {
	AIF_INTEL_EU_UNKNOWN,
	AIF_INTEL_EU_SEND, /* a message: memory, sampler, barrier */
	AIF_INTEL_EU_SYNC,
	AIF_INTEL_EU_TENSOR,
	AIF_INTEL_EU_MATH,
	AIF_INTEL_EU_CONTROL,
	AIF_INTEL_EU_OTHER,
};

/* An instruction that ends later than the next begins marks a scoreboard (SBID); who needs what
 * it makes, or overwrites what it reads, waits for that. */
enum { AIF_INTEL_EU_SBIDS = 32, AIF_INTEL_EU_NO_SBID = -1 };

struct aif_intel_eu_insn {
	const char *mnemonic; /* "send"; NULL if it is not known */
	const char *suffix;   /* "ugm", "sqt"; NULL if none is told */
	enum aif_intel_eu_kind kind;
	uint8_t opcode;
	uint8_t size;   /* 8 or 16; of bytes that are too few for it, as many as there are */
	int8_t marks;   /* a scoreboard, or AIF_INTEL_EU_NO_SBID */
	uint32_t waits; /* a bit set of them */
};

/* The instruction at the start of bytes[n], n > 0. Returns whether it is known. */
bool aif_intel_eu_decode(const uint8_t *bytes, size_t n, enum aif_intel_eu gen,
			 struct aif_intel_eu_insn *ret);

/* "send.ugm", of what is unknown "0x1a". Always terminated; at most AIF_INTEL_EU_TEXT bytes with
 * it. */
enum { AIF_INTEL_EU_TEXT = 16, AIF_INTEL_EU_LEAST = 8 /* bytes of an instruction */ };
void aif_intel_eu_text(const struct aif_intel_eu_insn *i, char to[AIF_INTEL_EU_TEXT]);

/*
 * For each place of a function's code that is a multiple of 8: which instruction the one there
 * waits for, as the last before it, in the order of the code, that marked the scoreboard (of
 * several the nearest). (What runs round a loop is in the order of the code only when the loop's
 * body is entered from the top.) Into n / 8 numbers: its offset, or AIF_INTEL_EU_NOTHING.
 */
#define AIF_INTEL_EU_NOTHING UINT32_MAX
void aif_intel_eu_producers(const uint8_t *bytes, size_t n, enum aif_intel_eu gen, uint32_t *ret);
