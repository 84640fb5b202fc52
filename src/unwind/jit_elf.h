/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <elf.h>

/*
 * An ELF object that a JIT compiler shows to debuggers (jit.h), read where it lies in memory. It
 * may be anything, and may be freed meanwhile: each byte comes by a read that fails instead of
 * faulting, and is judged after it was copied.
 */

struct aif_jit_memory {
	bool (*read)(void *arg, uint64_t at, void *to, size_t len);
	void *arg;
};

/* Objects of LLVM have 10 to 25 sections. What is behind these is not looked at. */
#define AIF_JIT_SECTIONS 64

struct aif_jit_elf {
	struct aif_jit_memory memory;
	uint64_t at, size;
	bool relocatable; /* symbols are relative to their sections */
	unsigned names;   /* section that has the sections' names */
	unsigned sections_len;
	Elf64_Shdr sections[AIF_JIT_SECTIONS];
};

/* 0, -EFAULT (not readable) or -EINVAL (no ELF object for this machine's 64 bits). */
int aif_jit_elf_open(struct aif_jit_elf *e, struct aif_jit_memory memory, uint64_t at,
		     uint64_t size);

/* Finds the .eh_frame that is in force: at its load address if it was loaded, else in the
 * object. False: none. */
bool aif_jit_elf_tables(const struct aif_jit_elf *e, uint64_t *ret_at, uint64_t *ret_len);

/* The code of section i, where it runs. False: that section is none. */
bool aif_jit_elf_code(const struct aif_jit_elf *e, unsigned i, uint64_t *ret_lo, uint64_t *ret_hi);

/* Longer names are cut. */
#define AIF_JIT_NAME 256

struct aif_jit_symbol {
	uint64_t lo, hi;
	char name[AIF_JIT_NAME];
};

/* The function that pc lies in. */
bool aif_jit_elf_symbol(const struct aif_jit_elf *e, uint64_t pc, struct aif_jit_symbol *ret);
