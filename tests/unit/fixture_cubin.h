/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolize/cubin.h"
#include "base/buf.h"
#include "elf_le.h"

#include <stdio.h>
#include <string.h>

/* Cubins for tests: those that tests/golden/cubin/make-cubins made, and such as no compiler makes. */

static inline void golden_cubin(const char *name, struct aif_buf *ret)
{
	char path[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cubin/%s.cubin", GOLDEN, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	do {
		void *to = aif_buf_reserve(ret, 4096);

		assert_non_null(to);
		n = fread(to, 1, 4096, f);
		ret->len += n;
	} while (n);
	fclose(f);
}

struct fake_function {
	const char *name;
	uint16_t section;
	uint64_t start, size;
	uint8_t type, other;
};

struct fake_section {
	const char *name;
	uint32_t type, link;
	const void *bytes;
	size_t n;
};

enum { FAKE_SYMTAB = 1, FAKE_STRTAB, FAKE_SHSTRTAB, FAKE_FIRST };

/* Sections: none, .symtab, .strtab, .shstrtab, then the given ones from number FAKE_FIRST. Symbol 0 is
 * none; the given functions are numbers 1... */
static inline void fake_cubin(struct aif_buf *ret, const struct fake_section *sections,
			      size_t sections_len, const struct fake_function *functions,
			      size_t functions_len)
{
	Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1, 0x41, 8},
			.e_machine = 190,
			.e_flags = 0x5a04,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = (uint16_t)(FAKE_FIRST + sections_len),
			.e_shstrndx = FAKE_SHSTRTAB};
	Elf64_Shdr h[32] = {0};
	struct aif_buf strings = {0}, names = {0}, symbols = {0};
	Elf64_Sym none = {0};

	assert_true(FAKE_FIRST + sections_len <= 32);
	aif_buf_putc(&strings, 0);
	aif_buf_append(&symbols, &none, sizeof(none));
	for (size_t i = 0; i < functions_len; i++) {
		const struct fake_function *f = &functions[i];
		Elf64_Sym s = {.st_name = (uint32_t)strings.len,
			       .st_info = ELF64_ST_INFO(STB_GLOBAL, f->type),
			       .st_other = f->other,
			       .st_shndx = f->section,
			       .st_value = f->start,
			       .st_size = f->size};

		aif_buf_append(&strings, f->name, strlen(f->name) + 1);
		elf_le_symbol(&s);
		aif_buf_append(&symbols, &s, sizeof(s));
	}
	aif_buf_append(ret, &e, sizeof(e));
	aif_buf_append(&names, "\0.symtab\0.strtab\0.shstrtab", 27);
	h[FAKE_SYMTAB] =
		(Elf64_Shdr){1, SHT_SYMTAB, 0, 0, ret->len, symbols.len, FAKE_STRTAB, 0, 8, 24};
	aif_buf_append(ret, symbols.data, symbols.len);
	h[FAKE_STRTAB] = (Elf64_Shdr){9, SHT_STRTAB, 0, 0, ret->len, strings.len, 0, 0, 1, 0};
	aif_buf_append(ret, strings.data, strings.len);
	for (size_t i = 0; i < sections_len; i++) {
		const struct fake_section *s = &sections[i];

		h[FAKE_FIRST + i] = (Elf64_Shdr){
			(uint32_t)names.len, s->type, 0, 0, ret->len, s->n, s->link, 0, 1, 0};
		aif_buf_append(&names, s->name, strlen(s->name) + 1);
		aif_buf_append(ret, s->bytes, s->n);
	}
	h[FAKE_SHSTRTAB] = (Elf64_Shdr){17, SHT_STRTAB, 0, 0, ret->len, names.len, 0, 0, 1, 0};
	aif_buf_append(ret, names.data, names.len);
	while (ret->len % 8)
		aif_buf_putc(ret, 0);
	e.e_shoff = ret->len;
	elf_le_header(&e);
	memcpy(ret->data, &e, sizeof(e));
	for (size_t i = 0; i < FAKE_FIRST + sections_len; i++)
		elf_le_section(&h[i]);
	aif_buf_append(ret, h, (FAKE_FIRST + sections_len) * sizeof(*h));
	assert_false(aif_buf_failed(ret));
	aif_buf_finish(&strings);
	aif_buf_finish(&names);
	aif_buf_finish(&symbols);
}
