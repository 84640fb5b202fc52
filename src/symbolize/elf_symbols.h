/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/elf_image.h"

/*
 * The functions of one ELF file by address, from .symtab, else .dynsym, and from the
 * symbols of a second one (debugdata.h). 24 bytes of memory a symbol
 * and 16 a stretch of addresses; names stay in the file and are read when asked for.
 */
struct aif_elf_function {
	uint64_t start, end; /* end > start */
	uint32_t name;       /* offset into the string section */
	uint8_t source;      /* which one's */
};
struct aif_elf_symbols {
	struct aif_elf_symbols_source {
		const struct aif_elf *elf;
		const struct aif_elf_section *strings;
	} sources[2];
	struct aif_elf_function *functions;
	size_t functions_len;
	/* Disjoint stretches, sorted: from `start` to the next one's start lies `function`. */
	struct aif_elf_stretch {
		uint64_t start;
		uint32_t function; /* NO_FUNCTION: nothing known */
	} * stretches;
	size_t stretches_len;
};
#define AIF_ELF_NO_FUNCTION UINT32_MAX

/* Both files must outlive s; `more` may be NULL. 0 (also with no symbols at all) or -ENOMEM. */
int aif_elf_symbols_init(struct aif_elf_symbols *s, const struct aif_elf *elf,
			 const struct aif_elf *more);
void aif_elf_symbols_finish(struct aif_elf_symbols *s);

/* The innermost function that covers the address, or NULL. */
const struct aif_elf_function *aif_elf_symbols_find(const struct aif_elf_symbols *s,
						    uint64_t address);
/* The name as the linker knows it, without a symbol version ("@@..."). Its length or -errno. */
ssize_t aif_elf_symbols_name(const struct aif_elf_symbols *s, const struct aif_elf_function *f,
			     char *to, size_t max);
