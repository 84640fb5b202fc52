/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/device_cut.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Data that stays: constants of one kernel are some hundred bytes, and readers of the file want them. */
#define DATA_MAX (64 * 1024)
/* Copying stops there: sections of a sound file do not overlap. */
#define COPY_TIMES 2

struct cutter {
	const uint8_t *from;
	uint8_t *to;
	size_t n, left; /* bytes of the file; bytes that may be copied */
};

/* Copies as much of the range as there is. */
static void copy(struct cutter *c, uint64_t offset, uint64_t size)
{
	if (offset >= c->n)
		return;
	size = AIF_MIN(AIF_MIN(size, c->n - offset), c->left);
	memcpy(c->to + offset, c->from + offset, size);
	c->left -= size;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* Marks the sections that functions lie in. */
static bool *find_code(const struct aif_device_elf *e)
{
	bool *is_code = calloc(e->sections_len, sizeof(*is_code));

	for (size_t i = 0; is_code && i < e->functions_len; i++)
		is_code[e->functions[i].section] = true;
	for (size_t i = 0; is_code && i < e->sections_len; i++)
		is_code[i] |= has_prefix(e->sections[i].name, AIF_DEVICE_TEXT);
	return is_code;
}

static bool is_kept(const struct aif_device_section *s, bool is_code)
{
	switch (s->type) {
	case SHT_SYMTAB:
	case SHT_STRTAB:
	case SHT_SYMTAB_SHNDX:
	case SHT_REL:
	case SHT_RELA:
		return true;
	default:
		return !is_code && (s->size <= DATA_MAX || has_prefix(s->name, ".debug_") ||
				    (s->type != SHT_PROGBITS && s->type != AIF_ZEBIN_SPIRV));
	}
}

static uint64_t offset_of(const struct cutter *c, const struct aif_device_section *s)
{
	return (uint64_t)(s->bytes - c->from);
}

/* Clears the type in the section's header: nothing of it is in the file. */
static void say_empty(struct cutter *c, uint64_t headers, size_t i)
{
	uint32_t nobits = htole32(SHT_NOBITS);

	memcpy(c->to + headers + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_type), &nobits,
	       sizeof(nobits));
}

int aif_device_cut(const struct aif_device_elf *e, const struct aif_cubin_lines *lines,
		   const uint8_t *image, size_t n, uint8_t **ret)
{
	struct cutter c = {.from = image, .n = n, .left = COPY_TIMES * n};
	const struct aif_device_section *table = aif_device_elf_section(e, ".debug_line");
	bool *is_code = find_code(e);
	Elf64_Ehdr head;
	uint64_t headers;

	c.to = calloc(n, 1);
	if (!is_code || !c.to) {
		free(is_code);
		free(c.to);
		return -ENOMEM;
	}
	/* The reader found a header, and all section headers, inside of the image. */
	memcpy(&head, image, sizeof(head));
	headers = le64toh(head.e_shoff);
	for (size_t i = 0; i < e->sections_len; i++)
		if (e->sections[i].size && is_kept(&e->sections[i], is_code[i]))
			copy(&c, offset_of(&c, &e->sections[i]), e->sections[i].size);
	if (lines && table && table->size)
		aif_cubin_lines_blank(lines, c.to + offset_of(&c, table));
	c.left = n; /* the rest may lie in a section only in a file that says so of purpose */
	copy(&c, 0, sizeof(head));
	copy(&c, le64toh(head.e_phoff), (uint64_t)le16toh(head.e_phnum) * sizeof(Elf64_Phdr));
	copy(&c, headers, e->sections_len * sizeof(Elf64_Shdr));
	for (size_t i = 0; i < e->sections_len; i++)
		if (e->sections[i].size && !is_kept(&e->sections[i], is_code[i]))
			say_empty(&c, headers, i);
	free(is_code);
	*ret = c.to;
	return 0;
}
