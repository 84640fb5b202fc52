/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* The few facts of an ELF file that the recorder needs before any symbol is asked for. The file is
 * hostile input: everything is bounded. */
struct aif_elf_peek {
	char interp[256];                  /* "" = static, or a shared library */
	char build_id[129];                /* hexadecimal, "" = none */
	bool is_shared;                    /* ET_DYN */
	uint64_t dynamic_at, dynamic_size; /* in the file; 0 = none */
	unsigned loads_len;
	struct {
		uint64_t offset, filesz, vaddr;
		bool exec;
	} loads[16];
};

/* 0; -ENOEXEC if fd is no 64-bit ELF file of this machine's byte order; or -errno. */
int aif_elf_peek(int fd, struct aif_elf_peek *ret);

/* True if the file asks the loader for a library whose name begins so. */
bool aif_elf_needs(int fd, const struct aif_elf_peek *e, const char *name);

/* The load bias of a mapping that starts at `start` and maps the file from `offset`: run-time
 * address - bias = address in the file's numbering. False if no segment lies there. */
bool aif_elf_bias(const struct aif_elf_peek *e, uint64_t start, uint64_t offset, uint64_t *ret);
