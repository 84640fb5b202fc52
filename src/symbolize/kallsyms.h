/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/map.h"

/*
 * The running kernel's functions, from /proc/kallsyms: a line for each symbol, "ADDRESS TYPE NAME"
 * and, of a module's, a tab and "[MODULE]". Code is of type t, T, w or W. Where the kernel hides
 * its addresses (kernel.kptr_restrict) all of them are 0. Sizes are not said: a function ends where
 * the next begins.
 *
 * Looked up is what a frame keeps of a kernel address: its low 48 bits.
 */
#define AIF_KALLSYMS_ADDRESS(pc) ((uint64_t)(pc) & ((UINT64_C(1) << 48) - 1))

struct aif_kallsyms {
	struct aif_kallsym {
		uint64_t address;
		uint32_t name, module; /* in `strings`; AIF_STR_NONE: the kernel itself */
	} * at;                        /* sorted by address once sealed */
	size_t len, cap;
	struct aif_strset strings;
	bool is_hidden; /* lines were there, addresses were not */
};

/* Adds a line, without its end; lines that describe no code are skipped. 0 or -ENOMEM. */
int aif_kallsyms_line(struct aif_kallsyms *k, const char *line);
void aif_kallsyms_seal(struct aif_kallsyms *k);
/* The whole file. 0, -EACCES where its addresses are hidden, or -errno. *k is finished by the
 * caller in any case. */
int aif_kallsyms_read(struct aif_kallsyms *k, const char *path);
/* The function that holds the address, or NULL. */
const struct aif_kallsym *aif_kallsyms_find(const struct aif_kallsyms *k, uint64_t address);
void aif_kallsyms_finish(struct aif_kallsyms *k);
