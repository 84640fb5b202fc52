/* SPDX-License-Identifier: Apache-2.0 */
/* Code that makes system calls of its own, in an ELF file with one section of code and no unwind tables. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "symbolize/own_calls.h"

#include "fixture_code_elf.h"

#define CODE_MAX (((size_t)1 << 20) + 4096)

/* Returns what is found in a file with `size` bytes of code, which are padding but for `code`, behind `before` of them. */
static int found_at_least(uint16_t machine, const void *code, size_t n, size_t before, size_t size,
			  enum aif_own_calls least)
{
	static struct {
		struct code_elf elf;
		uint8_t code[CODE_MAX];
	} f;
	struct aif_elf elf;
	uint64_t address;
	int r;

	assert_true(before + n <= size && size <= CODE_MAX);
	code_elf_init(&f.elf, machine, size);
	memset(f.code, machine == EM_X86_64 ? 0xcc : 0, sizeof(f.code));
	memcpy(f.code + before, code, n);
	assert_int_equal(aif_elf_init_bytes(&elf, &f, sizeof(f)), 0);
	r = aif_own_calls_find(&elf, least, &address);
	aif_elf_finish(&elf);
	return r;
}

/* Finds filters in the same file where calls of any number are not asked for, too. */
static int found_in(uint16_t machine, const void *code, size_t n, size_t before, size_t size)
{
	int all = found_at_least(machine, code, n, before, size, AIF_OWN_CALLS_ANY);

	assert_int_equal(found_at_least(machine, code, n, before, size, AIF_OWN_CALLS_FILTER),
			 all == AIF_OWN_CALLS_FILTER ? AIF_OWN_CALLS_FILTER : AIF_OWN_CALLS_NONE);
	return all;
}

static int found(uint16_t machine, const void *code, size_t n)
{
	return found_in(machine, code, n, 64, 512);
}

#define X86(...)                                               \
	found(EM_X86_64, (const uint8_t[]){__VA_ARGS__, 0xc3}, \
	      sizeof((const uint8_t[]){__VA_ARGS__, 0xc3}))
#define SYSCALL 0x0f, 0x05

static void x86_numbers(void **state)
{
	(void)state;
	/* mov eax, 317; syscall */
	assert_int_equal(X86(0xb8, 0x3d, 1, 0, 0, SYSCALL), AIF_OWN_CALLS_FILTER);
	/* mov edi, 22; mov eax, 157; syscall: prctl(PR_SET_SECCOMP) */
	assert_int_equal(X86(0xbf, 22, 0, 0, 0, 0xb8, 0x9d, 0, 0, 0, SYSCALL),
			 AIF_OWN_CALLS_FILTER);
	/* prctl() of what its caller says */
	assert_int_equal(X86(0xb8, 0x9d, 0, 0, 0, SYSCALL), AIF_OWN_CALLS_FILTER);
	/* prctl(PR_SET_NAME) */
	assert_int_equal(X86(0xbf, 15, 0, 0, 0, 0xb8, 0x9d, 0, 0, 0, SYSCALL), AIF_OWN_CALLS_NONE);
	/* mov eax, 202: futex */
	assert_int_equal(X86(0xb8, 0xca, 0, 0, 0, SYSCALL), AIF_OWN_CALLS_NONE);
	/* xor eax, eax: read */
	assert_int_equal(X86(0x31, 0xc0, SYSCALL), AIF_OWN_CALLS_NONE);
	/* mov ebx, 317; mov eax, ebx */
	assert_int_equal(X86(0xbb, 0x3d, 1, 0, 0, 0x89, 0xd8, SYSCALL), AIF_OWN_CALLS_FILTER);
}

