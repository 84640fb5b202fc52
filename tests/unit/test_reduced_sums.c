/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of places that record --reduce has of the steps of each round. */
#include "record/reduce/reduced_sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct aif_reduced_block block;
static const struct aif_profile no_tables;

/* Takes a launch of a step and its execution. */
static void take(struct aif_reduced_sums *s, uint64_t launch, uint32_t device, uint64_t start,
		 uint64_t end)
{
	aif_reduced_sums_launch(s, &(struct aif_launch_row){.launch = launch, .stack = AIF_NONE}, 0,
				0);
	aif_reduced_sums_exec(s, &(struct aif_exec_row){.launch = launch,
							.start = start,
							.end = end,
							.device = device,
							.kernel = AIF_NONE,
							.clock = AIF_CLOCK_MONOTONIC});
}

static void end_round(struct aif_reduced_sums *s, uint64_t from, uint64_t to)
{
	const struct aif_reduced_steps steps = {.blocks = &block, .blocks_len = 1};

	block = (struct aif_reduced_block){.from = from, .to = to, .is_step = true};
	aif_reduced_sums_round(s, &no_tables, 0, &steps);
	aif_reduced_sums_next(s);
}

static void no_memory_for_sums_leaves_a_recording_without_them(void **state)
{
	struct aif_reduced_sums s = {0};
	struct aif_err err = {0};

	(void)state;
	/* There is no room for another launch. */
	s.launches_len = s.launches_cap = SIZE_MAX / 2;
	take(&s, 1, 0, 10, 20);
	assert_true(s.is_incomplete);
	assert_int_equal(s.launches_cap + s.execs_cap, 0);
	end_round(&s, 0, 100);
	assert_int_equal(aif_reduced_sums_write(&s, NULL, &err), 0);
	aif_reduced_sums_finish(&s);
	/* There is none for another place. */
	take(&s, 1, 0, 10, 20);
	end_round(&s, 0, 100);
	assert_false(s.is_incomplete);
	assert_int_equal(s.processes_len, 1);
	aif_step_sums_finish(&s.processes[0].sums);
	s.processes[0].sums.places_len = s.processes[0].sums.places_cap = SIZE_MAX / 2;
	take(&s, 2, 0, 110, 120);
	end_round(&s, 100, 200);
	assert_true(s.is_incomplete);
	assert_int_equal(s.processes_len + s.launches_cap + s.execs_cap, 0);
	take(&s, 3, 0, 210, 220);
	end_round(&s, 200, 300);
	assert_int_equal(aif_reduced_sums_write(&s, NULL, &err), 0);
	aif_reduced_sums_finish(&s);
}

static void put_launch(struct aif_reduced_sums *s, uint64_t launch)
{
	aif_reduced_sums_launch(s, &(struct aif_launch_row){.launch = launch, .stack = AIF_NONE}, 0,
				0);
}

static void put_exec(struct aif_reduced_sums *s, uint64_t launch, uint64_t start)
{
	aif_reduced_sums_exec(s, &(struct aif_exec_row){.launch = launch,
							.start = start,
							.end = start + 5,
							.kernel = AIF_NONE,
							.clock = AIF_CLOCK_MONOTONIC});
}

static void executions_that_come_after_their_step_was_added_are_counted(void **state)
{
	struct aif_reduced_sums s = {0};

	(void)state;
	put_launch(&s, 1);
	put_launch(&s, 2);
	put_exec(&s, 1, 10);
	end_round(&s, 0, 100);
	assert_int_equal(s.missed, 0);
	/* Launches of the round before, of which one is a graph's, with an execution that came in time. */
	put_exec(&s, 2, 30);
	put_exec(&s, 1, 40);
	put_launch(&s, 4);
	/* No step has the launch. */
	put_exec(&s, 3, 50);
	end_round(&s, 100, 200);
	assert_int_equal(s.missed, 2);
	end_round(&s, 200, 300);
	/* Launched two rounds ago. */
	put_exec(&s, 4, 60);
	/* Another process's slot has the launch. */
	put_exec(&s, UINT64_C(1) << 40 | 1, 60);
	end_round(&s, 300, 400);
	assert_int_equal(s.missed, 3);
	assert_false(s.is_incomplete);
	aif_reduced_sums_finish(&s);
}

