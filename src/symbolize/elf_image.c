/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/elf_image.h"

#include "base/build_id.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534

enum {
	MAX_SEGMENTS = 256,  /* a linked file has about ten */
	MAX_SECTIONS = 8192, /* a linked file has about forty */
	MAX_SECTION_NAMES = 1 << 20,
	MAX_NOTES = 1 << 16,
};

int aif_elf_read(const struct aif_elf *e, uint64_t offset, void *to, size_t n)
{
	uint8_t *at = to;

	if (offset > e->size || n > e->size - offset)
		return -ENODATA;
	if (aif_effort_spend(e->effort, n))
		return -ETIMEDOUT;
	if (e->fd < 0) {
		if (n)
			memcpy(to, e->bytes + offset, n);
		return 0;
	}
	while (n) {
		ssize_t got = pread(e->fd, at, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ENODATA;
		at += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

int aif_elf_read_at(const struct aif_elf *e, uint64_t address, void *to, size_t n)
{
	for (size_t i = 0; i < e->loads_len; i++) {
		const struct aif_elf_load *l = &e->loads[i];
		uint64_t into = address - l->vaddr, offset;

		if (address < l->vaddr || into > l->filesz || n > l->filesz - into)
			continue;
		if (__builtin_add_overflow(l->offset, into, &offset))
			continue;
		return aif_elf_read(e, offset, to, n);
	}
	return -ENODATA;
}

static void find_build_id(struct aif_elf *e, uint64_t offset, uint64_t size)
{
	const uint8_t *id = NULL;
	size_t len = 0;
	uint8_t *notes;

	if (e->build_id_len || size > MAX_NOTES || !(notes = malloc(size ? size : 1)))
		return;
	if (aif_elf_read(e, offset, notes, size) == 0)
		id = aif_build_id_find(notes, size, e->is_big, &len);
	if (id && len <= sizeof(e->build_id)) {
		memcpy(e->build_id, id, len);
		e->build_id_len = (uint32_t)len;
	}
	free(notes);
}

static int read_segments(struct aif_elf *e, const Elf64_Ehdr *h)
{
	size_t n = aif_elf16(e, h->e_phnum);
	Elf64_Phdr *p;
	int r;

	if (!n)
		return 0;
	if (n > MAX_SEGMENTS || aif_elf16(e, h->e_phentsize) != sizeof(*p))
		return -ENOEXEC;
	p = calloc(n, sizeof(*p));
	e->loads = calloc(n, sizeof(*e->loads));
	if (!p || !e->loads) {
		free(p);
		return -ENOMEM;
	}
	r = aif_elf_read(e, aif_elf64(e, h->e_phoff), p, n * sizeof(*p));
	for (size_t i = 0; r == 0 && i < n; i++) {
		uint32_t type = aif_elf32(e, p[i].p_type);
		uint64_t offset = aif_elf64(e, p[i].p_offset), filesz = aif_elf64(e, p[i].p_filesz);

		if (type == PT_LOAD)
			e->loads[e->loads_len++] =
				(struct aif_elf_load){aif_elf64(e, p[i].p_vaddr), offset, filesz};
		else if (type == PT_NOTE)
			find_build_id(e, offset, filesz);
	}
	free(p);
	return r < 0 ? -ENOEXEC : 0;
}

/* Sections are a bonus: a file whose section table is damaged or cut off still has its segments. */
static int read_sections(struct aif_elf *e, const Elf64_Ehdr *h)
{
	size_t n = aif_elf16(e, h->e_shnum), names = aif_elf16(e, h->e_shstrndx), names_n = 0;
	Elf64_Shdr *s;
	int r = -ENOMEM;

	if (!n || n > MAX_SECTIONS || aif_elf16(e, h->e_shentsize) != sizeof(*s))
		return 0;
	s = calloc(n, sizeof(*s));
	e->sections = calloc(n, sizeof(*e->sections));
	if (!s || !e->sections)
		goto out;
	r = aif_elf_read(e, aif_elf64(e, h->e_shoff), s, n * sizeof(*s));
	if (r < 0)
		goto damaged;
	if (names < n && aif_elf64(e, s[names].sh_size) <= MAX_SECTION_NAMES) {
		names_n = aif_elf64(e, s[names].sh_size);
		e->section_names = calloc(1, names_n + 1);
		if (!e->section_names) {
			r = -ENOMEM;
			goto out;
		}
		if (aif_elf_read(e, aif_elf64(e, s[names].sh_offset), e->section_names, names_n) <
		    0)
			names_n = 0;
		e->section_names[names_n] = 0;
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t name = aif_elf32(e, s[i].sh_name);

		e->sections[i] = (struct aif_elf_section){
			.name = name < names_n ? e->section_names + name : "",
			.type = aif_elf32(e, s[i].sh_type),
			.link = aif_elf32(e, s[i].sh_link),
			.flags = aif_elf64(e, s[i].sh_flags),
			.addr = aif_elf64(e, s[i].sh_addr),
			.offset = aif_elf64(e, s[i].sh_offset),
			.size = aif_elf64(e, s[i].sh_size),
			.entsize = aif_elf64(e, s[i].sh_entsize),
		};
		if (e->sections[i].type == SHT_NOTE)
			find_build_id(e, e->sections[i].offset, e->sections[i].size);
	}
	e->sections_len = n;
damaged:
	r = 0;
out:
	free(s);
	return r;
}

static int read_headers(struct aif_elf *e)
{
	Elf64_Ehdr h;
	int r;

	r = aif_elf_read(e, 0, &h, sizeof(h));
	if (r < 0)
		return -ENOEXEC;
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    (h.e_ident[EI_DATA] != ELFDATA2LSB && h.e_ident[EI_DATA] != ELFDATA2MSB))
		return -ENOEXEC;
	e->is_big = h.e_ident[EI_DATA] == ELFDATA2MSB;
	e->machine = aif_elf16(e, h.e_machine);
	r = read_segments(e, &h);
	return r < 0 ? r : read_sections(e, &h);
}

int aif_elf_init(struct aif_elf *e, int fd, size_t keep)
{
	struct stat st;
	int r;

	*e = (struct aif_elf){.fd = fd};
	if (fstat(fd, &st) < 0) {
		r = -errno;
		goto fail;
	}
	r = -ENOEXEC;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		goto fail;
	e->size = (uint64_t)st.st_size;
	e->owner = st.st_uid;
	if (e->size <= keep) {
		uint8_t *bytes = malloc(e->size);

		r = bytes ? aif_elf_read(e, 0, bytes, e->size) : -ENOMEM;
		if (r < 0) {
			free(bytes);
			goto fail;
		}
		e->bytes = bytes;
		close(e->fd);
		e->fd = -1;
	}
	r = read_headers(e);
	if (r < 0)
		goto fail;
	return 0;
fail:
	aif_elf_finish(e);
	return r;
}

int aif_elf_init_bytes(struct aif_elf *e, const void *bytes, size_t n)
{
	int r;

	*e = (struct aif_elf){.fd = -1, .size = n, .owner = NOBODY};
	e->bytes = malloc(n ? n : 1);
	if (!e->bytes)
		return -ENOMEM;
	if (n)
		memcpy(e->bytes, bytes, n);
	r = read_headers(e);
	if (r < 0)
		aif_elf_finish(e);
	return r;
}

void aif_elf_finish(struct aif_elf *e)
{
	if (e->fd >= 0)
		close(e->fd);
	free(e->bytes);
	free(e->loads);
	free(e->sections);
	free(e->section_names);
	*e = (struct aif_elf){.fd = -1};
}

const struct aif_elf_section *aif_elf_section(const struct aif_elf *e, const char *name)
{
	for (size_t i = 0; i < e->sections_len; i++)
		if (!strcmp(e->sections[i].name, name))
			return &e->sections[i];
	return NULL;
}

const struct aif_elf_section *aif_elf_section_of_type(const struct aif_elf *e, uint32_t type)
{
	for (size_t i = 0; i < e->sections_len; i++)
		if (e->sections[i].type == type)
			return &e->sections[i];
	return NULL;
}

int aif_elf_load(const struct aif_elf *e, const struct aif_elf_section *s, size_t max,
		 uint8_t **ret, size_t *ret_n)
{
	uint8_t *p;
	int r;

	if (!s || s->type == SHT_NOBITS || !s->size)
		return -ENODATA;
	if (s->flags & SHF_COMPRESSED)
		return -ENOTSUP;
	if (s->size > max)
		return -E2BIG;
	if (s->offset > e->size || s->size > e->size - s->offset)
		return -ENODATA;
	p = malloc(s->size);
	if (!p)
		return -ENOMEM;
	r = aif_elf_read(e, s->offset, p, s->size);
	if (r < 0) {
		free(p);
		return r;
	}
	*ret = p;
	*ret_n = s->size;
	return 0;
}

ssize_t aif_elf_string(const struct aif_elf *e, const struct aif_elf_section *s, uint64_t offset,
		       char *to, size_t max)
{
	size_t have = 0, step = 128; /* most names are shorter, a few are kilobytes */
	uint64_t left, at;

	if (s->type == SHT_NOBITS || offset >= s->size ||
	    __builtin_add_overflow(s->offset, offset, &at))
		return -ENODATA;
	left = s->size - offset;
	while (have < left && have + 1 < max) {
		size_t n = AIF_MIN(AIF_MIN(step, (size_t)(left - have)), max - 1 - have);
		char *end;
		int r;

		/* The section may claim more than the file has. */
		if (at + have < e->size)
			n = AIF_MIN(n, e->size - at - have);
		r = aif_elf_read(e, at + have, to + have, n);
		if (r < 0)
			return r;
		end = memchr(to + have, 0, n);
		if (end)
			return end - to;
		have += n;
		step *= 4;
	}
	to[have] = 0;
	return (ssize_t)have;
}
