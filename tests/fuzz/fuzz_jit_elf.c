/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/ehframe.h"
#include "unwind/jit_elf.h"

#include <stdlib.h>
#include <string.h>

/*
 * An ELF object in memory, of any bytes. No read outside of it but where its sections claim to be loaded, which
 * the reader here refuses; symbols lie in a section of code; tables are read from a copy that ends at the last
 * byte of a heap block.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define AT UINT64_C(0x100000)

struct object {
	const uint8_t *data;
	size_t size;
};

static bool read_object(void *arg, uint64_t at, void *to, size_t len)
{
	const struct object *o = arg;

	if (at < AT || at - AT > o->size || len > o->size - (at - AT))
		return false;
	memcpy(to, o->data + (at - AT), len);
	return true;
}

static void read_tables(const struct object *o, uint64_t at, uint64_t len)
{
	struct aif_ehframe_function f;
	uint32_t next = 0, last = 0;
	uint8_t *copy;

	len = AIF_MIN(len, 65536);
	copy = malloc(len + !len);
	if (!copy || !read_object((void *)(uintptr_t)o, at, copy, len)) {
		free(copy);
		return;
	}
	while (aif_ehframe_next((struct aif_span){copy, copy + len}, at - (uint64_t)(uintptr_t)copy,
				&next, &f)) {
		struct aif_span cie = {copy + f.cie, copy + f.cie + f.cie_len},
				fde = {copy + f.fde, copy + f.fde + f.fde_len};

		if (next <= last || f.cie_len > len - f.cie || f.fde_len > len - f.fde)
			abort();
		last = next;
		for (unsigned i = 0; i < 4; i++)
			if (aif_row_kind(aif_ehframe_row_of(cie, fde, at + f.fde,
							    f.start + i * 9)) >= AIF_ROW_KIND_COUNT)
				abort();
	}
	free(copy);
}

static void look(const uint8_t *data, size_t size)
{
	struct object o = {data, size};
	struct aif_jit_memory memory = {read_object, &o};
	struct aif_jit_symbol sym;
	static struct aif_jit_elf e;
	uint64_t at, len, hi;

	if (aif_jit_elf_open(&e, memory, AT, size) < 0)
		return;
	if (aif_jit_elf_tables(&e, &at, &len))
		read_tables(&o, at, len);
	for (unsigned i = 0; i <= AIF_JIT_SECTIONS; i++) {
		if (!aif_jit_elf_code(&e, i, &at, &hi))
			continue;
		for (unsigned k = 0; k < 8; k++) {
			uint64_t pc = at + (hi - at) / 8 * k;

			if (aif_jit_elf_symbol(&e, pc, &sym) &&
			    (pc < sym.lo || pc >= sym.hi || !memchr(sym.name, 0, sizeof(sym.name))))
				abort();
		}
	}
}

/* Writes a sound head and sections of the kinds that are looked at, the last with their names: mutations do not find
 * these by luck. */
static void make_sound(uint8_t *p, size_t size, uint8_t sections)
{
	static const uint32_t types[] = {SHT_SYMTAB, SHT_PROGBITS, SHT_STRTAB, 0x70000001};
	Elf64_Ehdr *head = (Elf64_Ehdr *)(void *)p;
	Elf64_Shdr *s = (Elf64_Shdr *)(void *)(p + sizeof(*head));

	memcpy(head->e_ident, ELFMAG "\2\1\1", 7);
	head->e_shentsize = sizeof(*s);
	head->e_shoff = sizeof(*head);
	head->e_shnum = 1 + sections % 8;
	head->e_shstrndx = head->e_shnum - 1u;
	for (unsigned i = 0; i < head->e_shnum && (size_t)((uint8_t *)(s + i + 1) - p) <= size;
	     i++) {
		s[i].sh_type = types[s[i].sh_type % 4];
		s[i].sh_flags %= 8;
		s[i].sh_link %= head->e_shnum;
		s[i].sh_offset %= size;
		s[i].sh_size %= size;
		if (s[i].sh_addr % 2) /* in the object itself */
			s[i].sh_addr = AT + s[i].sh_addr % size;
		else if (!(s[i].sh_flags & SHF_EXECINSTR))
			s[i].sh_addr = 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *object;

	if (!size--)
		return 0;
	object = malloc(size + !size); /* aligned, and of this size */
	if (!object)
		return 0;
	if (size)
		memcpy(object, data + 1, size);
	if (data[0] && size >= sizeof(Elf64_Ehdr))
		make_sound(object, size, data[0]);
	look(object, size);
	free(object);
	return 0;
}
