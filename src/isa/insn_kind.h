/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "isa/disasm.h"

/*
 * Kinds of a host's instructions, by mnemonic and operands. An instruction may be of several kinds: vaddps of a register and
 * memory is packed arithmetic and a load. Accesses of the stack by push, pop, call and ret are not counted.
 */
enum aif_insn_kind {
	AIF_INSN_PACKED_FP, /* floating point on several elements: arithmetic, conversions and comparisons, no moves */
	AIF_INSN_SCALAR_FP, /* the same on one element, x87 too */
	AIF_INSN_LOAD,
	AIF_INSN_STORE,
	AIF_INSN_BRANCH, /* jumps, calls, returns */
	AIF_INSN_KINDS
};
#define AIF_INSN_BIT(kind) (1u << (kind))

/* Returns the kinds as bits. *ret_is_known is false for an architecture that is not known here, and for bytes that are no
 * instruction. arch as for aif_disasm_new(). */
unsigned aif_insn_kinds(const char *arch, const struct aif_insn *insn, bool *ret_is_known);

/* "packed_fp", "load", ... */
const char *aif_insn_kind_key(enum aif_insn_kind kind);
