/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unwind/cfi.h"
#include "unwind/guess.h"
#include "unwind/jit.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Data that this program shows to debuggers: jit.c finds it among the program's dynamic symbols. */
struct entry {
	struct entry *next, *prev;
	const void *object;
	uint64_t size;
};
extern struct descriptor {
	uint32_t version, action;
	struct entry *relevant, *first;
} __jit_debug_descriptor;
AIF_PUBLIC struct descriptor __jit_debug_descriptor = {.version = 1};

enum { NONE, TEXT, TABLES, SYMBOLS, STRINGS, SECTIONS };
enum { CODE_LEN = 64, PAGE = 4096 };

/* A page that is taken for code, with tables behind it, and an object that tells of both. */
struct object {
	Elf64_Ehdr head;
	Elf64_Shdr sections[SECTIONS];
	Elf64_Sym symbols[3];
	char strings[64];
};

struct made {
	uint8_t *page;
	struct object *object;
	struct entry entry;
	uint64_t code;
};

static uint8_t *put32(uint8_t *p, int64_t v)
{
	int32_t x = (int32_t)v;

	memcpy(p, &x, 4);
	return p + 4;
}

/* The code has a frame of `frame` bytes all along. */
static void make(struct made *m, uint8_t frame)
{
	static const uint8_t cie[] = {1,
				      'z',
				      'R',
				      0,
				      1,
				      0x78,
				      AIF_CFI_REG_RA,
				      1,
				      0x1b,
				      0x0c,
				      AIF_CFI_REG_SP,
				      8,
				      0x80 | AIF_CFI_REG_RA,
				      1,
				      0,
				      0};
	struct object *o;
	uint8_t *p;

	m->page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(m->page, MAP_FAILED);
	m->code = (uint64_t)(uintptr_t)m->page;
	m->object = o = (struct object *)(void *)(m->page + PAGE);
	p = m->page + 2048;
	p = put32(p, 20);
	p = put32(p, 0);
	memcpy(p, cie, sizeof(cie));
	p += sizeof(cie);
	p = put32(p, 16);
	p = put32(p, 28);
	p = put32(p, m->page - p);
	p = put32(p, CODE_LEN);
	memcpy(p, (const uint8_t[]){0, 0x0e, (uint8_t)(frame + 8), 0}, 4);

	memcpy(o->head.e_ident, ELFMAG "\2\1\1", 7);
	o->head.e_type = ET_REL;
	o->head.e_shoff = offsetof(struct object, sections);
	o->head.e_shentsize = sizeof(Elf64_Shdr);
	o->head.e_shnum = SECTIONS;
	o->head.e_shstrndx = STRINGS;
	memcpy(o->strings, "\0.eh_frame\0function\0label", 25);
	o->sections[TEXT] = (Elf64_Shdr){.sh_type = SHT_NOBITS,
					 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					 .sh_addr = m->code,
					 .sh_size = CODE_LEN};
	o->sections[TABLES] = (Elf64_Shdr){.sh_name = 1,
					   .sh_type = SHT_PROGBITS,
					   .sh_flags = SHF_ALLOC,
					   .sh_addr = m->code + 2048,
					   .sh_size = 44};
	o->sections[SYMBOLS] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
					    .sh_offset = offsetof(struct object, symbols),
					    .sh_size = sizeof(o->symbols),
					    .sh_link = STRINGS};
	o->sections[STRINGS] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
					    .sh_offset = offsetof(struct object, strings),
					    .sh_size = sizeof(o->strings)};
	o->symbols[1] = (Elf64_Sym){.st_name = 11,
				    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				    .st_shndx = TEXT,
				    .st_value = 16,
				    .st_size = 32};
	o->symbols[2] = (Elf64_Sym){.st_name = 20,
				    .st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE),
				    .st_shndx = TEXT,
				    .st_value = 8};
}

static void unmake(struct made *m)
{
	munmap(m->page, 2 * PAGE);
}

