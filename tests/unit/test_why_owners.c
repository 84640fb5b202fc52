/* SPDX-License-Identifier: Apache-2.0 */
/* Tests who owns idle time: each ns has one function, and the causes are its attributes. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_owns_no_time_in_which_the_host_computes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
