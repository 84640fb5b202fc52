/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <string.h>

/* The head of an ELF file with one section of code behind it, and no unwind tables. */
struct code_elf {
	Elf64_Ehdr head;
	Elf64_Shdr sections[3];
	char names[16];
};

#define CODE_ELF_ADDRESS 0x1000

static inline void code_elf_init(struct code_elf *f, uint16_t machine, size_t code_size)
{
	*f = (struct code_elf){.names = "\0.text\0.names"};
	memcpy(f->head.e_ident, ELFMAG, SELFMAG);
	f->head.e_ident[EI_CLASS] = ELFCLASS64;
	f->head.e_ident[EI_DATA] = ELFDATA2LSB;
	f->head.e_ident[EI_VERSION] = EV_CURRENT;
	f->head.e_type = ET_DYN;
	f->head.e_machine = machine;
	f->head.e_version = EV_CURRENT;
	f->head.e_ehsize = sizeof(f->head);
	f->head.e_shoff = sizeof(f->head);
	f->head.e_shentsize = sizeof(f->sections[0]);
	f->head.e_shnum = 3;
	f->head.e_shstrndx = 2;
	f->sections[1] = (Elf64_Shdr){.sh_name = 1,
				      .sh_type = SHT_PROGBITS,
				      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				      .sh_addr = CODE_ELF_ADDRESS,
				      .sh_offset = sizeof(*f),
				      .sh_size = code_size};
	f->sections[2] = (Elf64_Shdr){.sh_name = 7,
				      .sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(struct code_elf, names),
				      .sh_size = sizeof(f->names)};
}
