/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/values.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Values, names and times of metric groups that hold counters. */

static void values_are_numbers(void **state)
{
	struct aif_ze_value v = {.type = AIF_ZE_VALUE_32, .u64 = UINT64_MAX};

	(void)state;
	assert_true(aif_ze_number(&v) == 4294967295.0);
	v.type = AIF_ZE_VALUE_64;
	v.u64 = UINT64_C(1) << 53;
	assert_true(aif_ze_number(&v) == 9007199254740992.0);
	v.type = AIF_ZE_VALUE_BOOL;
	v.b8 = 7;
	assert_true(aif_ze_number(&v) == 1);
	v.type = AIF_ZE_VALUE_FLOAT;
	v.f32 = -0.5f;
	assert_true(aif_ze_number(&v) == -0.5);
	v.f32 = INFINITY;
	assert_true(isnan(aif_ze_number(&v)));
	v.type = AIF_ZE_VALUE_DOUBLE;
	v.f64 = 1e300;
	assert_true(aif_ze_number(&v) == 1e300);
	v.type = 5;
	assert_true(isnan(aif_ze_number(&v)));
}

static void lists_have_names(void **state)
{
	static const char list[] = " GpuBusy,, XveActive ,Avg Frequency";
	const char *at = list;
	char name[8];

	(void)state;
	assert_true(aif_ze_list_has(list, "GpuBusy"));
	assert_true(aif_ze_list_has(list, "xveactive"));
	assert_true(aif_ze_list_has(list, "Avg Frequency"));
	assert_false(aif_ze_list_has(list, "Gpu"));
	assert_false(aif_ze_list_has(list, "GpuBusy,"));
	assert_false(aif_ze_list_has(list, ""));
	assert_false(aif_ze_list_has("", "GpuBusy"));
	assert_true(aif_ze_list_next(&at, name, sizeof(name)));
	assert_string_equal(name, "GpuBusy");
	assert_true(aif_ze_list_next(&at, name, sizeof(name)));
	assert_string_equal(name, "XveActi");
	assert_true(aif_ze_list_next(&at, name, sizeof(name)));
	assert_false(aif_ze_list_next(&at, name, sizeof(name)));
	assert_false(aif_ze_list_next(&at, name, sizeof(name)));
}

#define MS UINT64_C(1000000)
static void reports_have_times(void **state)
{
	struct aif_ze_report_clock c = {.is_set = false};
	uint64_t now = 1000 * MS;

	(void)state;
	/* The last one of a reading was made when it was read, as far as is known. */
	aif_ze_report_read(&c, 70 * MS, now);
	assert_int_equal(aif_ze_report_time(&c, 70 * MS, now), now);
	assert_int_equal(aif_ze_report_time(&c, 60 * MS, now), now - 10 * MS);
	/* Read sooner: those were late. */
	aif_ze_report_read(&c, 170 * MS, now + 96 * MS);
	assert_int_equal(aif_ze_report_time(&c, 170 * MS, now + 96 * MS), now + 96 * MS);
	/* Read later: it was made when the others say. */
	aif_ze_report_read(&c, 270 * MS, now + 230 * MS);
	assert_in_range(aif_ze_report_time(&c, 270 * MS, now + 230 * MS), now + 196 * MS,
			now + 197 * MS);
	assert_int_equal(aif_ze_report_time(&c, 270 * MS, now + 230 * MS) -
				 aif_ze_report_time(&c, 260 * MS, now + 230 * MS),
			 10 * MS);
	/* A clock that drifts by 100 us a second is followed. */
	for (uint64_t i = 1; i < 1000; i++) {
		uint64_t at = now + 230 * MS + i * 1000 * MS;

		aif_ze_report_read(&c, 270 * MS + i * 1000 * MS - i * MS / 10, at);
		assert_in_range(aif_ze_report_time(&c, 270 * MS + i * 1000 * MS - i * MS / 10, at),
				at - 40 * MS, at);
	}
	/* The counter of the reports has wrapped, or was set anew. */
	now += 2000000 * MS;
	aif_ze_report_read(&c, 5, now);
	assert_int_equal(aif_ze_report_time(&c, 5, now), now);
	assert_int_equal(aif_ze_report_time(&c, 6, now), now);
	/* An impossible report time is replaced by the time of reading. */
	assert_int_equal(aif_ze_report_time(&c, UINT64_MAX / 2, now), now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_numbers),
		cmocka_unit_test(lists_have_names),
		cmocka_unit_test(reports_have_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
