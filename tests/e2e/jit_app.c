/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches through code that it makes itself, in each way in which JIT compilers do, on the agent's fake
 * runtime (jit.sh):
 *
 *     jit_app framed      code with a frame pointer
 *     jit_app nested      two such, one calling the other
 *     jit_app trampoline  code that only calls and returns, without frame pointer
 *     jit_app bare        code without frame pointer
 *     jit_app registered  the same, told to debuggers: an ELF object with tables and a symbol
 *     jit_app replaced    told, taken back, other code told at the same place, 15 times
 *     jit_app storm       the same as fast as it goes, 500 times
 *     jit_app gone        told, and then the object's memory is taken away
 *     jit_app hostile     a list that is a ring of objects of nonsense
 *
 * With AIFLAME_TEST_MAP it names its code in /tmp/perf-PID.map.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* GDB's protocol. */
struct jit_code_entry {
	struct jit_code_entry *next, *prev;
	const char *symfile_addr;
	uint64_t symfile_size;
};
struct jit_descriptor {
	uint32_t version, action_flag;
	struct jit_code_entry *relevant_entry, *first_entry;
};
extern struct jit_descriptor __jit_debug_descriptor;
extern void __jit_debug_register_code(void);
__attribute__((visibility("default"))) struct jit_descriptor __jit_debug_descriptor = {.version =
											       1};
__attribute__((visibility("default"), noinline)) void __jit_debug_register_code(void)
{
	__asm__ volatile("" : : : "memory");
}

typedef int code_fn(int (*next)(void *), void *arg);

static void (*fake_launch)(uint32_t stream, uint32_t kernel);
static uint8_t *code; /* one page, all that is made */
static struct jit_code_entry entry;

static void nap(long ms)
{
	const struct timespec t = {.tv_nsec = ms * 1000000};

	nanosleep(&t, NULL);
}

__attribute__((noinline)) static int launcher(void *arg)
{
	fake_launch(1, 2);
	__asm__ volatile("" : : "r"(arg) : "memory");
	return 1;
}

__attribute__((noinline)) static int call_code(code_fn *f, int (*next)(void *), void *arg)
{
	int r = f(next, arg);

	__asm__ volatile("" : : : "memory");
	return r + 1;
}

/* A frame without frame pointer between the generated ones and main. */
__attribute__((noinline)) static int outer(code_fn *f, int (*next)(void *), void *arg)
{
	volatile char local[24] = {0};
	int r = call_code(f, next, arg);

	local[0] = 1;
	return r + local[0];
}

/* ---- code ---- */

static size_t put(uint8_t *to, const void *bytes, size_t len)
{
	memcpy(to, bytes, len);
	return len;
}

#define PUT(to, ...) put(to, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* rdi: whom to call, rsi: its argument. */
static size_t make_framed(uint8_t *to)
{
	return PUT(to, 0x55, 0x48, 0x89, 0xe5,         /* push rbp; mov rbp, rsp */
		   0x48, 0x83, 0xec, 0x20,             /* sub rsp, 32 */
		   0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, /* mov rax, rdi; mov rdi, rsi */
		   0xff, 0xd0, 0x83, 0xc0, 0x01,       /* call rax; add eax, 1 */
		   0xc9, 0xc3);                        /* leave; ret */
}

static size_t make_bare(uint8_t *to, uint8_t frame)
{
	return PUT(to, 0x48, 0x83, 0xec, frame, /* sub rsp, frame */
		   0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x83, 0xc0, 0x01, 0x48, 0x83,
		   0xc4, frame, 0xc3); /* add rsp, frame; ret */
}

static size_t make_trampoline(uint8_t *to)
{
	return PUT(to, 0x48, 0x83, 0xec, 0x08, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x48,
		   0x83, 0xc4, 0x08, 0xc3);
}

/* ---- an object, as LLVM shows one: relocatable, its sections' addresses those of the loaded code ---- */

enum { NONE, TEXT, TABLES, SYMBOLS, STRINGS, SECTIONS };

struct object {
	Elf64_Ehdr head;
	Elf64_Shdr sections[SECTIONS];
	Elf64_Sym symbols[2];
	char strings[96];
};

/* Address of the loaded .eh_frame: near the code, as its relative pointers require. */
#define tables (code + 2048)

