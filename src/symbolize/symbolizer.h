/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/callee.h"
#include "symbolize/debugfile.h"
#include "symbolize/dwarf.h"
#include "symbolize/elf_symbols.h"
#include "symbolize/fde.h"
#include "base/buf.h"

/*
 * The seam inside `symbolize`: ways to name an address, asked in order until one knows it. To add
 * one: a file with a `const struct aif_symbolizer`, and a line in the table of symbolizers.c,
 * before those that know less.
 */

/* A module with what has been read of it; each part at its first use. */
struct aif_symbols_module {
	char *path;             /* never NULL */
	char *const *debug_dir; /* the owner's */
	const char *label;      /* its last part, without " (deleted)": for made-up names */
	size_t label_len;
	bool is_kernel; /* PoCL's, by its path */
	bool is_slow;   /* it took too long: no more is read of it */
	bool have_elf, have_symbols, have_fdes, have_callee, tried_debug, tried_dwarf;
	struct aif_effort effort;  /* of all that is read of it */
	struct aif_elf elf, debug; /* debug: the separate debug file, fd -1 and size 0 if none */
	struct aif_elf
		debugdata; /* the symbols that a stripped file keeps (debugdata.h); the same */
	struct aif_elf_symbols symbols;
	struct aif_fdes fdes;
	struct aif_callee callee;
	uint64_t used;           /* when libdw was asked last, in questions */
	size_t dwarf_cached;     /* part of the owner's sum */
	struct aif_dwarf *dwarf; /* NULL until tried, or if there is none */
	struct aif_module_twin { /* a PoCL kernel's two work group functions */
		uint64_t start;
		struct aif_pocl_twin *twin; /* NULL if it has none */
	} twins[2];
	size_t twins_len;
};

/* The names found for an address. Texts lie in `text`, because it moves while they are added. */
struct aif_naming_result {
	struct aif_buf text;
	struct aif_naming_level {
		size_t name, file; /* offsets in text; file SIZE_MAX = unknown */
		uint32_t line;
	} * levels;
	unsigned n, max;
	bool named;
	struct aif_buf scratch;
};

struct aif_symbolizer {
	const char *name;
	/* Fills ret->levels[0..n). 1 = it knows; 0 = it does not, ret untouched; or -ENOMEM. */
	int (*resolve)(struct aif_symbols_module *m, uint64_t address,
		       struct aif_naming_result *ret);
	/* Finds the extent of the function: 1, 0 or -ENOMEM. */
	int (*extent)(struct aif_symbols_module *m, uint64_t address, uint64_t *ret_start,
		      uint64_t *ret_end);
};

/* In the order in which they are asked; NULL at the end. The last one always answers. */
extern const struct aif_symbolizer *const aif_symbolizers[];

/* The parts of a module, read when first asked for. */
int aif_module_symbols(struct aif_symbols_module *m, const struct aif_elf_symbols **ret);
int aif_module_fdes(struct aif_symbols_module *m, const struct aif_fdes **ret);
/* *ret NULL if there is no debug information. */
int aif_module_dwarf(struct aif_symbols_module *m, struct aif_dwarf **ret);
