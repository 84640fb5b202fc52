/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * NVIDIA's device code: a cubin (an ELF image that the driver loads) in memory, of which a hostile target
 * may have chosen every byte. Nothing is copied: the bytes must outlive the reader. About 40 bytes a
 * function, found by its number, its name or a place inside it; everything is indexed once, in init.
 */
struct aif_cubin_function {
	uint32_t symbol;  /* its number in .symtab: CUPTI's functionIndex */
	uint32_t section; /* number of the section with its code */
	uint64_t start;   /* where it begins in that section */
	uint64_t size;
	const char *name; /* mangled, without what the linker put around it; not terminated */
	uint32_t name_len;
	bool kernel; /* else a function that kernels call */
};

struct aif_cubin_section {
	const char *name; /* terminated; "" if it has none */
	const uint8_t *bytes;
	size_t size; /* 0 without contents */
	uint32_t type, link;
};

struct aif_cubin {
	unsigned sm;   /* 90 */
	char arch[16]; /* "sm_90" */
	struct aif_cubin_section *sections;
	size_t sections_len;
	struct aif_cubin_function *functions; /* by symbol */
	size_t functions_len;
	/* Disjoint, sorted: from (section, start) to the next one lies `function` (an index). */
	struct aif_cubin_stretch {
		uint32_t section, function;
		uint64_t start;
	} * stretches;
	size_t stretches_len;
	uint32_t *by_name;      /* indices of functions, sorted by name */
	const uint8_t *symbols; /* .symtab, whole entries */
	size_t symbols_len;     /* their number */
	const struct aif_cubin_section *strings;
};

/* -ENOEXEC: no cubin. -ENOMEM. Otherwise 0, also for one without functions. */
int aif_cubin_init(struct aif_cubin *c, const void *bytes, size_t n);
void aif_cubin_finish(struct aif_cubin *c);

/* Each NULL if there is none. */
const struct aif_cubin_function *aif_cubin_by_symbol(const struct aif_cubin *c, uint32_t symbol);
/* By its mangled name; of several the kernel. */
const struct aif_cubin_function *aif_cubin_by_name(const struct aif_cubin *c, const char *name);
/* The innermost function around the place `pc` bytes into symbol's function: itself, or one that the
 * compiler put into its section. *ret_offset (may be NULL): the place from that one's beginning. */
const struct aif_cubin_function *aif_cubin_find(const struct aif_cubin *c, uint32_t symbol,
						uint64_t pc, uint64_t *ret_offset);
/* A function's instructions, as far as the file has them; with those of the functions inside it. */
const uint8_t *aif_cubin_code(const struct aif_cubin *c, const struct aif_cubin_function *f,
			      size_t *ret_n);

/* The first section of that name, or NULL. */
const struct aif_cubin_section *aif_cubin_section(const struct aif_cubin *c, const char *name);
/* The section and the address in it that a symbol stands for. False: none. */
bool aif_cubin_symbol(const struct aif_cubin *c, uint32_t symbol, uint32_t *ret_section,
		      uint64_t *ret_value);
