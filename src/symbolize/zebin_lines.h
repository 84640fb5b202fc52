/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/dwarf.h"
#include "symbolize/zebin.h"

/* Source lines and inlined functions of a zebin's instructions: its DWARF (4 or 5), read as any
 * other file's. */
struct aif_zebin_lines;

/* `z` and its bytes (the n that it was made from) must outlive the result, which has a copy of
 * them. -ENODATA without debug data (compiled without -g), -ENOMEM. */
int aif_zebin_lines_new(const struct aif_zebin *z, const void *bytes, size_t n,
			struct aif_zebin_lines **ret);
void aif_zebin_lines_free(struct aif_zebin_lines *l);

/* Resolves the address `pc` bytes into the symbol's function, as aif_dwarf_resolve(). */
int aif_zebin_lines_resolve(struct aif_zebin_lines *l, uint32_t symbol, uint64_t pc,
			    struct aif_dwarf_level *ret, unsigned max);
