/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A shared library made by hand, of one function:
 *
 *     void entry(void (*f)(void))  { f(); }      with a frame of `frame` bytes
 *
 * so that tests can load modules that no linker would make, and two that differ in nothing but
 * their frame. Three pages: headers, symbols and unwind tables; code; dynamic section.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TINY_PAGE 4096
#define TINY_CODE TINY_PAGE

/* The code's length, where f returns to, and DWARF's numbers. */
#if defined(__aarch64__)
#define TINY_MACHINE  EM_AARCH64
#define TINY_CODE_LEN 24
#define TINY_RETURN   12
enum { TINY_BP = 29, TINY_SP = 31, TINY_RA = 30 };
#else
#define TINY_MACHINE  EM_X86_64
#define TINY_CODE_LEN 17
#define TINY_RETURN   9
enum { TINY_BP = 6, TINY_SP = 7, TINY_RA = 16 };
#endif

struct tiny_elf {
	uint32_t frame;         /* plus 8 a multiple of 16 */
	bool no_tables;         /* no PT_GNU_EH_FRAME */
	bool no_index;          /* .eh_frame_hdr without a sorted table */
	bool bad_pointer;       /* the table's FDE lies far outside */
	bool headers_moved;     /* the program headers are not on the first page */
	bool signal_frame;      /* "S" in the augmentation */
	bool trampoline;        /* aarch64: the code is the kernel's for returning from a signal */
	const uint8_t *program; /* the FDE's, instead of one that fits the code; at most 47 bytes */
	size_t program_len;
};

/* With the return address at CFA - 8. */
static inline void tiny_elf_code(uint8_t *p, const struct tiny_elf *opts)
{
#if defined(__aarch64__)
	const uint32_t size = opts->frame + 8, word = (size - 8) / 8;
	/* sub sp, sp, size; str x30, [sp, size - 8]; blr x0; ldr x30, ...; add sp, sp, size; ret */
	const uint32_t calls[] = {0xd10003ff | size << 10, 0xf90003fe | word << 10, 0xd63f0000,
				  0xf94003fe | word << 10, 0x910003ff | size << 10, 0xd65f03c0};
	const uint32_t trampoline[] = {0xd2801168, 0xd4000001};

	memcpy(p, calls, sizeof(calls));
	if (opts->trampoline)
		memcpy(p, trampoline, sizeof(trampoline));
#else
	/* sub $frame, %rsp; call *%rdi; add $frame, %rsp; ret */
	memcpy(p, "\x48\x81\xec", 3);
	memcpy(p + 3, &opts->frame, 4);
	memcpy(p + 7, "\xff\xd7\x48\x81\xc4", 5);
	memcpy(p + 12, &opts->frame, 4);
	p[16] = 0xc3;
#endif
}