static void launches_between_steps_are_not_missed(void **state)
{
	const struct aif_reduced_steps steps = {.blocks = &block, .blocks_len = 1};
	struct aif_reduced_sums s = {0};

	(void)state;
	put_launch(&s, 1);
	block = (struct aif_reduced_block){.from = 0, .to = 100};
	aif_reduced_sums_round(&s, &no_tables, 0, &steps);
	aif_reduced_sums_next(&s);
	put_exec(&s, 1, 10);
	end_round(&s, 100, 200);
	assert_int_equal(s.missed, 0);
	aif_reduced_sums_finish(&s);
}

static void idle_time_of_each_of_several_devices_goes_on_from_one_round_to_the_next(void **state)
{
	struct aif_reduced_sums s = {0};
	const struct aif_step_sums *sums;
	uint64_t idle[2] = {0};

	(void)state;
	take(&s, 1, 0, 10, 20);
	take(&s, 2, 1, 10, 30);
	end_round(&s, 0, 100);
	/* Device 1 has no execution in this round. */
	take(&s, 3, 0, 110, 120);
	end_round(&s, 100, 200);
	take(&s, 4, 0, 210, 220);
	take(&s, 5, 1, 230, 240);
	end_round(&s, 200, 300);
	assert_false(s.is_incomplete);
	sums = &s.processes[0].sums;
	assert_int_equal(aif_step_sums_end(&s.processes[0].sums), 0);
	for (size_t i = 0; i < sums->rows_len; i++)
		if (sums->rows[i].sum == AIF_STEP_SUM_IDLE)
			idle[sums->rows[i].device] += sums->rows[i].ns;
	assert_int_equal(idle[0], 90 + 90);
	assert_int_equal(idle[1], 200);
	aif_reduced_sums_finish(&s);
}

/* A loop whose turns begin with a launch waits for it in the turn before. */
static void idle_time_is_of_the_step_in_which_most_of_it_lies(void **state)
{
	struct aif_reduced_block blocks[2] = {{.from = 0, .to = 100, .is_step = true},
					      {.from = 100, .to = 200, .is_step = true}};
	const struct aif_reduced_steps steps = {.blocks = blocks, .blocks_len = 2};
	struct aif_reduced_sums s = {0};
	const struct aif_step_sums *sums;
	unsigned rows = 0;

	(void)state;
	take(&s, 1, 0, 0, 20);
	aif_reduced_sums_launch(&s, &(struct aif_launch_row){.launch = 2, .stack = AIF_NONE}, 0, 1);
	aif_reduced_sums_exec(&s, &(struct aif_exec_row){.launch = 2,
							 .start = 110,
							 .end = 130,
							 .kernel = AIF_NONE,
							 .clock = AIF_CLOCK_MONOTONIC});
	aif_reduced_sums_round(&s, &no_tables, 0, &steps);
	aif_reduced_sums_next(&s);
	sums = &s.processes[0].sums;
	assert_int_equal(aif_step_sums_end(&s.processes[0].sums), 0);
	for (size_t i = 0; i < sums->rows_len; i++)
		if (sums->rows[i].sum == AIF_STEP_SUM_IDLE && sums->rows[i].ns) {
			rows++;
			assert_int_equal(sums->rows[i].ns, 90);
			assert_int_equal(sums->rows[i].first, 1);
		}
	assert_int_equal(rows, 1);
	aif_reduced_sums_finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_memory_for_sums_leaves_a_recording_without_them),
		cmocka_unit_test(
			idle_time_of_each_of_several_devices_goes_on_from_one_round_to_the_next),
		cmocka_unit_test(executions_that_come_after_their_step_was_added_are_counted),
		cmocka_unit_test(launches_between_steps_are_not_missed),
		cmocka_unit_test(idle_time_is_of_the_step_in_which_most_of_it_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
