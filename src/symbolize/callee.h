/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/elf_symbols.h"
#include "symbolize/fde.h"

/*
 * Functions that a stripped file no longer names, but whose callers it does: of functions that are known to call one static
 * function, the call in their code says where that begins. Distributions strip CPython's collector of garbage so.
 */
struct aif_callee {
	uint64_t start, end; /* end 0: it was not found */
	const char *name;    /* static */
};

/* Looks for it in a file whose name, without its directories, is of len bytes. Reads the code of one function. */
void aif_callee_find(const struct aif_elf *elf, const char *file, size_t len,
		     const struct aif_elf_symbols *symbols, const struct aif_fdes *fdes,
		     struct aif_callee *ret);
