/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/stub.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NOP 0xd503201f
#define RET 0xd65f03c0

/* Stubs as `ld` and `lld` write them, and as the kernel's vdso has it. */
static const uint32_t code[] = {
	NOP,        0xd2801168,                         /* 1: mov x8, #139; svc #0 */
	0xd4000001, RET,        0xb00000f0,             /* 4: adrp, ldr, add, br */
	0xf9465e11, 0x9132e210, 0xd61f0220, 0xd503245f, /* 8: bti c, adrp, ldr, add, br */
	0x90000110, 0xf9400211, 0x91000210, 0xd61f0220,
	NOP,        0xd2801148,                         /* 14: another system call */
	0xd4000001, 0x90000110,                         /* 16: not all of an entry */
	0xf9400211, 0x91000210, RET,        0xd2801168, /* 20: cut off at the end */
};

#define WORDS (sizeof(code) / sizeof(code[0]))

static enum aif_row_kind kind_at(size_t from, size_t words, size_t at, unsigned less)
{
	const uint8_t *p = (const uint8_t *)code;
	struct aif_span span = {p + 4 * from, p + 4 * (from + words)};

	return aif_row_kind(
		aif_stub_row_aarch64(span, (uint64_t)(uintptr_t)p + 4 * (uint64_t)at - less));
}

static void test_what_is_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < WORDS; i++) {
		enum aif_row_kind want = AIF_ROW_NONE;

		if (i == 1 || i == 2)
			want = AIF_ROW_SIGNAL;
		else if (i >= 4 && i < 13)
			want = AIF_ROW_LR;
		if (kind_at(0, WORDS, i, 0) != want)
			print_error("instruction %zu\n", i);
		assert_int_equal(kind_at(0, WORDS, i, 0), want);
		assert_int_equal(kind_at(0, WORDS, i, 1),
				 want); /* as a return address is looked up */
	}
}

static void stubs_of_the_os_kernel_have_rows(void **state)
{
	const struct aif_span span = {(const uint8_t *)code, (const uint8_t *)(code + WORDS)};
	const uint64_t at = (uint64_t)(uintptr_t)code;

	(void)state;
	/* The kernel's struct rt_sigframe: x29, sp, pc. */
	assert_int_equal(aif_stub_row_aarch64(span, at + 4),
			 aif_row_make(AIF_ROW_SIGNAL, 544 / 8, 568, 560));
	assert_int_equal(aif_stub_row_aarch64(span, at + 16), aif_row_make(AIF_ROW_LR, 0, 0, 0));
}

/* An entry that would have to be read outside is not there. */
static void stubs_at_the_edge_of_memory_are_not_read_beyond(void **state)
{
	(void)state;
	for (size_t words = 0; words < 9; words++) {
		for (size_t at = 0; at < WORDS; at++) {
			if (words < 4 || at < 4 || at > 7)
				assert_int_equal(kind_at(4, words, at, 0), AIF_ROW_NONE);
		}
	}
	assert_int_equal(kind_at(4, 4, 5, 0), AIF_ROW_LR);
	assert_int_equal(kind_at(5, 3, 5, 0), AIF_ROW_NONE);
	assert_int_equal(kind_at(1, 2, 1, 0), AIF_ROW_SIGNAL);
	assert_int_equal(kind_at(1, 1, 1, 0), AIF_ROW_NONE);
	assert_int_equal(kind_at(2, 1, 2, 0), AIF_ROW_NONE);
	assert_int_equal(kind_at(0, 0, 1, 0), AIF_ROW_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_known),
		cmocka_unit_test(stubs_of_the_os_kernel_have_rows),
		cmocka_unit_test(stubs_at_the_edge_of_memory_are_not_read_beyond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