static void tell(struct made *m)
{
	m->entry = (struct entry){.next = __jit_debug_descriptor.first,
				  .object = m->object,
				  .size = sizeof(*m->object)};
	if (m->entry.next)
		m->entry.next->prev = &m->entry;
	__jit_debug_descriptor.first = __jit_debug_descriptor.relevant = &m->entry;
	__jit_debug_descriptor.action = 1;
}

static void take_back(struct made *m)
{
	if (m->entry.prev)
		m->entry.prev->next = m->entry.next;
	else
		__jit_debug_descriptor.first = m->entry.next;
	if (m->entry.next)
		m->entry.next->prev = m->entry.prev;
	__jit_debug_descriptor.relevant = &m->entry;
	__jit_debug_descriptor.action = 2;
}

static struct aif_modules modules;
static struct aif_jit jit;

static int setup(void **state)
{
	*state = NULL;
	memset(&jit, 0, sizeof(jit));
	__jit_debug_descriptor = (struct descriptor){.version = 1};
	return aif_modules_init(&modules, true);
}

/* Emulators may not have the system call. */
static void skip_without_reads(void)
{
	int here = 1, there = 0;

	if (!aif_jit_read((uint64_t)(uintptr_t)&here, &there, sizeof(there)))
		skip();
	assert_int_equal(there, here);
}

static void look(bool thorough)
{
	aif_jit_look(&jit, &modules, thorough);
}

/* The CFA's distance from the stack pointer; 0: no row. */
static int32_t frame_at(uint64_t pc)
{
	uint64_t row = aif_jit_row(&jit, pc, true);

	/* The row is the same however it is read. */
	assert_int_equal(aif_jit_row(&jit, pc, false), row);

	if (aif_row_kind(row) == AIF_ROW_NONE)
		return 0;
	assert_int_equal(aif_row_kind(row), AIF_ROW_RSP);
	return aif_row_off(row);
}

static void registered_code_is_found_once_wanted(void **state)
{
	struct aif_jit_symbol sym;
	struct made m;

	(void)state;
	skip_without_reads();
	make(&m, 40);
	look(false); /* nobody wanted it */
	assert_false(jit.found_descriptors);
	assert_int_equal(frame_at(m.code + 20), 0);
	tell(&m);
	assert_int_equal(jit.wanted, 1);
	for (int thorough = 0; thorough < 2; thorough++) {
		look(thorough);
		assert_int_equal(frame_at(m.code), 48);
		assert_int_equal(frame_at(m.code + CODE_LEN - 1), 48);
		assert_int_equal(frame_at(m.code - 1), 0);
		assert_int_equal(frame_at(m.code + CODE_LEN), 0);
		assert_true(aif_jit_is_code(&jit, m.code + 20));
		atomic_store(&jit.wanted, 1);
	}
	assert_true(aif_jit_symbol(&jit, m.code + 20, &sym));
	assert_string_equal(sym.name, "function");
	assert_int_equal(sym.lo, m.code + 16);
	assert_int_equal(sym.hi, m.code + 48);
	/* A label without size reaches to the section's end, unless something narrower is there. */
	assert_true(aif_jit_symbol(&jit, m.code + 50, &sym));
	assert_string_equal(sym.name, "label");
	assert_false(aif_jit_symbol(&jit, m.code + 5, &sym));
	unmake(&m);
}

static void test_changes_are_noticed(void **state)
{
	struct made m[2];

	(void)state;
	skip_without_reads();
	for (int i = 0; i < 2; i++)
		make(&m[i], (uint8_t)(40 + 16 * i));
	tell(&m[0]);
	atomic_store(&jit.wanted, 1);
	look(true);
	assert_int_equal(frame_at(m[0].code), 48);
	assert_int_equal(jit.wanted, 0);
	tell(&m[1]); /* from here on nothing is believed until it is looked again */
	assert_int_equal(frame_at(m[0].code), 0);
	assert_int_equal(jit.wanted, 1);
	assert_int_equal(frame_at(m[1].code), 0);
	look(false);
	assert_int_equal(frame_at(m[0].code), 48);
	assert_int_equal(frame_at(m[1].code), 64);
	take_back(&m[0]);
	assert_int_equal(frame_at(m[0].code), 0);
	look(false);
	assert_int_equal(frame_at(m[0].code), 0);
	assert_int_equal(frame_at(m[1].code), 64);
	for (int i = 0; i < 2; i++)
		unmake(&m[i]);
}