static size_t put32(uint8_t *to, int64_t v)
{
	int32_t x = (int32_t)v;

	return put(to, &x, 4);
}

static size_t make_tables(size_t len, uint8_t frame)
{
	uint8_t *p = tables;

	p += put32(p, 20);
	p += put32(p, 0);
	p += PUT(p, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0);
	p += put32(p, 20);
	p += put32(p, 28);
	p += put32(p, code - p);
	p += put32(p, (int64_t)len);
	/* from the fourth byte on the CFA is higher by the frame; until before the ret */
	p += PUT(p, 0, 0x44, 0x0e, (uint8_t)(frame + 8));
	p += PUT(p, 0x40 | (uint8_t)(len - 5), 0x0e, 8, 0);
	p += put32(p, 0);
	return (size_t)(p - tables);
}

static void make_object(struct object *o, const char *name, size_t len, uint8_t frame)
{
	static const char strings[] = "\0.text\0.eh_frame\0.symtab\0.strtab\0";

	memset(o, 0, sizeof(*o));
	memcpy(o->head.e_ident, ELFMAG "\2\1\1", 7);
	o->head.e_type = ET_REL;
	o->head.e_machine = EM_X86_64;
	o->head.e_version = 1;
	o->head.e_shoff = offsetof(struct object, sections);
	o->head.e_ehsize = sizeof(o->head);
	o->head.e_shentsize = sizeof(Elf64_Shdr);
	o->head.e_shnum = SECTIONS;
	o->head.e_shstrndx = STRINGS;
	memcpy(o->strings, strings, sizeof(strings));
	strcpy(o->strings + sizeof(strings), name);
	o->sections[TEXT] = (Elf64_Shdr){.sh_name = 1,
					 .sh_type = SHT_NOBITS,
					 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					 .sh_addr = (uintptr_t)code,
					 .sh_size = len};
	o->sections[TABLES] = (Elf64_Shdr){.sh_name = 7,
					   .sh_type = SHT_PROGBITS,
					   .sh_flags = SHF_ALLOC,
					   .sh_addr = (uintptr_t)tables,
					   .sh_size = make_tables(len, frame)};
	o->sections[SYMBOLS] = (Elf64_Shdr){.sh_name = 17,
					    .sh_type = SHT_SYMTAB,
					    .sh_offset = offsetof(struct object, symbols),
					    .sh_size = sizeof(o->symbols),
					    .sh_link = STRINGS,
					    .sh_entsize = sizeof(Elf64_Sym)};
	o->sections[STRINGS] = (Elf64_Shdr){.sh_name = 25,
					    .sh_type = SHT_STRTAB,
					    .sh_offset = offsetof(struct object, strings),
					    .sh_size = sizeof(o->strings)};
	o->symbols[1] = (Elf64_Sym){.st_name = sizeof(strings),
				    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				    .st_shndx = TEXT,
				    .st_size = len};
}

static void tell(struct jit_code_entry *e, const void *object, size_t size)
{
	e->symfile_addr = object;
	e->symfile_size = size;
	e->prev = NULL;
	e->next = __jit_debug_descriptor.first_entry;
	if (e->next)
		e->next->prev = e;
	__jit_debug_descriptor.first_entry = e;
	__jit_debug_descriptor.relevant_entry = e;
	__jit_debug_descriptor.action_flag = 1;
	__jit_debug_register_code();
}

static void take_back(struct jit_code_entry *e)
{
	if (e->prev)
		e->prev->next = e->next;
	else
		__jit_debug_descriptor.first_entry = e->next;
	if (e->next)
		e->next->prev = e->prev;
	__jit_debug_descriptor.relevant_entry = e;
	__jit_debug_descriptor.action_flag = 2;
	__jit_debug_register_code();
}

/* ---- what is tried ---- */

static code_fn *as_code(uint8_t *p)
{
	code_fn *f;

	memcpy(&f, &p, sizeof(f));
	return f;
}

static void several(void)
{
	for (int i = 0; i < 40; i++) {
		outer(as_code(code), launcher, NULL);
		nap(5);
	}
}

