/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Machine code of Intel's EUs from Xe (Gen12) on: instructions of 16 bytes, or 8 where they are compacted. Pure; any bytes
 * are allowed. Names are those of IGA, Intel's assembler. */

/* Bits, as gen_opcodes.def has them. */
enum aif_gen {
	AIF_GEN_NONE,
	AIF_GEN_XE_LP = 1,
	AIF_GEN_XE_HP = 2,
	AIF_GEN_XE_HPG = 4,
	AIF_GEN_XE_HPC = 8
};

/* Of a profile's code: "xe_hpc". What is newer counts as Xe-HPC. AIF_GEN_NONE: not Intel's, or older than Xe. */
enum aif_gen aif_gen_of(const char *arch);

enum aif_gen_kind {
	AIF_GEN_UNKNOWN,
	AIF_GEN_SEND, /* a message: memory, sampler, barrier */
	AIF_GEN_SYNC,
	AIF_GEN_TENSOR,
	AIF_GEN_MATH,
	AIF_GEN_CONTROL,
	AIF_GEN_OTHER,
};

/* An instruction that ends later than the next begins marks a scoreboard (SBID); who needs what it makes, or
 * overwrites what it reads, waits for that. */
enum { AIF_GEN_SBIDS = 32, AIF_GEN_NO_SBID = -1 };

struct aif_gen_insn {
	const char *mnemonic; /* "send"; NULL if it is not known */
	const char *suffix;   /* "ugm", "sqt"; NULL if none is told */
	enum aif_gen_kind kind;
	uint8_t opcode;
	uint8_t size;   /* 8 or 16; of bytes that are too few for it, as many as there are */
	int8_t marks;   /* a scoreboard, or AIF_GEN_NO_SBID */
	uint32_t waits; /* a bit set of them */
};

/* The instruction at the start of bytes[n], n > 0. Returns whether it is known. */
bool aif_gen_decode(const uint8_t *bytes, size_t n, enum aif_gen gen, struct aif_gen_insn *ret);

/* "send.ugm", of what is unknown "0x1a". Always terminated; at most AIF_GEN_TEXT bytes with it. */
enum { AIF_GEN_TEXT = 16, AIF_GEN_LEAST = 8 /* bytes of an instruction */ };
void aif_gen_text(const struct aif_gen_insn *i, char to[AIF_GEN_TEXT]);

/*
 * For each place of a function's code that is a multiple of 8: which instruction the one there waits for, as the last
 * before it, in the order of the code, that marked the scoreboard (of several the nearest). (What runs round a loop is in the order of the code only
 * when the loop's body is entered from the top.) Into n / 8 numbers: its offset, or AIF_GEN_NOTHING.
 */
#define AIF_GEN_NOTHING UINT32_MAX
void aif_gen_producers(const uint8_t *bytes, size_t n, enum aif_gen gen, uint32_t *ret);
