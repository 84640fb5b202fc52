/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* AVX and AVX-512 instructions by their encoding alone, for those that the disassembler at hand
 * does not know: capstone 4 misses much of AVX-512, which PoCL's kernels are made of where the
 * CPU has it. An instruction that is not known by name still has its size, without which all
 * that follows is lost, and what tells it from others. Layout: Intel SDM volume 2, 2.3 (VEX),
 * 2.7 (EVEX). */
struct aif_x86_vector {
	uint32_t size;   /* bytes, prefixes and immediate included */
	uint8_t is_evex; /* else VEX */
	uint8_t map;     /* 1: 0F, 2: 0F38, 3: 0F3A, 5 and 6: MAP5 and MAP6 */
	uint8_t prefix;  /* 0: none, 1: 66, 2: F3, 3: F2 */
	uint8_t w, opcode;
	uint8_t variant; /* ModRM.reg of shifts by an immediate; 1: of vmovlps and vmovhps from a register; else 0 */
	uint16_t bits; /* 128, 256, 512 */
};

/* Decodes the instruction at the start of bytes[n]. 0, or -ENOENT if it is not a vector
 * instruction, or cut off. */
int aif_x86_vector(const uint8_t *bytes, size_t n, struct aif_x86_vector *ret);

/* One number for each pair of map, prefix, W, opcode and variant of either encoding, above 1 <<
 * 24: beyond what disassemblers use. */
uint32_t aif_x86_vector_id(const struct aif_x86_vector *v);

/* "vpermt2q"; NULL: not in our table, which has what capstone 4 lacks. */
const char *aif_x86_vector_name(const struct aif_x86_vector *v);

#define AIF_X86_VECTOR_TEXT 40
/* Writes an encoding as the manual's page titles do: "EVEX.512.66.0F38.W1 7E". */
void aif_x86_vector_text(const struct aif_x86_vector *v, char ret[AIF_X86_VECTOR_TEXT]);
