/* SPDX-License-Identifier: Apache-2.0 */
/* Tests who owns idle time: each ns has one function, and the causes are its attributes. */
#include "report/why/owners.h"
#include "report/why/why.h"

#include "fixture_idle_blame.h"

enum { STEPS = 20 };

/* Each step waits for the device until it is done, then computes in one function for 30 ms. */
static void a_wait_owns_no_time_in_which_the_host_computes(void **state)
{
	const struct aif_why_function *f;
	struct ops_fixture fixture;
	struct aif_err err = {0};
	struct aif_why w;
	uint64_t sum = 0;

	(void)state;
	begin(&fixture);
	for (uint64_t i = 0; i < STEPS; i++) {
		uint64_t at = i * 40 * MS;

		kernel(&fixture, at, at, at + 10 * MS, i % 2 ? LAUNCH_A : LAUNCH_B);
		cpu(&fixture, 0, at + MS, 0, 9 * MS, SYNC);
		for (uint64_t k = 1; k < 4; k++)
			cpu(&fixture, 0, at + k * PERIOD, PERIOD, 0, COMPUTE);
	}
	ops_read(&fixture);
	assert_ok(aif_why_measure(AIF_NAMES_OF(&fixture.p), NULL, &w, &err), &err);
	assert_int_equal(w.of_group[AIF_WHY_SYNC], 0);
	assert_int_equal(w.of_group[AIF_WHY_HOST], w.idle_ns);
	f = &w.functions[0];
	assert_string_equal(aif_strset_get(&w.places, w.owners[f->row].place, NULL),
			    "tokenize (text.py:1)");
	assert_int_equal(f->ns, w.idle_ns);
	assert_int_equal(aif_why_function_group(f), AIF_WHY_HOST);
	for (size_t i = 0; i < w.functions_len; i++)
		for (unsigned g = 0; g < AIF_WHY_GROUPS; g++)
			sum += w.functions[i].of_group[g];
	assert_int_equal(sum, w.idle_ns);
	aif_why_finish(&w);
	ops_end(&fixture);
}

/* Half of its idle time passes on a CPU, half off it: neither has 40 % of the time, but the function has, and so has the
 * device, whose kernels take `busy`. */
static void expect_bound(uint64_t busy, const char *bound, const char *brief, const char *groups)
{
	struct ops_fixture fixture;
	struct aif_buf text = {0};
	struct aif_err err = {0};
	struct aif_why w;

	begin(&fixture);
	for (uint64_t i = 0; i < STEPS; i++) {
		uint64_t at = i * 40 * MS;

		kernel(&fixture, at, at, at + busy, i % 2 ? LAUNCH_A : LAUNCH_B);
		cpu(&fixture, 0, at + busy, PERIOD, 0, COMPUTE);
		cpu(&fixture, 0, at + 2 * PERIOD, PERIOD / 2, PERIOD / 2, COMPUTE);
		cpu(&fixture, 0, at + 3 * PERIOD, 0, PERIOD, COMPUTE);
	}
	ops_read(&fixture);
	assert_ok(aif_why_measure(AIF_NAMES_OF(&fixture.p), NULL, &w, &err), &err);
	aif_why_say(AIF_NAMES_OF(&fixture.p), &w, "a.data", 0, &text);
	if (!strstr(aif_buf_str(&text), bound))
		fail_msg("'%s' is not in:\n%s", bound, aif_buf_str(&text));
	aif_buf_clear(&text);
	aif_why_say_briefly(AIF_NAMES_OF(&fixture.p), &w, &text);
	if (!strstr(aif_buf_str(&text), brief))
		fail_msg("'%s' is not in:\n%s", brief, aif_buf_str(&text));
	aif_buf_clear(&text);
	aif_why_json(AIF_NAMES_OF(&fixture.p), &w, "a.data", &text);
	if (!strstr(aif_buf_str(&text), groups))
		fail_msg("'%s' is not in:\n%s", groups, aif_buf_str(&text));
	aif_buf_finish(&text);
	aif_why_finish(&w);
	ops_end(&fixture);
}

static void a_function_bounds_whatever_its_time_passes_in(void **state)
{
	(void)state;
	expect_bound(10 * MS, "\nbound by tokenize (text.py:1): for 66.7 %",
		     "tokenize (text.py:1): 66.7 %", "\"bound_by\":[\"sync\",\"host\"]");
}

static void of_a_device_and_a_function_the_one_with_more_time_bounds(void **state)
{
	(void)state;
	expect_bound(17 * MS, "\nbound by tokenize (text.py:1): for 57.5 %",
		     "tokenize (text.py:1): 57.5 %", "\"bound_by\":[\"sync\",\"host\"]");
	expect_bound(21 * MS, "\nbound by the device: for 52.5 %", "the device: 52.5 %",
		     "\"bound_by\":[\"compute\"]");
}

/* The page divides idle time by these names, and `why` by its functions. */
static void each_row_of_the_blame_has_the_owner_that_why_names(void **state)
{
	struct ops_fixture fixture;
	struct aif_selection all = {.whole = true};
	struct aif_err err = {0};
	const struct aif_idle_part *part = aif_facts_none();
	struct aif_strset owners = {0};
	uint32_t owner[64];
	uint64_t ns = 0;
	struct aif_why w;

	(void)state;
	begin(&fixture);
	for (uint64_t i = 0; i < STEPS; i++) {
		uint64_t at = i * 40 * MS;

		kernel(&fixture, at, at, at + 10 * MS, i % 2 ? LAUNCH_A : LAUNCH_B);
		for (uint64_t k = 1; k < 4; k++)
			cpu(&fixture, 0, at + k * PERIOD, PERIOD, 0, COMPUTE);
	}
	ops_read(&fixture);
	assert_ok(aif_why_measure(AIF_NAMES_OF(&fixture.p), &all, &w, &err), &err);
	assert_int_equal(aif_idle_part_get_course(&fixture.p, NULL, &part), 0);
	assert_in_range(part->blame.len, 1, AIF_ARRAY_LEN(owner));
	assert_int_equal(aif_why_owners_of(AIF_NAMES_OF(&fixture.p), &part->blame, &owners, owner),
			 0);
	for (size_t i = 0; i < part->blame.len; i++)
		if (!strcmp(aif_strset_get(&owners, owner[i], NULL), "tokenize (text.py)"))
			ns += part->blame.rows[i].ns;
	assert_int_equal(ns, w.functions[0].ns);
	aif_facts_put(part);
	aif_strset_finish(&owners);
	aif_why_finish(&w);
	ops_end(&fixture);
}

static void the_function_of_a_place_is_its_name_without_lines(void **state)
{
	struct aif_buf b = {0};

	(void)state;
	aif_why_place_function("f (a.py:12) in g (b:c.py:7)", &b);
	assert_string_equal(aif_buf_str(&b), "f (a.py) in g (b:c.py)");
	aif_buf_clear(&b);
	aif_why_place_function("std::f (a.py:x) :12", &b);
	assert_string_equal(aif_buf_str(&b), "std::f (a.py:x) :12");
	aif_buf_finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_owns_no_time_in_which_the_host_computes),
		cmocka_unit_test(a_function_bounds_whatever_its_time_passes_in),
		cmocka_unit_test(of_a_device_and_a_function_the_one_with_more_time_bounds),
		cmocka_unit_test(each_row_of_the_blame_has_the_owner_that_why_names),
		cmocka_unit_test(the_function_of_a_place_is_its_name_without_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
