/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Zebins made by hand, with debug data of DWARF 4 or 5 as an assembler would write them: for tests without packages,
 * and of what no compiler writes. Needs assert.h or cmocka's asserts before it. */

#include "symbolize/zebin.h"
#include "base/buf.h"
#include "elf_le.h"

#include <string.h>

struct fake_zebin {
	unsigned dwarf;            /* version, 0 = no debug data */
	uint32_t family, ip;       /* 0 = no such note */
	bool is_stripped;          /* without symbols of functions */
	bool is_rel;               /* addends are where the address will be */
	bool has_two;              /* kernels, else "first" alone */
	bool swaps;                /* the relocations' symbols have each other's section numbers */
	unsigned drop_relocations; /* leave out the last ones */
	size_t code;               /* bytes of a kernel's section, 0 = 256 */
};

enum { ZEBIN_SECTIONS = 16, ZEBIN_CODE = 256, ZEBIN_KERNEL_SIZE = 192 };

struct zebin_maker {
	const struct fake_zebin *o;
	struct aif_buf strings, symbols, names, image;
	struct aif_buf info, abbrev, line, line_str, info_rela, line_rela, notes;
	Elf64_Shdr h[ZEBIN_SECTIONS];
	unsigned sections;
};

static inline void put_n(struct aif_buf *b, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		aif_buf_putc(b, (char)(v >> 8 * i));
}

static inline void put_text(struct aif_buf *b, const char *text)
{
	aif_buf_append(b, text, strlen(text) + 1);
}

/* Symbols 1, 2: first, second; 3, 4: those that relocations are against, by the name of the section. */
static inline void put_reloc(struct zebin_maker *m, struct aif_buf *to, size_t at, unsigned kernel,
			     uint64_t addend)
{
	put_n(to, at, 8);
	put_n(to, (uint64_t)(3 + kernel) << 32 | 1, 8);
	if (!m->o->is_rel)
		put_n(to, addend, 8);
}

static inline void put_address(struct zebin_maker *m, struct aif_buf *to, struct aif_buf *relocs,
			       unsigned kernel, uint64_t addend)
{
	put_reloc(m, relocs, to->len, kernel, addend);
	put_n(to, m->o->is_rel ? addend : 0, 8);
}

static inline void patch32(struct aif_buf *b, size_t at, uint32_t v)
{
	v = htole32(v);
	memcpy(b->data + at, &v, sizeof(v));
}

static inline void zebin_note(struct zebin_maker *m, uint32_t type, uint32_t v)
{
	put_n(&m->notes, 8, 4);
	put_n(&m->notes, 4, 4);
	put_n(&m->notes, type, 4);
	aif_buf_append(&m->notes, "IntelGT", 8);
	put_n(&m->notes, v, 4);
}

static inline void zebin_abbrevs(struct aif_buf *b)
{
	static const uint8_t abbrevs[] =
		{
			1,    0x11, 1, /* compile unit: */
			0x03, 0x08, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07, 0,    0,    2, 0x2e,
			1, /* subprogram: name, low_pc, high_pc (data8) */
			0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0,    0,    3,    0x1d, 0, /* inlined: origin (ref4), low_pc, high_pc (data8), call_file, call_line */
			0x31, 0x13, 0x11, 0x01, 0x12, 0x07, 0x58, 0x0b, 0x59, 0x0b, 0, 0,
			4,    0x2e, 0, /* subprogram that is only inlined: name, inline */
			0x03, 0x08, 0x20, 0x0b, 0,    0,    0,
		};

	aif_buf_append(b, abbrevs, sizeof(abbrevs));
}

