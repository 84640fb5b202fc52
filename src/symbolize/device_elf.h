/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Device code as an ELF image in memory, of which a hostile target may have chosen every byte: what
 * the vendors' (cubin.h, zebin.h) have in common. Nothing is copied: the bytes must outlive the
 * reader. About 40 bytes a function, found by its number, its name or a place inside it; everything
 * is indexed once, in init.
 */
struct aif_device_function {
	/* The symbol's number in .symtab (CUPTI's functionIndex); for a function without a
	 * symbol, that table's length + the number of its section. */
	uint32_t symbol;
	uint32_t section; /* number of the section with its code */
	uint64_t start;   /* where it begins in that section */
	uint64_t size;
	const char *name; /* mangled, without what the linker put around it; not terminated */
	uint32_t name_len;
	bool kernel; /* else a function that kernels call */
};

struct aif_device_section {
	const char *name; /* terminated; "" if it has none, or if all are much too long */
	const uint8_t *bytes;
	size_t size; /* 0 without contents */
	uint32_t type, link;
};

#define AIF_DEVICE_TEXT ".text." /* a kernel's section is called that and its name */

/* The differences between vendors. */
struct aif_device_elf_kind {
	uint16_t machine; /* e_machine */
	/* Completes the name and .kernel of a symbol for code, whose name is the full one.
	 * False: it is no function. */
	bool (*accept)(struct aif_device_function *f, uint8_t st_other,
		       const struct aif_device_section *in);
	/* A section .text.NAME is a function of that name, also where no symbol says so. */
	bool has_sections_as_functions;
};

struct aif_device_elf {
	struct aif_device_section *sections;
	size_t sections_len;
	struct aif_device_function *functions; /* by symbol */
	size_t functions_len;
	/* Disjoint, sorted: from (section, start) to the next one lies `function` (an index). */
	struct aif_device_stretch {
		uint32_t section, function;
		uint64_t start;
	} * stretches;
	size_t stretches_len;
	uint32_t *by_name;      /* indices of functions, sorted by name */
	const uint8_t *symbols; /* .symtab, whole entries */
	size_t symbols_len;     /* their number */
	const struct aif_device_section *strings;
};

/* False: the bytes are no such image. */
bool aif_device_elf_is(uint16_t machine, const void *bytes, size_t n);
/* -ENOEXEC: no image of that kind. -ENOMEM. Otherwise 0, also for one without functions. */
int aif_device_elf_init(struct aif_device_elf *e, const struct aif_device_elf_kind *kind,
			const void *bytes, size_t n);
void aif_device_elf_finish(struct aif_device_elf *e);

/* Each NULL if there is none. */
const struct aif_device_function *aif_device_elf_by_symbol(const struct aif_device_elf *e,
							   uint32_t symbol);
/* Finds a function by its mangled name; among several, the kernel. */
const struct aif_device_function *aif_device_elf_by_name(const struct aif_device_elf *e,
							 const char *name);
/* The innermost function around the place `pc` bytes into symbol's function: itself, or one that
 * the compiler put into its section. *ret_offset (may be NULL): the place from that one's
 * beginning. */
const struct aif_device_function *aif_device_elf_find(const struct aif_device_elf *e,
						      uint32_t symbol, uint64_t pc,
						      uint64_t *ret_offset);
/* A function's instructions, as far as the file has them; with those of the functions inside it. */
const uint8_t *aif_device_elf_code(const struct aif_device_elf *e,
				   const struct aif_device_function *f, size_t *ret_n);

/* The first section of that name, or NULL. */
const struct aif_device_section *aif_device_elf_section(const struct aif_device_elf *e,
							const char *name);
/* The section and the address in it that a symbol stands for. False: none. */
bool aif_device_elf_symbol(const struct aif_device_elf *e, uint32_t symbol, uint32_t *ret_section,
			   uint64_t *ret_value);
/* Terminated; "" without one, or if it is longer than 4 KiB. */
const char *aif_device_elf_symbol_name(const struct aif_device_elf *e, uint32_t symbol);

#define AIF_DEVICE_MAX_LEVELS 64

/* A function at an address: the function itself, or one that is inlined into it. */
struct aif_device_level {
	const char *name; /* mangled, NULL = unknown */
	const char *file; /* NULL = unknown */
	uint32_t line;    /* 0 = unknown */
};