/* Tables that are there and then are not, or are others: what they say now counts. */
static void tables_that_change_count_as_they_are_now(void **state)
{
	struct aif_jit_symbol sym;
	struct made m, other;

	(void)state;
	skip_without_reads();
	make(&m, 40);
	make(&other, 40);
	tell(&m);
	atomic_store(&jit.wanted, 1);
	look(true);
	m.page[2048 + 24 + 18] = 88; /* the frame */
	assert_int_equal(frame_at(m.code), 88);
	put32(m.page + 2048 + 24 + 12, 8); /* the function's length */
	assert_int_equal(frame_at(m.code + 7), 88);
	assert_int_equal(frame_at(m.code + 8), 0);
	munmap(m.page + PAGE, PAGE);
	assert_false(aif_jit_symbol(&jit, m.code + 20, &sym));
	assert_int_equal(frame_at(m.code + 7), 88);
	munmap(m.page, PAGE);
	assert_int_equal(frame_at(m.code + 7), 0);
	/* The list goes nowhere, too. */
	__jit_debug_descriptor.first = (struct entry *)(uintptr_t)64;
	atomic_store(&jit.wanted, 1);
	look(true);
	assert_int_equal(jit.hints_len, 0);
	unmake(&other);
}

/* Newer code at the place of older: both are still registered. */
static void test_the_newest_wins(void **state)
{
	struct made older, newer;

	(void)state;
	skip_without_reads();
	make(&older, 40);
	make(&newer, 56);
	tell(&older);
	tell(&newer);
	newer.object->sections[TEXT].sh_addr = older.code;
	put32(newer.page + 2048 + 24 + 8, (int64_t)(older.code - (newer.code + 2048 + 32)));
	atomic_store(&jit.wanted, 1);
	look(true);
	assert_int_equal(frame_at(older.code + 3), 64);
	unmake(&older);
	unmake(&newer);
}

/* A list that never ends: a launch leaves it to the helper, who takes what there is room for. */
static void a_list_without_end_is_left_to_the_helper(void **state)
{
	struct made m;

	(void)state;
	skip_without_reads();
	make(&m, 40);
	tell(&m);
	m.entry.next = &m.entry;
	atomic_store(&jit.wanted, 1);
	look(false);
	assert_int_equal(jit.hints_len, 0);
	look(true);
	assert_int_equal(jit.hints_len, 1);
	assert_int_equal(frame_at(m.code + 3), 48);
	unmake(&m);
}

static void executable_memory_is_known_as_code(void **state)
{
	uint8_t *code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uint64_t)(uintptr_t)code;
	uint8_t bytes[2];

	(void)state;
	skip_without_reads();
	assert_ptr_not_equal(code, MAP_FAILED);
	/* Taken away, not only protected: /proc/self/mem reads what is. */
	munmap(code + PAGE, PAGE);
	atomic_store(&jit.wanted, 1);
	look(true);
	assert_true(aif_jit_is_code(&jit, at));
	assert_true(aif_jit_is_code(&jit, at + PAGE - 1));
	assert_false(aif_jit_is_code(&jit, at + PAGE));
	/* Not of modules: those are known better. */
	assert_false(
		aif_jit_is_code(&jit, (uint64_t)(uintptr_t)executable_memory_is_known_as_code));
	assert_true(aif_jit_read(at + PAGE - 2, bytes, 2));
	assert_false(aif_jit_read(at + PAGE - 1, bytes, 2));
	assert_false(aif_jit_read(UINT64_MAX - 1, bytes, 2));
	assert_false(aif_jit_read(8, bytes, 2));
	munmap(code, PAGE);
}