/* A line program: kernel k has line 10 (k + 1) at 0, + 1 at 64, + 5 at 128. */
static inline void zebin_lines(struct zebin_maker *m, unsigned kernel)
{
	static const uint8_t lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	struct aif_buf *b = &m->line;
	size_t unit = b->len, header;

	put_n(b, 0, 4);
	put_n(b, m->o->dwarf, 2);
	if (m->o->dwarf >= 5)
		put_n(b, 0x0008, 2);
	header = b->len;
	put_n(b, 0, 4);
	put_n(b, 0x0101, 2); /* min_instruction, max_operations */
	put_n(b, 1, 1);
	put_n(b, 0xfb, 1); /* line_base -5 */
	put_n(b, 14, 1);
	put_n(b, 13, 1);
	aif_buf_append(b, lengths, sizeof(lengths));
	if (m->o->dwarf >= 5) {
		put_n(b, 0x1f0101, 3); /* directories: one format: path line_strp; one entry */
		put_n(b, 1, 1);
		put_n(b, 0, 4); /* "/src" */
		put_n(b, 2, 1);
		put_n(b, 0x0b021f01, 4); /* files: path line_strp, directory data1 */
		put_n(b, 2, 1);
		for (unsigned i = 0; i < 2; i++) { /* numbers 0 and 1 */
			put_n(b, 5, 4);            /* "k.cl" */
			put_n(b, 0, 1);
		}
	} else {
		put_text(b, "/src");
		put_n(b, 0, 1);
		put_text(b, "k.cl");
		put_n(b, 0x000001, 3);
		put_n(b, 0, 1);
	}
	patch32(b, header, (uint32_t)(b->len - header - 4));
	put_n(b, 0x020900, 3);
	put_address(m, b, &m->line_rela, kernel, 0);
	put_n(b, 3, 1);
	put_n(b, 10 * (kernel + 1) - 1, 1);
	put_n(b, 1, 1); /* copy */
	for (unsigned i = 0; i < 2; i++) {
		put_n(b, 2, 1);
		put_n(b, 64, 1); /* advance_pc */
		put_n(b, 3, 1);
		put_n(b, i ? 4 : 1, 1); /* advance_line */
		put_n(b, 1, 1);
	}
	put_n(b, 2, 1);
	put_n(b, ZEBIN_KERNEL_SIZE - 128, 1);
	put_n(b, 0x010100, 3); /* end of sequence */
	patch32(b, unit, (uint32_t)(b->len - unit - 4));
}

/* In it "helper" is inlined from 64 to 128, called in line 10 (k + 1) + 7. */
static inline void zebin_unit(struct zebin_maker *m, unsigned kernel)
{
	struct aif_buf *b = &m->info;
	size_t unit = b->len, line = m->line.len, origin;

	put_n(b, 0, 4);
	put_n(b, m->o->dwarf, 2);
	if (m->o->dwarf >= 5) {
		put_n(b, 0x0801, 2); /* a compile unit, addresses of 8 bytes */
		put_n(b, 0, 4);
	} else {
		put_n(b, 0, 4);
		put_n(b, 8, 1);
	}
	put_n(b, 1, 1);
	put_text(b, "k.cl");
	put_n(b, line, 4);
	put_address(m, b, &m->info_rela, kernel, 0);
	put_n(b, ZEBIN_KERNEL_SIZE, 8);
	origin = b->len - unit;
	put_n(b, 4, 1);
	put_text(b, "helper");
	put_n(b, 1, 1);
	put_n(b, 2, 1);
	put_text(b, kernel ? "second" : "first");
	put_address(m, b, &m->info_rela, kernel, 0);
	put_n(b, ZEBIN_KERNEL_SIZE, 8);
	put_n(b, 3, 1);
	put_n(b, origin, 4);
	put_address(m, b, &m->info_rela, kernel, 64);
	put_n(b, 64, 8);
	put_n(b, 1, 1);
	put_n(b, 10 * (kernel + 1) + 7, 1);
	put_n(b, 0, 2); /* ends of the kernel's and the unit's children */
	patch32(b, unit, (uint32_t)(b->len - unit - 4));
	zebin_lines(m, kernel);
}

static inline unsigned zebin_section(struct zebin_maker *m, const char *name, uint32_t type,
				     uint32_t link, const struct aif_buf *from)
{
	uint32_t at = (uint32_t)m->names.len;

	put_text(&m->names, name); /* which may be those that are put */
	while (m->image.len % 8)
		aif_buf_putc(&m->image, 0);
	m->h[m->sections] = (Elf64_Shdr){.sh_name = at,
					 .sh_type = type,
					 .sh_link = link,
					 .sh_offset = m->image.len,
					 .sh_size = from->len};
	aif_buf_append(&m->image, from->data, from->len);
	return m->sections++;
}

static inline void zebin_symbol(struct zebin_maker *m, const char *name, unsigned type,
				uint64_t value, uint64_t size, unsigned section)
{
	Elf64_Sym s = {.st_name = (uint32_t)m->strings.len,
		       .st_info = ELF64_ST_INFO(STB_LOCAL, type),
		       .st_shndx = (uint16_t)section,
		       .st_value = value,
		       .st_size = size};

	put_text(&m->strings, name);
	elf_le_symbol(&s);
	aif_buf_append(&m->symbols, &s, sizeof(s));
}

