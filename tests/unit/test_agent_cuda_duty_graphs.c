/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of the CUDA adapter where graphs are replayed. */
#include "fixture_cuda_duty.h"

/* Replays of graphs of 1,000 nodes, each waited for: their records are on only as long as the budget allows. */
static void nodes_of_graphs_are_within_the_budget(void **state)
{
	const double seconds = 120;

	(void)state;
	it.nodes = 1000;
	it.node_ns = 500;
	start(20000);
	run_for(seconds, 2850000);
	/* The first second is before anything is known. */
	assert_true((double)it.nodes_ns < (0.02 * seconds + 0.4) * 1e9);
	assert_true((double)it.nodes_ns > 0.003 * seconds * 1e9);
	assert_true(it.left_out > 4 * it.captured);
	stop();
	assert_int_equal(it.told_left_out, it.left_out);
}

/* Records of nodes whose cost is hidden behind the device's work are seen to cost nothing, and stay on. */
static void nodes_that_cost_nothing_are_recorded(void **state)
{
	(void)state;
	it.nodes = 1000;
	it.node_ns = 0;
	start(20000);
	run_for(240, 2850000);
	assert_true(it.captured > 2 * it.left_out);
	stop();
	assert_int_equal(it.told_left_out, it.left_out);
}

/* Records go off with the device idle where graphs are replayed, and at the fifth try in any case. */
static void records_of_graphs_go_off_when_the_device_is_idle(void **state)
{
	struct aif_cuda *cuda = &it.cuda;

	(void)state;
	aif_cuda_records_want(cuda, true);
	aif_cuda_records_want(cuda, false);
	assert_false(it.records || it.idle_asked || it.flushed);
	it.nodes = 3;
	aif_cuda_records_want(cuda, true);
	launch(1000);
	aif_cuda_records_want(cuda, false);
	assert_false(it.records);
	assert_int_equal(it.idle_asked, 1);
	/* Before the gate is shut, and behind it. */
	assert_int_equal(it.flushed, 2);
	it.works = true;
	aif_cuda_records_want(cuda, true);
	aif_cuda_records_want(cuda, false);
	for (int i = 2; i <= 5; i++) {
		assert_true(it.records);
		assert_false(it.is_shut);
		assert_int_equal(it.idle_asked, i);
		it.now += 100000000;
		assert_int_equal(aif_cuda_records_settle(cuda, it.now), i == 5);
	}
	assert_false(it.records);
	assert_int_equal(it.flushed, 2 + 5);
}

/* Records stay on while code is made, beside which they cannot be flushed, but for the end of all. */
static void records_of_graphs_stay_on_while_code_is_made(void **state)
{
	struct aif_cuda *cuda = &it.cuda;

	(void)state;
	it.nodes = 3;
	aif_cuda_records_want(cuda, true);
	launch(1000);
	it.makes_code = true;
	aif_cuda_records_want(cuda, false);
	assert_true(it.records && !it.flushed);
	it.makes_code = false;
	it.now += 100000000;
	assert_true(aif_cuda_records_settle(cuda, it.now));
	assert_false(it.records);
	assert_int_equal(it.flushed, 2);
	aif_cuda_records_want(cuda, true);
	it.makes_code = true;
	assert_true(aif_cuda_records_end(cuda, 0));
	assert_false(it.records);
	assert_int_equal(it.flushed, 2);
}

/* Nodes that seem to have run all the while between two times with records have the end of a later replay. */
static void executions_do_not_span_a_time_without_records(void **state)
{
	struct aif_cuda *cuda = &it.cuda;
	uint64_t off, on;

	(void)state;
	it.nodes = 1;
	for (int i = 0; i < 20; i++) {
		aif_cuda_records_want(cuda, true);
		on = it.now + 777;
		launch(50000000);
		assert_false(aif_cuda_records_span_gap(cuda, on, it.now + 777));
		aif_cuda_records_want(cuda, false);
		off = it.now + 777;
		it.now += 30000000;
		/* Later ends come with later records only. */
		assert_false(aif_cuda_records_span_gap(cuda, off - 1, it.now + 777));
		aif_cuda_records_want(cuda, true);
		assert_true(aif_cuda_records_span_gap(cuda, off - 1, it.now + 777));
		assert_true(aif_cuda_records_span_gap(cuda, off - 1, it.now + 100000));
		assert_false(aif_cuda_records_span_gap(cuda, off + 1, it.now + 100000));
		assert_false(aif_cuda_records_span_gap(cuda, it.now + 777, it.now + 900000000));
		it.now += 5000000;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nodes_of_graphs_are_within_the_budget, setup),
		cmocka_unit_test_setup(nodes_that_cost_nothing_are_recorded, setup),
		cmocka_unit_test_setup(records_of_graphs_go_off_when_the_device_is_idle, setup),
		cmocka_unit_test_setup(records_of_graphs_stay_on_while_code_is_made, setup),
		cmocka_unit_test_setup(executions_do_not_span_a_time_without_records, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