static void return_addresses_follow_calls(void **state)
{
	/* Calls as assemblers write them, with a byte or more before. */
	static const struct {
		uint8_t bytes[AIF_GUESS_BEFORE];
		bool is_call;
	} cases[] = {
		{{0x90, 0x90, 0xe8, 1, 2, 3, 4}, true},              /* call rel32 */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, true},  /* call *%rax */
		{{0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd3}, true},  /* call *%r11 */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x10}, true},  /* call *(%rax) */
		{{0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x18}, true},  /* call *24(%rax) */
		{{0x90, 0x90, 0x90, 0x90, 0xff, 0x14, 0xc1}, true},  /* call *(%rcx,%rax,8) */
		{{0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x08}, true},  /* call *8(%rsp) */
		{{0x90, 0xff, 0x15, 1, 2, 3, 4}, true},              /* call *x(%rip) */
		{{0x90, 0xff, 0x90, 1, 2, 3, 4}, true},              /* call *x(%rax) */
		{{0xff, 0x94, 0x24, 1, 2, 3, 4}, true},              /* call *x(%rsp) */
		{{0xff, 0x14, 0x25, 1, 2, 3, 4}, true},              /* call *x */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, false}, /* jmp *%rax */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50}, false}, /* not all of it */
		{{0x90, 0x90, 0x90, 0xe8, 1, 2, 3}, false},
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3}, false},
		{{0xff, 0x15, 1, 2, 3, 4, 0x90}, false}, /* a call, and something after it */
	};
	static const struct {
		uint8_t bytes[AIF_GUESS_AFTER];
		uint64_t row;
	} ends[] = {
		{{0x48, 0x83, 0xc4, 0x18, 0xc3}, 32},
		{{0x48, 0x83, 0xc4, 0x18, 0x5b, 0xc3}, 0},
		{{0x48, 0x83, 0xc4, 0xf8, 0xc3}, 0}, /* down */
		{{0x5d, 0xc3}, 16},
		{{0x5d, 0x5b, 0xc3}, 0},
		{{0x90, 0x5d, 0xc3}, 0},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++)
		assert_int_equal(aif_guess_is_after_call(cases[i].bytes), cases[i].is_call);
	for (size_t i = 0; i < AIF_ARRAY_LEN(ends); i++) {
		uint64_t row = aif_guess_row_of_end(ends[i].bytes);

		assert_int_equal(aif_row_kind(row), ends[i].row ? AIF_ROW_RSP : AIF_ROW_NONE);
		assert_int_equal((uint64_t)aif_row_off(row), ends[i].row);
	}
}

/* Makes the kernel kill whoever debugs, as a service manager may do. */
static bool forbid_debugging(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = AIF_ARRAY_LEN(code), .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void test_a_filter_that_kills(void **state)
{
	static const char text[] = "what lies here";
	char *nothing = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char got[sizeof(text)] = "";
	int status = -1;
	pid_t pid;

	(void)state;
	assert_int_equal(munmap(nothing + PAGE, PAGE), 0);
	pid = fork();
	if (pid == 0) {
		if (!forbid_debugging())
			_exit(77);
		if (!aif_jit_read((uint64_t)(uintptr_t)text, got, sizeof(got)) ||
		    memcmp(got, text, sizeof(got)))
			_exit(1);
		if (aif_jit_read((uint64_t)(uintptr_t)nothing + PAGE - 8, got, sizeof(got)))
			_exit(2);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	munmap(nothing, PAGE);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* no filters on this kernel */
	assert_int_equal(status, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		TEST(registered_code_is_found_once_wanted),
		TEST(test_changes_are_noticed),
		TEST(tables_that_change_count_as_they_are_now),
		TEST(test_the_newest_wins),
		TEST(a_list_without_end_is_left_to_the_helper),
		TEST(executable_memory_is_known_as_code),
		TEST(return_addresses_follow_calls),
		TEST(test_a_filter_that_kills),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