static void x86_arguments(void **state)
{
	(void)state;
	/* mov rax, rdi; mov rdi, rsi; syscall */
	assert_int_equal(X86(0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, SYSCALL), AIF_OWN_CALLS_ANY);
	/* mov rax, [rsp + 8] */
	assert_int_equal(X86(0x48, 0x8b, 0x44, 0x24, 8, SYSCALL), AIF_OWN_CALLS_ANY);
	/* mov qword [rbp - 8], 202; mov rax, [rbp - 8]: as compilers have it without optimising */
	assert_int_equal(
		X86(0x48, 0xc7, 0x45, 0xf8, 0xca, 0, 0, 0, 0x48, 0x8b, 0x45, 0xf8, SYSCALL),
		AIF_OWN_CALLS_NONE);
	/* mov [rbp - 8], rdi; mov rax, [rbp - 8] */
	assert_int_equal(X86(0x48, 0x89, 0x7d, 0xf8, 0x48, 0x8b, 0x45, 0xf8, SYSCALL),
			 AIF_OWN_CALLS_ANY);
}

/* Bytes of the instruction inside of another one. */
static void x86_chance(void **state)
{
	(void)state;
	/* mov rax, rdi; jg +0x50f */
	assert_int_equal(X86(0x48, 0x89, 0xf8, 0x0f, 0x8f, SYSCALL, 0, 0), AIF_OWN_CALLS_NONE);
	/* mov rax, rdi; lea rsi, [rip + 0x50f] */
	assert_int_equal(X86(0x48, 0x89, 0xf8, 0x48, 0x8d, 0x35, SYSCALL, 0, 0),
			 AIF_OWN_CALLS_NONE);
}

static int arm(uint32_t first)
{
	const uint32_t code[] = {htole32(first), htole32(0xd4000001), htole32(0xd65f03c0)};

	return found(EM_AARCH64, code, sizeof(code));
}

static void arm_numbers(void **state)
{
	(void)state;
	assert_int_equal(arm(0xd28022a8), AIF_OWN_CALLS_FILTER); /* mov x8, #277 */
	assert_int_equal(arm(0x528014e8), AIF_OWN_CALLS_FILTER); /* mov w8, #167 */
	assert_int_equal(arm(0xd2800c48), AIF_OWN_CALLS_NONE);   /* mov x8, #98: futex */
	assert_int_equal(arm(0xaa0003e8), AIF_OWN_CALLS_ANY);    /* mov x8, x0 */
	assert_int_equal(arm(0xf94003e8), AIF_OWN_CALLS_ANY);    /* ldr x8, [sp] */
}

/* At the end of the code, and at each place around the end of the part of it that is read at a time. */
static void at_ends(void **state)
{
	static const uint8_t x86[] = {0xb8, 0x3d, 1, 0, 0, SYSCALL}; /* mov eax, 317; syscall */
	const uint32_t arm_code[] = {htole32(0xd28022a8), htole32(0xd4000001)};
	const size_t chunk = (size_t)1 << 20;

	(void)state;
	assert_int_equal(found_in(EM_X86_64, x86, sizeof(x86), 64, 64 + sizeof(x86)),
			 AIF_OWN_CALLS_FILTER);
	assert_int_equal(found_in(EM_AARCH64, arm_code, 8, 64, 72), AIF_OWN_CALLS_FILTER);
	assert_int_equal(found_in(EM_AARCH64, arm_code, 8, 64, 75), AIF_OWN_CALLS_FILTER);
	for (size_t at = chunk - 10; at < chunk + 4; at++)
		assert_int_equal(found_in(EM_X86_64, x86, sizeof(x86), at, CODE_MAX),
				 AIF_OWN_CALLS_FILTER);
	for (size_t at = chunk - 12; at < chunk + 8; at += 4)
		assert_int_equal(found_in(EM_AARCH64, arm_code, 8, at, CODE_MAX),
				 AIF_OWN_CALLS_FILTER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_numbers), cmocka_unit_test(x86_arguments),
		cmocka_unit_test(x86_chance),  cmocka_unit_test(arm_numbers),
		cmocka_unit_test(at_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