/* Sections 1, 2: the kernels' code, 3 the symbols, 4 their names. */
static inline void zebin_symbols(struct zebin_maker *m)
{
	Elf64_Sym none = {0};
	const struct fake_zebin *o = m->o;
	unsigned type = o->is_stripped ? STT_OBJECT : STT_FUNC;

	aif_buf_putc(&m->strings, 0);
	aif_buf_append(&m->symbols, &none, sizeof(none));
	zebin_symbol(m, "first", type, 0, ZEBIN_KERNEL_SIZE, 1);
	zebin_symbol(m, "second", type, 0, ZEBIN_KERNEL_SIZE, 2);
	zebin_symbol(m, ".text.first", STT_OBJECT, 0, 0, o->swaps ? 2 : 5);
	zebin_symbol(m, ".text.second", STT_OBJECT, 0, 0, o->swaps ? 1 : 5);
	zebin_symbol(m, "_entry", STT_FUNC, 32, ZEBIN_KERNEL_SIZE - 32, 1);
	zebin_symbol(m, "called", STT_FUNC, 160, 32, 1);
}

static inline void fake_zebin(struct aif_buf *ret, const struct fake_zebin *o)
{
	struct zebin_maker m = {.o = o, .sections = 1};
	Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
			.e_type = ET_REL,
			.e_machine = AIF_ZEBIN_MACHINE,
			.e_version = 1,
			.e_ehsize = sizeof(e),
			.e_shentsize = sizeof(Elf64_Shdr)};
	struct aif_buf code = {0};
	size_t entry = o->is_rel ? 16 : 24;

	for (size_t i = 0; i < (o->code ? o->code : ZEBIN_CODE); i++)
		aif_buf_putc(&code, (char)(i / 8));
	aif_buf_append(&m.image, &e, sizeof(e));
	aif_buf_putc(&m.names, 0);
	zebin_symbols(&m);
	if (o->family)
		zebin_note(&m, 1, o->family);
	if (o->ip)
		zebin_note(&m, 6, o->ip);
	if (o->dwarf) {
		zebin_abbrevs(&m.abbrev);
		put_text(&m.line_str, "/src");
		put_text(&m.line_str, "k.cl");
		zebin_unit(&m, 0);
		if (o->has_two)
			zebin_unit(&m, 1);
		m.info_rela.len -= AIF_MIN(m.info_rela.len, entry * o->drop_relocations);
		m.line_rela.len -= AIF_MIN(m.line_rela.len, entry * o->drop_relocations);
	}
	zebin_section(&m, ".text.first", SHT_PROGBITS, 0, &code);
	zebin_section(&m, o->has_two ? ".text.second" : ".data", SHT_PROGBITS, 0, &code);
	zebin_section(&m, ".symtab", SHT_SYMTAB, 4, &m.symbols);
	zebin_section(&m, ".strtab", SHT_STRTAB, 0, &m.strings);
	zebin_section(&m, ".debug_info", SHT_PROGBITS, 0, &m.info);
	zebin_section(&m, ".debug_abbrev", SHT_PROGBITS, 0, &m.abbrev);
	zebin_section(&m, ".debug_line", SHT_PROGBITS, 0, &m.line);
	zebin_section(&m, ".debug_line_str", SHT_PROGBITS, 0, &m.line_str);
	zebin_section(&m, o->is_rel ? ".rel.debug_info" : ".rela.debug_info", SHT_RELA, 3,
		      &m.info_rela);
	zebin_section(&m, o->is_rel ? ".rel.debug_line" : ".rela.debug_line", SHT_RELA, 3,
		      &m.line_rela);
	zebin_section(&m, ".note.intelgt.compat", SHT_NOTE, 0, &m.notes);

	zebin_section(&m, ".shstrtab", SHT_STRTAB, 0, &m.names);
	while (m.image.len % 8)
		aif_buf_putc(&m.image, 0);
	e.e_shoff = m.image.len;
	e.e_shnum = (uint16_t)m.sections;
	e.e_shstrndx = (uint16_t)(m.sections - 1);
	elf_le_header(&e);
	memcpy(m.image.data, &e, sizeof(e));
	for (unsigned i = 0; i < m.sections; i++)
		elf_le_section(&m.h[i]);
	aif_buf_append(&m.image, m.h, m.sections * sizeof(m.h[0]));
	*ret = m.image;
	aif_buf_finish(&code);
	aif_buf_finish(&m.strings);
	aif_buf_finish(&m.symbols);
	aif_buf_finish(&m.names);
	aif_buf_finish(&m.info);
	aif_buf_finish(&m.abbrev);
	aif_buf_finish(&m.line);
	aif_buf_finish(&m.line_str);
	aif_buf_finish(&m.info_rela);
	aif_buf_finish(&m.line_rela);
	aif_buf_finish(&m.notes);
}
