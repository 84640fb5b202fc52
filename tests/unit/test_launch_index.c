/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/launch_index.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct row {
	uint32_t before;
	uint64_t launch;
};

/* Number i of a set of launches. */
typedef uint64_t numbers(uint64_t i);

static uint64_t in_a_run(uint64_t i)
{
	return 5 + i;
}
static uint64_t of_threads(uint64_t i) /* as agents number them: process, slot, number */
{
	return (i % 3 + 1) << 48 | (i / 3 % 5) << 40 | (1000 + i / 15);
}
static uint64_t far_apart(uint64_t i)
{
	return i * UINT64_C(0x9e3779b97f4a7c15);
}
static uint64_t at_the_ends(uint64_t i)
{
	return i % 2 ? UINT64_MAX - i : i;
}

static void check(numbers *of, size_t n, bool is_scattered)
{
	struct aif_launch_index x;
	struct row *rows = calloc(n + 1, sizeof(*rows));

	assert_non_null(rows);
	for (size_t i = 0; i < n; i++)
		rows[i].launch = of(i);
	assert_int_equal(AIF_LAUNCH_INDEX_INIT(&x, rows, n), 0);
	assert_int_equal(x.is_scattered, is_scattered);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(aif_launch_index_get(&x, of(i)), AIF_NONE);
		assert_int_equal(aif_launch_index_put(&x, of(i), (uint32_t)i), 0);
	}
	for (size_t i = 0; i < n; i++)
		assert_int_equal(aif_launch_index_get(&x, of(i)), i);
	assert_int_equal(aif_launch_index_get(&x, UINT64_C(1) << 63 | 12345), AIF_NONE);
	assert_int_equal(aif_launch_index_get(&x, 4), of == at_the_ends ? 4 : AIF_NONE);
	if (n) {
		assert_int_equal(aif_launch_index_put(&x, of(0), 7), 0);
		assert_int_equal(aif_launch_index_get(&x, of(0)), 7);
	}
	aif_launch_index_finish(&x);
	free(rows);
}

static void what_was_put_is_found_and_nothing_else(void **state)
{
	(void)state;
	check(in_a_run, 0, false);
	check(in_a_run, 1, false);
	check(in_a_run, 100000, false);
	check(of_threads, 100000, false);
	check(at_the_ends, 10000, false);
	check(far_apart, 1000, false);
	check(far_apart, 100000, true);
}

static void an_empty_one_has_nothing(void **state)
{
	struct aif_launch_index x = {0};

	(void)state;
	assert_int_equal(aif_launch_index_get(&x, 0), AIF_NONE);
	aif_launch_index_finish(&x);
	assert_int_equal(aif_launch_index_init(&x, NULL, 0, 16, 8), 0);
	assert_int_equal(aif_launch_index_get(&x, 0), AIF_NONE);
	aif_launch_index_finish(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_is_found_and_nothing_else),
		cmocka_unit_test(an_empty_one_has_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
