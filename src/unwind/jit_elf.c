/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/jit_elf.h"

#include <errno.h>
#include <string.h>

/* No compiler makes one that comes near. */
#define MAX_OBJECT (UINT64_C(1) << 32)

/* A look-up reads these many at most, 24 bytes each; LLVM has one object per module of its input. */
#define MAX_SYMBOLS 16384
#define AT_A_TIME   32

/* SHT_X86_64_UNWIND, which LLVM gives to .eh_frame; gcc's are PROGBITS. */
#define SECTION_UNWIND 0x70000001

/* Within the object? */
static bool read_part(const struct aif_jit_elf *e, uint64_t offset, void *to, size_t len)
{
	return offset <= e->size && len <= e->size - offset &&
	       e->memory.read(e->memory.arg, e->at + offset, to, len);
}

int aif_jit_elf_open(struct aif_jit_elf *e, struct aif_jit_memory memory, uint64_t at,
		     uint64_t size)
{
	Elf64_Ehdr head;

	if (size < sizeof(head) || size > MAX_OBJECT || at + size < at)
		return -EINVAL;
	e->memory = memory;
	e->at = at;
	e->size = size;
	if (!read_part(e, 0, &head, sizeof(head)))
		return -EFAULT;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_shentsize != sizeof(Elf64_Shdr) ||
	    head.e_shnum == 0)
		return -EINVAL;
	e->relocatable = head.e_type == ET_REL;
	e->names = head.e_shstrndx;
	e->sections_len = AIF_MIN(head.e_shnum, AIF_JIT_SECTIONS);
	if (head.e_shoff > size || e->sections_len * sizeof(Elf64_Shdr) > size - head.e_shoff)
		return -EINVAL;
	return read_part(e, head.e_shoff, e->sections, e->sections_len * sizeof(Elf64_Shdr))
		       ? 0
		       : -EFAULT;
}

static bool is_named(const struct aif_jit_elf *e, const Elf64_Shdr *s, const char *name)
{
	char text[16];
	size_t len = strlen(name) + 1;

	return e->names < e->sections_len && s->sh_name < e->sections[e->names].sh_size &&
	       read_part(e, e->sections[e->names].sh_offset + s->sh_name, text, len) &&
	       !memcmp(text, name, len);
}

bool aif_jit_elf_tables(const struct aif_jit_elf *e, uint64_t *ret_at, uint64_t *ret_len)
{
	for (unsigned i = 0; i < e->sections_len; i++) {
		const Elf64_Shdr *s = &e->sections[i];

		if (!(s->sh_flags & SHF_ALLOC) || s->sh_size == 0 ||
		    (s->sh_type != SECTION_UNWIND &&
		     (s->sh_type != SHT_PROGBITS || !is_named(e, s, ".eh_frame"))))
			continue;
		if (!s->sh_addr && (s->sh_offset > e->size || s->sh_size > e->size - s->sh_offset))
			return false;
		*ret_at = s->sh_addr ? s->sh_addr : e->at + s->sh_offset;
		*ret_len = s->sh_size;
		return true;
	}
	return false;
}

bool aif_jit_elf_code(const struct aif_jit_elf *e, unsigned i, uint64_t *ret_lo, uint64_t *ret_hi)
{
	const Elf64_Shdr *s;

	if (i >= e->sections_len)
		return false;
	s = &e->sections[i];
	if (!(s->sh_flags & SHF_EXECINSTR) || !s->sh_addr || !s->sh_size ||
	    s->sh_addr + s->sh_size < s->sh_addr)
		return false;
	*ret_lo = s->sh_addr;
	*ret_hi = s->sh_addr + s->sh_size;
	return true;
}

static bool range_of(const struct aif_jit_elf *e, const Elf64_Sym *sym, struct aif_jit_symbol *ret)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);
	uint64_t lo, hi;

	if ((type != STT_FUNC && type != STT_NOTYPE) || !sym->st_name ||
	    !aif_jit_elf_code(e, sym->st_shndx, &lo, &hi))
		return false;
	ret->lo = sym->st_value + (e->relocatable ? lo : 0);
	ret->hi = sym->st_size ? ret->lo + sym->st_size : hi;
	return ret->lo >= lo && ret->lo < ret->hi && ret->hi <= hi;
}

/* False: it has none, or an empty one. */
static bool read_name(const struct aif_jit_elf *e, const Elf64_Shdr *strings, uint32_t at,
		      char name[AIF_JIT_NAME])
{
	uint64_t len = at < strings->sh_size ? strings->sh_size - at : 0;

	len = AIF_MIN(len, AIF_JIT_NAME - 1);
	if (!len || !read_part(e, strings->sh_offset + at, name, len))
		return false;
	name[len] = '\0';
	return *name;
}

static bool find_in(const struct aif_jit_elf *e, const Elf64_Shdr *table, uint64_t pc,
		    struct aif_jit_symbol *ret)
{
	uint64_t len = AIF_MIN(table->sh_size / sizeof(Elf64_Sym), MAX_SYMBOLS);
	Elf64_Sym syms[AT_A_TIME];
	bool found = false;

	if (table->sh_link >= e->sections_len)
		return false;
	for (uint64_t at = 0; at < len; at += AT_A_TIME) {
		size_t n = AIF_MIN(len - at, AT_A_TIME);

		if (!read_part(e, table->sh_offset + at * sizeof(syms[0]), syms,
			       n * sizeof(syms[0])))
			break;
		for (size_t i = 0; i < n; i++) {
			struct aif_jit_symbol sym;

			/* The narrowest: labels within a function have its end. */
			if (!range_of(e, &syms[i], &sym) || pc < sym.lo || pc >= sym.hi ||
			    (found && sym.hi - sym.lo >= ret->hi - ret->lo) ||
			    !read_name(e, &e->sections[table->sh_link], syms[i].st_name, sym.name))
				continue;
			*ret = sym;
			found = true;
		}
	}
	return found;
}

bool aif_jit_elf_symbol(const struct aif_jit_elf *e, uint64_t pc, struct aif_jit_symbol *ret)
{
	for (unsigned i = 0; i < e->sections_len; i++)
		if ((e->sections[i].sh_type == SHT_SYMTAB ||
		     e->sections[i].sh_type == SHT_DYNSYM) &&
		    find_in(e, &e->sections[i], pc, ret))
			return true;
	return false;
}