static void run_nested(void)
{
	/* The outer one calls the inner one, not this program. */
	static const uint8_t set[] = {0x48, 0xb8}, use[] = {0x48, 0x89, 0xff, 0xff, 0xd0};
	uint8_t *p = code;
	uint64_t inner = (uintptr_t)(code + 256);

	make_framed(code + 256);
	p += PUT(p, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20);
	p += put(p, set, sizeof(set)); /* mov rax, inner */
	p += put(p, &inner, 8);
	p += put(p, use, sizeof(use)); /* its arguments are ours; call rax */
	PUT(p, 0x83, 0xc0, 0x01, 0xc9, 0xc3);
	several();
}

static void run_registered(struct object *o)
{
	size_t len = make_bare(code, 0x48);

	make_object(o, "compiled_function", len, 0x48);
	tell(&entry, o, sizeof(*o));
}

/* Each function begins where the last one did and has another frame. */
static void run_version(struct object *o, struct jit_code_entry *e, int version, long pause)
{
	uint8_t frame = (uint8_t)(0x18 + 16 * version);
	char name[32];

	snprintf(name, sizeof(name), "version_%d", version);
	make_object(o, name, make_bare(code, frame), frame);
	tell(e, o, sizeof(*o));
	nap(pause);
	for (int k = 0; k < 3; k++)
		outer(as_code(code), launcher, NULL);
	take_back(e);
}

static void run_replaced(struct object *o)
{
	static struct jit_code_entry entries[2];

	for (int i = 0; i < 15; i++)
		run_version(o, &entries[i % 2], i % 5, 120); /* so that it may be looked at again */
}

/* The entry, too, is the same, and nobody has time to look. */
static void run_storm(struct object *o)
{
	for (int i = 0; i < 500; i++)
		run_version(o, &entry, i % 5, 0);
}

static void run_hostile(struct object *o)
{
	static struct jit_code_entry ring[4];
	static uint8_t nonsense[4096];
	size_t len = make_bare(code, 0x48);

	for (size_t i = 0; i < sizeof(nonsense); i++)
		nonsense[i] = (uint8_t)(i * 37);
	make_object(o, "fine", len, 0x48);
	tell(&ring[0], (void *)16, 1 << 20);
	tell(&ring[1], nonsense, sizeof(nonsense));
	memcpy(nonsense, o, sizeof(o->head));
	((Elf64_Ehdr *)(void *)nonsense)->e_shoff = 64;
	tell(&ring[2], o, UINT64_MAX - 8);
	tell(&ring[3], o, sizeof(*o));
	ring[0].next = &ring[3];
}

static void write_map(void)
{
	char path[64];
	FILE *f;

	if (!getenv("AIFLAME_TEST_MAP"))
		return;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	if (!f)
		exit(3);
	/* The code that lay there before comes first. */
	fprintf(f, "%lx 1000 older code\n", (unsigned long)(uintptr_t)code);
	fprintf(f, "%lx 100 mapped name (with blanks)\n", (unsigned long)(uintptr_t)code);
	fprintf(f, "%lx 100 inner::name\nnonsense\n\nffffffffffffffff ffffffffffffffff x\n",
		(unsigned long)(uintptr_t)(code + 256));
	fclose(f);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int (*run)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "aif_fake_run");
	struct object *object =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	fake_launch = (void (*)(uint32_t, uint32_t))dlsym(RTLD_DEFAULT, "aif_fake_launch");
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (!run || !fake_launch || run("generate kernels=20 streams=3") || code == MAP_FAILED ||
	    object == MAP_FAILED)
		return 2;
	write_map();
	if (!strcmp(what, "framed")) {
		make_framed(code);
		several();
	} else if (!strcmp(what, "nested")) {
		run_nested();
	} else if (!strcmp(what, "trampoline")) {
		make_trampoline(code);
		several();
	} else if (!strcmp(what, "bare")) {
		make_bare(code, 0x48);
		several();
	} else if (!strcmp(what, "registered")) {
		run_registered(object);
		several();
	} else if (!strcmp(what, "replaced")) {
		run_replaced(object);
	} else if (!strcmp(what, "storm")) {
		run_storm(object);
	} else if (!strcmp(what, "gone")) {
		run_registered(object);
		several();
		munmap(object, 4096);
		several();
		entry.next = (struct jit_code_entry *)(uintptr_t)8;
		__jit_debug_descriptor.action_flag = 2;
		several();
	} else if (!strcmp(what, "hostile")) {
		run_hostile(object);
		several();
	} else {
		return 2;
	}
	return 0;
}
