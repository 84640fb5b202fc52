/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Machine code -> mnemonics and operands: of host architectures through capstone, in Intel's
 * syntax on x86 (what it does not know of AVX-512 and AMX by our table, without operands;
 * ".insn" and the encoding beyond that); of NVIDIA's and Intel's GPUs by our own tables, without
 * operands. One instance serves one thread. */
struct aif_disasm;

struct aif_insn {
	uint64_t address;
	uint32_t size;
	char guard[8]; /* executed where this holds: "@!P0"; "" = always */
	char mnemonic
		[32]; /* with prefixes ("rep movsb"); ".byte" for bytes that are no instruction */
	char operands[160]; /* "" if none */
	/* A jump or call whose target is encoded in the instruction: the target, and where in
	 * the operands its text begins; it reaches to their end. */
	bool has_target;
	uint64_t target;
	uint32_t target_at;
};

/* arch as aif_symbols_arch() and the profile's code table name it. -ENOTSUP for others. */
int aif_disasm_new(const char *arch, struct aif_disasm **ret);
void aif_disasm_free(struct aif_disasm *d);

/* 90 for "sm_90"; 0: it is not NVIDIA's, or too old to be known. */
unsigned aif_disasm_sm(const char *arch);

/* The instruction at the start of bytes[n], n > 0, which stands at `address`. Always gives one of 1
 * to n bytes: what does not decode is a ".byte" (".inst" where instructions have one size). */
void aif_disasm_one(struct aif_disasm *d, const uint8_t *bytes, size_t n, uint64_t address,
		    struct aif_insn *ret);
