/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/effort.h"

#include <elf.h>
#include <endian.h>
#include <sys/types.h>

/*
 * An ELF file, read piecewise. Files are hostile and may be rewritten or truncated while we look:
 * so nothing is mapped (a truncated mapping kills its reader with SIGBUS), every read is bounded
 * and may fail. 64-bit files, of either byte order.
 */
struct aif_elf_section {
	const char *name; /* "" if it has none */
	uint32_t type, link;
	uint64_t flags, addr, offset, size, entsize;
};
struct aif_elf {
	int fd;         /* -1: the file is in `bytes` */
	uint8_t *bytes; /* the whole file, of `size` bytes */
	uint64_t size;
	uint32_t owner;   /* user whose file it is; nobody (65534): it is none */
	uint16_t machine; /* EM_* */
	bool is_big;      /* its numbers have their highest byte first */
	struct aif_elf_load {
		uint64_t vaddr, offset, filesz;
	} * loads;
	size_t loads_len;
	struct aif_elf_section *sections;
	size_t sections_len;
	char *section_names;
	uint8_t build_id[64];
	size_t build_id_len;       /* 0 = none */
	struct aif_effort *effort; /* the owner's, set after aif_elf_init; NULL: without a limit */
};

/* Takes fd, also on failure. A file of at most `keep` bytes is read whole and fd closed at once.
 * -ENOEXEC: no ELF file that we read. */
int aif_elf_init(struct aif_elf *e, int fd, size_t keep);
int aif_elf_init_bytes(struct aif_elf *e, const void *bytes, size_t n); /* copied */
void aif_elf_finish(struct aif_elf *e);

/* All n bytes at a file offset, or at an address of the file's own numbering. 0 or -errno;
 * -ETIMEDOUT when the file has used up its time. */
int aif_elf_read(const struct aif_elf *e, uint64_t offset, void *to, size_t n);
int aif_elf_read_at(const struct aif_elf *e, uint64_t address, void *to, size_t n);

/* A number as it was read from the file, which has its byte order. */
static inline uint16_t aif_elf16(const struct aif_elf *e, uint16_t v)
{
	return e->is_big ? be16toh(v) : le16toh(v);
}

static inline uint32_t aif_elf32(const struct aif_elf *e, uint32_t v)
{
	return e->is_big ? be32toh(v) : le32toh(v);
}

static inline uint64_t aif_elf64(const struct aif_elf *e, uint64_t v)
{
	return e->is_big ? be64toh(v) : le64toh(v);
}

/* NULL if there is none. */
const struct aif_elf_section *aif_elf_section(const struct aif_elf *e, const char *name);
const struct aif_elf_section *aif_elf_section_of_type(const struct aif_elf *e, uint32_t type);
/* A section's bytes, for free(). -ENODATA without contents, -ENOTSUP when compressed, -E2BIG. */
int aif_elf_load(const struct aif_elf *e, const struct aif_elf_section *s, size_t max,
		 uint8_t **ret, size_t *ret_n);
/* The text at `offset` of a string section, cut at `max - 1` bytes, into to[max]. Its length or
 * -errno. */
ssize_t aif_elf_string(const struct aif_elf *e, const struct aif_elf_section *s, uint64_t offset,
		       char *to, size_t max);
