/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "isa/disasm.h"

/*
 * Counts the operations and bytes of one execution of an instruction of x86-64. Operations of floating point are those that Intel's
 * FP_ARITH events count: additions, multiplications, divisions, square roots, reciprocals, minima, maxima; a multiply-add
 * is two. Conversions and comparisons are none. Bytes are those of its operand in memory, whatever cache has them.
 */
struct aif_insn_work {
	uint32_t flops, load_bytes, store_bytes;
};

/* Returns false for an architecture that is not known here, and for bytes that are no instruction. arch as for
 * aif_disasm_new(). */
bool aif_insn_work(const char *arch, const struct aif_insn *insn, struct aif_insn_work *ret);
