/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* NVIDIA's machine code from sm_70 on: instructions of 16 bytes, at multiples of 16 from a
 * function's beginning. Pure; any bytes are allowed. */

enum { AIF_SASS_BYTES = 16, AIF_SASS_FIRST_SM = 70 };

enum aif_sass_kind {
	AIF_SASS_UNKNOWN,
	AIF_SASS_GLOBAL, /* memory: global, also generic, through the texture unit, and bulk copies */
	AIF_SASS_SHARED,
	AIF_SASS_LOCAL,
	AIF_SASS_CONSTANT,
	AIF_SASS_TENSOR,
	AIF_SASS_MATH,
	AIF_SASS_CONTROL,
	AIF_SASS_BARRIER, /* waits for other warps, or for memory to be in order */
	AIF_SASS_OTHER,
};

struct aif_sass {
	const char *mnemonic; /* "LDG"; NULL if it is not known */
	enum aif_sass_kind kind;
	uint16_t opcode; /* the low 12 bits */
	/* Executed where this predicate is true: a number, or AIF_SASS_TRUE. */
	uint8_t predicate;
	bool uniform; /* it is one of the uniform predicates */
	bool negated;
};
enum { AIF_SASS_TRUE = 7 };

/* `sm`: 90. Returns whether the instruction is known on that sm. */
bool aif_sass_decode(const uint8_t *bytes, unsigned sm, struct aif_sass *ret);

/* "LDG", "@!P1 BRA", of what is unknown "0x1a5". Always terminated; at most AIF_SASS_TEXT bytes
 * with it. */
enum { AIF_SASS_TEXT = 32 };
void aif_sass_text(const struct aif_sass *s, char to[AIF_SASS_TEXT]);

/*
 * The scheduling information that the compiler puts into an instruction. An instruction whose
 * duration is not known to the compiler (memory, special functions) counts up one of 6 scoreboards
 * and counts it down when its result is there (write) or its operands were read (read); a later one
 * waits until scoreboards are at 0.
 */
struct aif_sass_control {
	uint8_t stall; /* cycles until the warp's next instruction may follow */
	bool yield;
	uint8_t write, read; /* scoreboards that it sets, or AIF_SASS_NO_SCOREBOARD */
	uint8_t wait;        /* bit set of scoreboards that it waits for */
	uint8_t reuse;       /* operands kept at hand for the next one */
};
enum { AIF_SASS_SCOREBOARDS = 6, AIF_SASS_NO_SCOREBOARD = 7 };
void aif_sass_control(const uint8_t *bytes, struct aif_sass_control *ret);

/*
 * For a warp that waits at instruction `index` of the n at `bytes`: the instructions that it waits
 * for, the nearest first, at most `max`, into ret_indices. They are those before it, in the order
 * of the code, that set a scoreboard which it waits for, back to the one that waited for that
 * scoreboard before. (What runs round a loop is in the order of the code only when the loop's body
 * is entered from the top.) Returns their number.
 */
size_t aif_sass_waits_for(const uint8_t *bytes, size_t n, size_t index, size_t *ret_indices,
			  size_t max);
