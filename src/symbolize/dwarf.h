/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/elf_image.h"

#define AIF_DWARF_MAX_LEVELS 64 /* real chains reach 30 */

/* Source lines and inlined functions of one file's DWARF, through elfutils' libdw. */
struct aif_dwarf;

struct aif_dwarf_level {
	const char *name; /* as DWARF has it, NULL = none; valid until the next call */
	bool linkage;     /* `name` is what the linker knows it by, to be demangled */
	const char *file; /* NULL = unknown */
	uint32_t line;    /* 0 = unknown */
};

/* `elf` must outlive the result. -ENODATA without debug information. Nothing but headers is read. */
int aif_dwarf_new(const struct aif_elf *elf, struct aif_dwarf **ret);
void aif_dwarf_free(struct aif_dwarf *d);

/* Bytes that it keeps (an estimate), and giving them back; the next use reads the file again. */
size_t aif_dwarf_cached(const struct aif_dwarf *d);
/* Returns how many of those were kept just after the file was opened. */
size_t aif_dwarf_opened(const struct aif_dwarf *d);
void aif_dwarf_drop(struct aif_dwarf *d);

/*
 * The functions at an address, [0] the one that really stands there, then those inlined into it;
 * with more than `max` (or AIF_DWARF_MAX_LEVELS) of them the innermost replaces the last. `line` is
 * the place inside that function: of all but the last, where it calls the next. Returns their
 * number (1 with a NULL name where only a line is known), 0 if nothing is known, or -errno.
 */
int aif_dwarf_resolve(struct aif_dwarf *d, uint64_t address, struct aif_dwarf_level *ret,
		      unsigned max);
