/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/go_stack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* The instructions behind the call of C in runtime.asmcgocall: of Go 1.19, as an executable and independent of its
 * position, and with the operands of a frame that has them at its lowest words. */
static const uint8_t plain[] = {0x48, 0x8b, 0x7c, 0x24, 0x30, 0x48, 0x8b, 0x77, 0x08, 0x48, 0x2b,
				0x74, 0x24, 0x28, 0x64, 0x48, 0x89, 0x3c, 0x25, 0xf8, 0xff, 0xff,
				0xff, 0x48, 0x89, 0xf4, 0x89, 0x44, 0x24, 0x18, 0xc3};
static const uint8_t pie[] = {0x48, 0xc7, 0xc1, 0xf8, 0xff, 0xff, 0xff, 0x48, 0x8b, 0x7c, 0x24,
			      0x30, 0x48, 0x8b, 0x77, 0x08, 0x48, 0x2b, 0x74, 0x24, 0x28, 0x64,
			      0x48, 0x89, 0x39, 0x48, 0x89, 0xf4, 0x89, 0x44, 0x24, 0x18, 0xc3};
static const uint8_t low[] = {0x48, 0x8b, 0x7c, 0x24, 0x08, 0x48, 0x8b, 0x77, 0x08, 0x48,
			      0x2b, 0x34, 0x24, 0x64, 0x48, 0x89, 0x3c, 0x25, 0xf8, 0xff,
			      0xff, 0xff, 0x48, 0x89, 0xf4, 0x89, 0x44, 0x24, 0x18, 0xc3};

static bool is_switch(const uint8_t *bytes, size_t n, struct aif_go_switch *ret)
{
	return aif_go_switch((struct aif_span){bytes, bytes + n}, ret);
}

static void the_way_back_is_recognised(void **state)
{
	struct aif_go_switch s;

	(void)state;
	assert_true(is_switch(plain, sizeof(plain), &s));
	assert_int_equal(s.g_at, 0x30);
	assert_int_equal(s.depth_at, 0x28);
	assert_true(is_switch(pie, sizeof(pie), &s));
	assert_int_equal(s.g_at, 0x30);
	assert_int_equal(s.depth_at, 0x28);
	assert_true(is_switch(low, sizeof(low), &s));
	assert_int_equal(s.g_at, 8);
	assert_int_equal(s.depth_at, 0);
}

/* Any other instruction in its place, and any end of the code before its end. */
static void other_code_is_not(void **state)
{
	struct aif_go_switch s;
	uint8_t bytes[sizeof(plain)];

	(void)state;
	for (size_t n = 0; n < sizeof(plain); n++)
		assert_false(is_switch(plain, n, &s));
	for (size_t n = 0; n < sizeof(pie); n++)
		assert_false(is_switch(pie, n, &s));
	for (size_t i = 0; i < sizeof(plain); i++) {
		bool is_operand = i == 4 || i == 13, is_offset = i >= 19 && i < 23;

		memcpy(bytes, plain, sizeof(plain));
		bytes[i] ^= 1; /* operands are words */
		assert_int_equal(is_switch(bytes, sizeof(bytes), &s), is_offset);
		bytes[i] = plain[i] ^ 0x80; /* and lie above the stack pointer */
		assert_int_equal(is_switch(bytes, sizeof(bytes), &s), is_offset);
		bytes[i] = plain[i] ^ 8;
		assert_int_equal(is_switch(bytes, sizeof(bytes), &s), is_offset || is_operand);
	}
}

static void a_stack_must_be_one(void **state)
{
	static const struct {
		uint64_t lo, hi, depth;
		bool is_one;
	} cases[] = {
		{0x10000, 0x18000, 0x100, true},   {0x10000, 0x18000, 0x8000, true},
		{0x10000, 0x18000, 0x8008, false}, {0x10000, 0x18000, 8, false},
		{0x10000, 0x18000, 0x104, false},  {0x10000, 0x18004, 0x100, false},
		{0x10004, 0x18000, 0x100, false},  {0, 0x18000, 0x100, false},
		{0x18000, 0x10000, 0x100, false},  {0x10000, 0x10000, 0, false},
		{0x10000, 0x40010008, 16, false},  {0x10000, UINT64_MAX - 7, UINT64_MAX - 7, false},
	};
	struct aif_go_stack s;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t g[2] = {cases[i].lo, cases[i].hi};

		assert_int_equal(aif_go_stack((uint64_t)(uintptr_t)g, cases[i].depth, &s),
				 cases[i].is_one);
		if (cases[i].is_one)
			assert_true(s.lo == g[0] && s.hi == g[1] && s.sp == g[1] - cases[i].depth);
	}
	assert_false(aif_go_stack(0, 0x100, &s));
	assert_false(aif_go_stack(12, 0x100, &s));
}

static void goexit_is_where_a_goroutine_began(void **state)
{
	static const uint8_t goexit[] = {0xcc, 0x90, 0xe8, 1, 2, 3, 4, 0x90};
	const struct aif_span code = {goexit, goexit + sizeof(goexit)};
	const uint64_t lo = (uint64_t)(uintptr_t)goexit;

	(void)state;
	for (uint64_t i = 0; i < sizeof(goexit) + 4; i++)
		assert_int_equal(aif_go_is_first(code, lo - 2 + i), i == 4);
	assert_false(aif_go_is_first((struct aif_span){goexit, goexit + 7}, lo + 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_way_back_is_recognised),
		cmocka_unit_test(other_code_is_not),
		cmocka_unit_test(a_stack_must_be_one),
		cmocka_unit_test(goexit_is_where_a_goroutine_began),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