/* Fills image[5 * TINY_PAGE]. */
static inline void tiny_elf_make(uint8_t *image, const struct tiny_elf *opts)
{
	enum { PHDRS = 64, SYMS = 0x400, STRS = 0x480, HASH = 0x4c0, HDR = 0x600, FRAMES = 0x640 };
	uint32_t phoff = opts->headers_moved ? 4 * TINY_PAGE : PHDRS, hash[] = {1, 2, 1, 0, 0};
	uint8_t *p;

	memset(image, 0, 5 * TINY_PAGE);
	*(Elf64_Ehdr *)(void *)image = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = TINY_MACHINE,
		.e_version = EV_CURRENT,
		.e_phoff = phoff,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = opts->no_tables ? 6 : 7,
	};
	Elf64_Phdr ph[7] = {
		{PT_LOAD, PF_R, 0, 0, 0, TINY_PAGE, TINY_PAGE, TINY_PAGE},
		{PT_LOAD, PF_R | PF_X, TINY_CODE, TINY_CODE, 0, TINY_PAGE, TINY_PAGE, TINY_PAGE},
		{PT_LOAD, PF_R | PF_W, 2 * TINY_PAGE, 2 * TINY_PAGE, 0, TINY_PAGE, TINY_PAGE,
		 TINY_PAGE},
		{PT_LOAD, PF_R, 4 * TINY_PAGE, 4 * TINY_PAGE, 0, TINY_PAGE, TINY_PAGE, TINY_PAGE},
		{PT_DYNAMIC, PF_R | PF_W, 2 * TINY_PAGE, 2 * TINY_PAGE, 0, 0x100, 0x100, 8},
		{PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 16},
		{PT_GNU_EH_FRAME, PF_R, HDR, HDR, 0, opts->no_index ? 8 : 20,
		 opts->no_index ? 8 : 20, 4},
	};
	for (int i = 0; i < 7; i++)
		ph[i].p_paddr = ph[i].p_vaddr;
	memcpy(image + phoff, ph, sizeof(ph));

	((Elf64_Sym *)(void *)(image + SYMS))[1] = (Elf64_Sym){
		.st_name = 1,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = 1,
		.st_value = TINY_CODE,
		.st_size = TINY_CODE_LEN,
	};
	memcpy(image + STRS, "\0entry", 7);
	memcpy(image + HASH, hash, sizeof(hash));
	Elf64_Dyn dyn[] = {
		{DT_HASH, {HASH}},   {DT_SYMTAB, {SYMS}}, {DT_SYMENT, {sizeof(Elf64_Sym)}},
		{DT_STRTAB, {STRS}}, {DT_STRSZ, {7}},     {DT_NULL, {0}},
	};
	memcpy(image + 2 * TINY_PAGE, dyn, sizeof(dyn));

	tiny_elf_code(image + TINY_CODE, opts);

	/* CIE: version 1, "zR", factors 1 and -8, ra, pcrel sdata4; sp + 8, ra at CFA - 8 */
	static const uint8_t cie[24] = {20,      0, 0,    0,    0,       0, 0,
					0,       1, 'z',  'R',  0,       1, 0x78,
					TINY_RA, 1, 0x1b, 0x0c, TINY_SP, 8, 0x80 | TINY_RA,
					1};
	static const uint8_t cie_signal[24] = {
		20,  0, 0, 0,    0,       0, 0,    0,    1,       'z', 'R',
		'S', 0, 1, 0x78, TINY_RA, 1, 0x1b, 0x0c, TINY_SP, 8,   0x80 | TINY_RA,
		1};
	uint32_t size = opts->frame + 8;
	/* when the frame is there: sp + size; after the add: sp + 8 */
	const uint8_t fitting[] = {0x40 | (TINY_RETURN == 9 ? 7 : 8),
				   0x0e,
				   (uint8_t)(0x80 | (size & 0x7f)),
				   (uint8_t)(0x80 | ((size >> 7) & 0x7f)),
				   (uint8_t)(size >> 14),
				   0x40 | (TINY_RETURN == 9 ? 9 : 12),
				   0x0e,
				   8};
	uint8_t fde[64] = {60, 0, 0, 0, 28};
	int32_t start = TINY_CODE - (FRAMES + 24 + 8), len = TINY_CODE_LEN, value;

	memcpy(fde + 8, &start, 4);
	memcpy(fde + 12, &len, 4);
	if (opts->program)
		memcpy(fde + 17, opts->program, opts->program_len);
	else
		memcpy(fde + 17, fitting, sizeof(fitting));
	memcpy(image + FRAMES, opts->signal_frame ? cie_signal : cie, sizeof(cie));
	memcpy(image + FRAMES + 24, fde, sizeof(fde));

	p = image + HDR;
	memcpy(p, opts->no_index ? "\x01\x1b\xff\xff" : "\x01\x1b\x03\x3b", 4);
	value = FRAMES - (HDR + 4);
	memcpy(p + 4, &value, 4);
	value = 1;
	memcpy(p + 8, &value, 4);
	value = TINY_CODE - HDR;
	memcpy(p + 12, &value, 4);
	value = opts->bad_pointer ? -0x40000000 : FRAMES + 24 - HDR;
	memcpy(p + 16, &value, 4);
}

/* The library's handle, or NULL. */
static inline void *tiny_elf_open(const struct tiny_elf *opts)
{
	static uint8_t image[5 * TINY_PAGE];
	char path[64];
	void *handle = NULL;
	int fd = memfd_create("tiny", MFD_CLOEXEC);

	tiny_elf_make(image, opts);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0 && write(fd, image, sizeof(image)) == (ssize_t)sizeof(image))
		handle = dlopen(path, RTLD_NOW);
	if (fd >= 0)
		close(fd);
	return handle;
}

/* Does what is mapped come to lie where something was unmapped? Emulators may go on instead: a test of that
 * shows nothing there. */
static inline bool tiny_addresses_come_back(void)
{
	void *p[2];

	for (int i = 0; i < 2; i++) {
		p[i] = mmap(NULL, 5 * TINY_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(p[i], 5 * TINY_PAGE);
	}
	return p[0] == p[1];
}

typedef void tiny_entry(void (*f)(void));

static inline tiny_entry *tiny_elf_entry(void *handle)
{
	void *symbol = dlsym(handle, "entry");
	tiny_entry *entry;

	memcpy(&entry, &symbol, sizeof(entry));
	return entry;
}

/* Calls it with a frame pointer of one's choice, where that leads the unwinder. Who unwinds any further than to
 * here by tables goes wrong. */
__attribute__((noinline, unused)) static void tiny_call(tiny_entry *entry, void (*f)(void),
							uint64_t bp)
{
#if defined(__x86_64__)
	__asm__ volatile("mov %%rsp, %%rbx\n\tlea -128(%%rsp), %%rsp\n\tand $-16, %%rsp\n\t"
			 "push %%rbp\n\tpush %%rbx\n\tmov %%rcx, %%rbp\n\tcall *%%rax\n\t"
			 "pop %%rbx\n\tpop %%rbp\n\tmov %%rbx, %%rsp"
			 : "+D"(f), "+a"(entry), "+c"(bp)
			 :
			 : "rbx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
#else
	(void)bp;
	entry(f);
	__asm__ volatile("");
#endif
}
