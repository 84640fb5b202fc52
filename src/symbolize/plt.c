/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/plt.h"

#include <errno.h>
#include <string.h>

/*
 * No symbol names a PLT stub. What it jumps to follows from its instructions: either it jumps
 * through a slot of the global offset table, which a relocation fills with a symbol, or (lazy
 * binding with indirect branch tracking) it pushes the number of its relocation.
 */

#define MAX_RELOCATIONS (UINT64_C(4) << 20) /* libtorch_cuda has 0.7 million */

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

static int32_t s32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return (int32_t)le32toh(v);
}

/* The name of the symbol of the index-th relocation, or of the first one that fills `slot`. */
static ssize_t relocation_name(const struct aif_elf *elf, const struct aif_elf_section *rela,
			       uint64_t index, uint64_t slot, char *to, size_t max)
{
	const struct aif_elf_section *symbols;
	Elf64_Rela block[256];
	uint64_t n = AIF_MIN(rela->size / sizeof(*block), MAX_RELOCATIONS);
	Elf64_Sym sym;

	if (rela->type != SHT_RELA || rela->link >= elf->sections_len)
		return -ENOENT;
	symbols = &elf->sections[rela->link];
	if (symbols->type != SHT_DYNSYM || symbols->link >= elf->sections_len)
		return -ENOENT;
	for (uint64_t at = slot ? 0 : index; at < n; at += AIF_ARRAY_LEN(block)) {
		size_t now = slot ? AIF_MIN(n - at, AIF_ARRAY_LEN(block)) : 1, i = 0;

		if (aif_elf_read(elf, rela->offset + at * sizeof(*block), block,
				 now * sizeof(*block)) < 0)
			break;
		while (slot && i < now && aif_elf64(elf, block[i].r_offset) != slot)
			i++;
		if (i < now) {
			uint64_t symbol = ELF64_R_SYM(aif_elf64(elf, block[i].r_info));

			if (!symbol || symbol >= symbols->size / sizeof(sym) ||
			    aif_elf_read(elf, symbols->offset + symbol * sizeof(sym), &sym,
					 sizeof(sym)) < 0)
				return -ENOENT;
			return aif_elf_string(elf, &elf->sections[symbols->link],
					      aif_elf32(elf, sym.st_name), to, max);
		}
		if (!slot)
			break;
	}
	return -ENOENT;
}

ssize_t aif_plt_name(const struct aif_elf *elf, uint64_t address, char *to, size_t max,
		     uint64_t *ret_start, uint64_t *ret_end)
{
	static const char *const plts[] = {".plt", ".plt.sec", ".plt.got"};
	static const char *const relocations[] = {".rela.plt", ".rela.dyn"};
	const struct aif_elf_section *s = NULL;
	uint64_t start, size, slot = 0, index = 0;
	uint8_t code[16] = {0}, *p = code;

	for (size_t i = 0; i < AIF_ARRAY_LEN(plts) && !s; i++) {
		s = aif_elf_section(elf, plts[i]);
		if (s && (address < s->addr || address - s->addr >= s->size))
			s = NULL;
	}
	if (!s || elf->machine != EM_X86_64)
		return -ENOENT;
	size = s->entsize == 8 ? 8 : 16;
	start = address - (address - s->addr) % size;
	if (aif_elf_read_at(elf, start, code, size) < 0)
		return -ENOENT;
	if (!memcmp(p, endbr64, sizeof(endbr64)))
		p += sizeof(endbr64);
	if (p[0] == 0x68) /* push $index */
		index = (uint32_t)s32(p + 1);
	else {
		p += p[0] == 0xf2;                /* bnd */
		if (p[0] != 0xff || p[1] != 0x25) /* jmp *slot(%rip) */
			return -ENOENT;
		slot = start + (uint64_t)(p + 6 - code) + (uint64_t)(int64_t)s32(p + 2);
	}
	for (size_t i = 0; i < (slot ? AIF_ARRAY_LEN(relocations) : 1); i++) {
		const struct aif_elf_section *rela = aif_elf_section(elf, relocations[i]);
		ssize_t n = rela ? relocation_name(elf, rela, index, slot, to, max) : -ENOENT;

		if (n > 0) {
			*ret_start = start;
			*ret_end = start + size;
			return n;
		}
	}
	return -ENOENT;
}
