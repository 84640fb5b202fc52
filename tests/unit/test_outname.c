/* SPDX-License-Identifier: Apache-2.0 */
#include "record/outname.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const rank_variables[] = {
	"OMPI_COMM_WORLD_RANK", "PMI_RANK",     "PMIX_RANK", "MV2_COMM_WORLD_RANK",
	"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "RANK",      "WORLD_SIZE"};

static int no_job(void **state)
{
	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(rank_variables); i++)
		unsetenv(rank_variables[i]);
	return 0;
}

static void plain_names_stay(void **state)
{
	char name[256];

	(void)state;
	assert_int_equal(aif_outname("aiflame.data", name, sizeof(name), NULL), 0);
	assert_string_equal(name, "aiflame.data");
	assert_int_equal(aif_outname("100%%.data", name, sizeof(name), NULL), 0);
	assert_string_equal(name, "100%.data");
}

static void patterns_are_filled(void **state)
{
	char name[600], expected[600], host[256];

	(void)state;
	gethostname(host, sizeof(host));
	setenv("AIF_TEST_JOB", "a/b", 1);
	snprintf(expected, sizeof(expected), "%s-%d-0-a_b", host, (int)getpid());
	assert_int_equal(aif_outname("%h-%p-%r-%q{AIF_TEST_JOB}", name, sizeof(name), NULL), 0);
	assert_string_equal(name, expected);
}

static void tasks_of_a_job_get_names_of_their_own(void **state)
{
	char name[600], host[256], expected[600];

	(void)state;
	gethostname(host, sizeof(host));
	setenv("SLURM_PROCID", "3", 1);
	assert_int_equal(aif_outname("x.data", name, sizeof(name), NULL), 0);
	assert_string_equal(name, "x.data"); /* a batch script: one task */
	setenv("SLURM_STEP_NUM_TASKS", "8", 1);
	snprintf(expected, sizeof(expected), "x.data.%s.3", host);
	assert_int_equal(aif_outname("x.data", name, sizeof(name), NULL), 0);
	assert_string_equal(name, expected);
	assert_int_equal(aif_outname("x-%r.data", name, sizeof(name), NULL), 0);
	assert_string_equal(name, "x-3.data");
	setenv("OMPI_COMM_WORLD_RANK", "../7", 1); /* must not lead elsewhere */
	assert_int_equal(aif_outname("x-%r.data", name, sizeof(name), NULL), 0);
	assert_string_equal(name, "x-.._7.data");
}

static void bad_patterns_say_what_is_wrong(void **state)
{
	static const char *const bad[] = {"%z", "x%", "%q", "%q{", "%q{NOT_SET_ANYWHERE}", ""};
	struct aif_err err;
	char name[64];

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(bad); i++) {
		err.text[0] = '\0';
		assert_true(aif_outname(bad[i], name, sizeof(name), &err) < 0);
		assert_true(strstr(err.text, "-o") != NULL);
	}
	assert_int_equal(aif_outname("%q{PATH}%q{PATH}%q{PATH}%q{PATH}", name, 8, &err),
			 -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(plain_names_stay, no_job),
		cmocka_unit_test_setup(patterns_are_filled, no_job),
		cmocka_unit_test_setup(tasks_of_a_job_get_names_of_their_own, no_job),
		cmocka_unit_test_setup(bad_patterns_say_what_is_wrong, no_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
