/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/samples.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Address, two reasons, something else. */
static const struct aif_ze_layout layout = {
	.metrics = 4, .ip = 1, .reason = {0, AIF_ZE_NO_REASON, 5, AIF_ZE_NO_REASON}};

static struct aif_ze_value number(uint64_t n)
{
	return (struct aif_ze_value){.type = AIF_ZE_VALUE_64, .u64 = n};
}

static void row(struct aif_ze_value *v, uint64_t ip, uint64_t first, uint64_t second)
{
	v[0] = number(first);
	v[1] = number(ip);
	v[2] = number(second);
	v[3] = number(UINT64_MAX);
}

static struct aif_ze_sums *sums(void)
{
	static struct aif_ze_sums s;

	aif_ze_sums_clear(&s);
	return &s;
}

static const struct aif_ze_sum *at(const struct aif_ze_sums *s, uint64_t ip)
{
	for (size_t i = 0; i < AIF_ZE_SUMS; i++)
		if (s->at[i].used && s->at[i].ip == ip)
			return &s->at[i];
	return NULL;
}

static void rows_are_summed_up_by_address(void **state)
{
	struct aif_ze_sums *s = sums();
	struct aif_ze_value v[14];

	(void)state;
	row(v, 7, 3, 0);
	row(v + 4, 9, 0, 1);
	row(v + 8, 7, 1, 10);
	/* Half a row is none. */
	assert_int_equal(aif_ze_sums_add(s, &layout, v, 14), 12);
	assert_int_equal(s->len, 2);
	assert_int_equal(s->samples, 15);
	assert_int_equal(at(s, 7)->counts[0], 4);
	assert_int_equal(at(s, 7)->counts[5], 10);
	assert_int_equal(at(s, 9)->counts[5], 1);
	/* Without samples an address is of no interest. */
	row(v, 11, 0, 0);
	assert_int_equal(aif_ze_sums_add(s, &layout, v, 4), 4);
	assert_int_equal(s->len, 2);
	aif_ze_sums_clear(s);
	assert_int_equal(s->len, 0);
	assert_int_equal(s->samples, 0);
	assert_null(at(s, 7));
}

static void values_of_any_type_count(void **state)
{
	struct aif_ze_sums *s = sums();
	struct aif_ze_value v[4];

	(void)state;
	row(v, 1, 0, 0);
	v[0] = (struct aif_ze_value){.type = AIF_ZE_VALUE_32, .u32 = 3};
	v[2] = (struct aif_ze_value){.type = AIF_ZE_VALUE_DOUBLE, .f64 = 4.0};
	assert_int_equal(aif_ze_sums_add(s, &layout, v, 4), 4);
	v[0] = (struct aif_ze_value){.type = AIF_ZE_VALUE_FLOAT, .f32 = 2.5F};
	v[2] = (struct aif_ze_value){.type = AIF_ZE_VALUE_BOOL, .b8 = 1};
	assert_int_equal(aif_ze_sums_add(s, &layout, v, 4), 4);
	assert_int_equal(at(s, 1)->counts[0], 5);
	assert_int_equal(at(s, 1)->counts[5], 5);
	assert_int_equal(s->bad, 0);
}

static void what_cannot_be_is_counted(void **state)
{
	struct aif_ze_sums *s = sums();
	struct aif_ze_value v[4];

	(void)state;
	row(v, 1, UINT64_MAX, 0);
	assert_int_equal(aif_ze_sums_add(s, &layout, v, 4), 4);
	row(v, UINT64_C(1) << 61, 1, 1);
	assert_int_equal(aif_ze_sums_add(s, &layout, v, 4), 4);
	row(v, 1, 1, 1);
	v[0] = (struct aif_ze_value){.type = AIF_ZE_VALUE_DOUBLE, .f64 = NAN};
	assert_int_equal(aif_ze_sums_add(s, &layout, v, 4), 4);
	v[0].f64 = -1;
	assert_int_equal(aif_ze_sums_add(s, &layout, v, 4), 4);
	v[0].f64 = INFINITY;
	assert_int_equal(aif_ze_sums_add(s, &layout, v, 4), 4);
	v[0].type = 77;
	assert_int_equal(aif_ze_sums_add(s, &layout, v, 4), 4);
	assert_int_equal(s->bad, 6);
	assert_int_equal(s->samples, 0);
}

/* A full table says so, and goes on when it was emptied: no row is lost, and none is taken
 * twice. */
static void a_full_table_takes_no_more(void **state)
{
	struct aif_ze_sums *s = sums();
	uint64_t defined_gen = 0;
	struct aif_ze_value v[4];

	(void)state;
	for (uint64_t ip = 0; ip < 3 * AIF_ZE_SUMS; ip++) {
		row(v, ip, 1, 1);
		if (aif_ze_sums_add(s, &layout, v, 4))
			continue;
		defined_gen += s->samples;
		aif_ze_sums_clear(s);
		assert_int_equal(aif_ze_sums_add(s, &layout, v, 4), 4);
	}
	assert_int_equal(defined_gen + s->samples, 6 * AIF_ZE_SUMS);
	/* Sums do not wrap, either. */
	s = sums();
	defined_gen = 0;
	row(v, 1, UINT32_MAX / AIF_ZE_METRICS_MAX, 0);
	while (aif_ze_sums_add(s, &layout, v, 4))
		defined_gen++;
	assert_int_equal(s->samples, defined_gen * (UINT32_MAX / AIF_ZE_METRICS_MAX));
	assert_int_equal(at(s, 1)->counts[0], s->samples);
}

static void reasons_have_the_names_of_the_field(void **state)
{
	static const char *const names[][2] = {{"Active", "active"},
					       {"PSDepStall", "tdr"},
					       {"ControlStall", "control"},
					       {"PipeStall", "pipestall"},
					       {"SendStall", "send"},
					       {"DistStall", "dist_acc"},
					       {"SbidStall", "sbid"},
					       {"SyncStall", "sync"},
					       {"InstrFetchStall", "inst_fetch"},
					       {"OtherStall", "other"},
					       {"INST_FETCH", "inst_fetch"},
					       {"SCOREBOARD ID", "sbid"},
					       {"DIST or ACC", "dist_acc"},
					       {"PIPESTALL", "pipestall"},
					       {"BubbleStall", "BubbleStall"},
					       {"", ""},
					       {"Stall", "Stall"}};
	char longer[300];

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		assert_string_equal(aif_ze_stall_name(names[i][0]), names[i][1]);
	memset(longer, 'a', sizeof(longer));
	longer[299] = '\0';
	assert_ptr_equal(aif_ze_stall_name(longer), longer);
}

static void what_is_read_at_once_is_little(void **state)
{
	(void)state;
	assert_int_equal(aif_ze_read_interval(0), 5000000);
	assert_int_equal(aif_ze_read_interval(1000), 5000000);
	assert_int_equal(aif_ze_read_interval(3000), 12288000);
	assert_int_equal(aif_ze_read_interval(UINT64_MAX), 20000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_summed_up_by_address),
		cmocka_unit_test(values_of_any_type_count),
		cmocka_unit_test(what_cannot_be_is_counted),
		cmocka_unit_test(a_full_table_takes_no_more),
		cmocka_unit_test(reasons_have_the_names_of_the_field),
		cmocka_unit_test(what_is_read_at_once_is_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
