/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Headers of a device's ELF image, which is little-endian whatever machine runs the test. Each function turns one from
 * this machine's byte order into the image's, or back. */

#include <elf.h>
#include <endian.h>

static inline void elf_le_header(Elf64_Ehdr *h)
{
	h->e_type = htole16(h->e_type);
	h->e_machine = htole16(h->e_machine);
	h->e_version = htole32(h->e_version);
	h->e_entry = htole64(h->e_entry);
	h->e_phoff = htole64(h->e_phoff);
	h->e_shoff = htole64(h->e_shoff);
	h->e_flags = htole32(h->e_flags);
	h->e_ehsize = htole16(h->e_ehsize);
	h->e_phentsize = htole16(h->e_phentsize);
	h->e_phnum = htole16(h->e_phnum);
	h->e_shentsize = htole16(h->e_shentsize);
	h->e_shnum = htole16(h->e_shnum);
	h->e_shstrndx = htole16(h->e_shstrndx);
}

static inline void elf_le_section(Elf64_Shdr *s)
{
	s->sh_name = htole32(s->sh_name);
	s->sh_type = htole32(s->sh_type);
	s->sh_flags = htole64(s->sh_flags);
	s->sh_addr = htole64(s->sh_addr);
	s->sh_offset = htole64(s->sh_offset);
	s->sh_size = htole64(s->sh_size);
	s->sh_link = htole32(s->sh_link);
	s->sh_info = htole32(s->sh_info);
	s->sh_addralign = htole64(s->sh_addralign);
	s->sh_entsize = htole64(s->sh_entsize);
}

static inline void elf_le_symbol(Elf64_Sym *s)
{
	s->st_name = htole32(s->st_name);
	s->st_shndx = htole16(s->st_shndx);
	s->st_value = htole64(s->st_value);
	s->st_size = htole64(s->st_size);
}
