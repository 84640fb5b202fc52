/* SPDX-License-Identifier: Apache-2.0 */
#include "base/activation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define S AIF_NS_PER_S
/* 2026-11-30 12:00:03.5 UTC */
#define NOW (UINT64_C(1796040003) * S + S / 2)

static void multiples_are_of_the_clock_not_of_the_start(void **state)
{
	struct aif_activation a;
	uint64_t due = 0;
	bool is_new;

	(void)state;
	assert_int_equal(aif_activation_parse("/10s", NOW, &a), 0);
	assert_false(aif_activation_look(&a, NOW, &due, &is_new));
	assert_true(is_new);
	assert_int_equal(due, UINT64_C(1796040010) * S);
	assert_false(aif_activation_look(&a, due - 1, &due, &is_new));
	assert_false(is_new);
	assert_true(aif_activation_look(&a, due, &due, &is_new));
	assert_true(aif_activation_look(&a, due + S / 2, &due, &is_new));
	assert_false(is_new);
}

static void a_clock_that_is_set_moves_the_next_multiple(void **state)
{
	struct aif_activation a;
	uint64_t due = 0;
	bool is_new;

	(void)state;
	assert_int_equal(aif_activation_parse("/10", NOW, &a), 0);
	aif_activation_look(&a, NOW, &due, &is_new);
	/* An hour ahead: others begin at a multiple there, not now. */
	assert_false(aif_activation_look(&a, NOW + 3600 * S, &due, &is_new));
	assert_true(is_new);
	assert_int_equal(due, UINT64_C(1796043610) * S);
	/* Back again: nobody waits for an hour. */
	assert_false(aif_activation_look(&a, NOW, &due, &is_new));
	assert_true(is_new);
	assert_int_equal(due, UINT64_C(1796040010) * S);
}

static void a_time_of_the_day_is_the_next_one(void **state)
{
	struct aif_activation a;
	uint64_t due = 0;
	bool is_new;

	(void)state;
	assert_int_equal(aif_activation_parse("14:05", NOW, &a), 0);
	assert_int_equal(a.at_ns, UINT64_C(1796047500) * S);
	assert_int_equal(aif_activation_parse("12:00:04", NOW, &a), 0);
	assert_int_equal(a.at_ns, UINT64_C(1796040004) * S);
	/* Tomorrow's. */
	assert_int_equal(aif_activation_parse("12:00:03", NOW, &a), 0);
	assert_int_equal(a.at_ns, UINT64_C(1796126403) * S);
	assert_false(aif_activation_look(&a, a.at_ns - 1, &due, &is_new));
	/* A clock that is set past it: it is time. */
	assert_true(aif_activation_look(&a, a.at_ns + 3600 * S, &due, &is_new));
	assert_int_equal(aif_activation_parse("@1796040010", NOW, &a), 0);
	assert_int_equal(a.at_ns, UINT64_C(1796040010) * S);
	assert_int_equal(aif_activation_parse("@1796040000", NOW, &a), -ERANGE);
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const wrong[] = {"",
					    "/",
					    "/0",
					    "/-1",
					    "/10x",
					    "/1ms",
					    "/25h",
					    "10s",
					    "24:00",
					    "1:00",
					    "12",
					    "12:60",
					    "12:00:",
					    "12:00:61",
					    "12:00:00x",
					    "@",
					    "@x",
					    "@-1",
					    "@99999999999999999999"};
	struct aif_activation a;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(wrong); i++)
		assert_int_equal(aif_activation_parse(wrong[i], NOW, &a), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(multiples_are_of_the_clock_not_of_the_start),
		cmocka_unit_test(a_clock_that_is_set_moves_the_next_multiple),
		cmocka_unit_test(a_time_of_the_day_is_the_next_one),
		cmocka_unit_test(what_is_no_time_is_refused),
	};
	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
