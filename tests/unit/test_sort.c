/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "base/sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct row {
	int key, was_at;
};

static unsigned compared;

static int by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	compared++;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int by_sign(const void *a, const void *b, void *arg)
{
	return *(const int *)arg * by_key(a, b);
}

static void test_what_is_in_order_is_only_compared(void **state)
{
	struct row rows[] = {{1, 0}, {1, 1}, {2, 2}, {5, 3}};

	(void)state;
	compared = 0;
	aif_sort(rows, 4, sizeof(*rows), by_key);
	assert_int_equal(compared, 3);
	for (int i = 0; i < 4; i++)
		assert_int_equal(rows[i].was_at, i);
	aif_sort(rows, 0, sizeof(*rows), by_key);
	aif_sort(rows, 1, sizeof(*rows), by_key);
	assert_int_equal(compared, 3);
}

static void test_any_order_is_sorted_and_equal_ones_stay_in_theirs(void **state)
{
	enum { MOST = 700 };
	static struct row rows[MOST];
	int up = 1;

	(void)state;
	for (int n = 2; n <= MOST; n += n < 40 ? 1 : 97)
		for (int with_arg = 0; with_arg < 2; with_arg++) {
			for (int i = 0; i < n; i++)
				rows[i] = (struct row){i * 7919 % 31, i};
			if (with_arg)
				aif_sort_r(rows, (size_t)n, sizeof(*rows), by_sign, &up);
			else
				aif_sort(rows, (size_t)n, sizeof(*rows), by_key);
			for (int i = 1; i < n; i++)
				assert_true(rows[i - 1].key < rows[i].key ||
					    (rows[i - 1].key == rows[i].key &&
					     rows[i - 1].was_at < rows[i].was_at));
		}
}

static void test_what_is_not_is_sorted(void **state)
{
	int down = -1;
	struct row rows[50];

	(void)state;
	for (int i = 0; i < 50; i++)
		rows[i] = (struct row){i < 49 ? i : 7, i}; /* the last one alone is out of order */
	aif_sort(rows, 50, sizeof(*rows), by_key);
	for (int i = 1; i < 50; i++)
		assert_true(rows[i - 1].key <= rows[i].key);
	assert_int_equal(rows[8].key, 7);
	assert_int_equal(rows[49].was_at, 48);
	aif_sort_r(rows, 50, sizeof(*rows), by_sign, &down);
	for (int i = 1; i < 50; i++)
		assert_true(rows[i - 1].key >= rows[i].key);
	compared = 0;
	aif_sort_r(rows, 50, sizeof(*rows), by_sign, &down);
	assert_int_equal(compared, 49);
}

/* Sorts an array whose parts are in order, each a row longer than the one before; the keys of all are the same. */
static void sort_parts(unsigned parts)
{
	static struct row rows[100];
	int up = 1, n = 0;

	for (unsigned part = 0; part < parts; part++)
		for (unsigned i = 0; i < 2 + part; i++, n++)
			rows[n] = (struct row){(int)i / 2, n};
	compared = 0;
	aif_sort_r(rows, (size_t)n, sizeof(*rows), by_sign, &up);
	for (int i = 1; i < n; i++)
		assert_true(rows[i - 1].key < rows[i].key || (rows[i - 1].key == rows[i].key &&
							      rows[i - 1].was_at < rows[i].was_at));
}

static void test_parts_in_order_are_merged(void **state)
{
	(void)state;
	for (unsigned parts = 1; parts < 12; parts++)
		sort_parts(parts);
}

/* A look at the order, and one at each row for the merge. */
static void test_two_parts_are_compared_twice(void **state)
{
	static struct row rows[20000];
	int up = 1;

	(void)state;
	for (int i = 0; i < 20000; i++)
		rows[i] = (struct row){i < 10000 ? 2 * i : 2 * (i - 10000) + 1, i};
	compared = 0;
	aif_sort_r(rows, 20000, sizeof(*rows), by_sign, &up);
	for (int i = 0; i < 20000; i++)
		assert_int_equal(rows[i].key, i);
	assert_true(compared <= 2 * 20000);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void test_a_value_is_found_by_its_rank_as_if_they_were_in_order(void **state)
{
	uint64_t values[500], sorted[500];

	(void)state;
	assert_int_equal(aif_ranked(NULL, NULL, 0, 0), 0);
	for (size_t n = 1; n < AIF_ARRAY_LEN(values); n += 83) {
		/* Numbers of all lengths, zeros and equal ones among them. */
		for (size_t i = 0; i < n; i++)
			sorted[i] = values[i] = i % 7 ? aif_mix64(i / 2) >> i % 64 : 0;
		aif_sort(sorted, n, sizeof(*sorted), by_value);
		for (size_t rank = 0; rank < n; rank++)
			assert_true(aif_ranked(values, NULL, n, rank) == sorted[rank]);
	}
}

static void test_a_value_is_found_by_its_rank_where_each_is_counted(void **state)
{
	static const uint64_t values[] = {70000, 3, 0, 500},
			      counts[] = {2, 3, 0, UINT64_C(1) << 40};
	const uint64_t last = (UINT64_C(1) << 40) + 4;

	(void)state;
	assert_true(aif_ranked(values, counts, 4, 0) == 3);
	assert_true(aif_ranked(values, counts, 4, 2) == 3);
	assert_true(aif_ranked(values, counts, 4, 3) == 500);
	assert_true(aif_ranked(values, counts, 4, last - 2) == 500);
	assert_true(aif_ranked(values, counts, 4, last) == 70000);
	/* Counts that wrap say any rank. */
	assert_true(aif_ranked(values, counts, 4, UINT64_MAX) == 70000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_in_order_is_only_compared),
		cmocka_unit_test(test_any_order_is_sorted_and_equal_ones_stay_in_theirs),
		cmocka_unit_test(test_what_is_not_is_sorted),
		cmocka_unit_test(test_parts_in_order_are_merged),
		cmocka_unit_test(test_two_parts_are_compared_twice),
		cmocka_unit_test(test_a_value_is_found_by_its_rank_as_if_they_were_in_order),
		cmocka_unit_test(test_a_value_is_found_by_its_rank_where_each_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
