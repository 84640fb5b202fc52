/* SPDX-License-Identifier: Apache-2.0 */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_in_order_is_only_compared),
		cmocka_unit_test(test_what_is_not_is_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
