/* SPDX-License-Identifier: Apache-2.0 */
/* Executions that name their graph, but no call: which replay they are given to. */
#include "agent/cuda/cuda.h"

#include "agent/cuda/replays.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct aif_agent aif_agent;

static struct aif_cuda cuda;
static struct {
	uint64_t launch, start;
	struct aif_cuda_kernel *kernel;
} found[20000];
static size_t found_len;

static void find(struct aif_cuda *c, struct aif_thread *t, const struct aif_cuda_record *r,
		 struct aif_cuda_kernel *k, uint64_t launch)
{
	assert_ptr_equal(c, &cuda);
	assert_null(t);
	assert_true(found_len < AIF_ARRAY_LEN(found));
	found[found_len].launch = launch;
	found[found_len].start = r->start;
	found[found_len++].kernel = k;
}

static int begin(void **state)
{
	(void)state;
	cuda.replays = aif_cuda_replays_new();
	assert_non_null(cuda.replays);
	found_len = 0;
	return 0;
}

static bool hold(uint32_t graph, uint32_t node, uint64_t start)
{
	const struct aif_cuda_record r = {
		.graph = graph, .node = node, .start = start, .end = start + 1};

	return aif_cuda_replay_hold(cuda.replays, &r, NULL);
}

static void ran(uint32_t graph, uint32_t correlation, uint64_t start)
{
	const struct aif_cuda_record r = {
		.graph = graph, .correlation = correlation, .start = start, .end = start + 1};

	aif_cuda_replay_ran(cuda.replays, &r);
}

static uint64_t settle(bool last)
{
	return aif_cuda_replays_settle(&cuda, NULL, last, find);
}

static uint64_t launch_of(uint64_t start)
{
	uint64_t launch = 0;

	for (size_t i = 0; i < found_len; i++)
		if (found[i].start == start) {
			assert_int_equal(launch, 0);
			launch = found[i].launch;
		}
	return launch;
}

/* Twenty replays are called before the first runs; each runs both nodes of the body, and nothing else. */
static void queued_replays_are_matched_in_their_order(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 20; i++)
		aif_cuda_replay_called(cuda.replays, 7, (uint32_t)i, 100 + i, 10 + i);
	/* A replay of another graph. */
	aif_cuda_replay_called(cuda.replays, 8, 50, 500, 40);
	for (uint64_t i = 0; i < 20; i++) {
		assert_true(hold(7, 2, 1000 + 10 * i));
		assert_true(hold(7, 1, 1001 + 10 * i));
	}
	assert_true(hold(8, 1, 5000));
	assert_int_equal(settle(true), 0);
	assert_int_equal(found_len, 41);
	for (uint64_t i = 0; i < 20; i++) {
		assert_int_equal(launch_of(1000 + 10 * i), 100 + i);
		assert_int_equal(launch_of(1001 + 10 * i), 100 + i);
	}
	assert_int_equal(launch_of(5000), 500);
}

/* Each replay is waited for, and few run the body: what was called last is what ran. */
static void waited_for_replays_are_matched_by_their_call(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 50; i++)
		aif_cuda_replay_called(cuda.replays, 7, (uint32_t)i, 100 + i, 1000 * (i + 1));
	for (uint64_t i = 0; i < 50; i += 7)
		assert_true(hold(7, 3, 1000 * (i + 1) + 5));
	assert_int_equal(settle(true), 0);
	for (uint64_t i = 0; i < 50; i += 7)
		assert_int_equal(launch_of(1000 * (i + 1) + 5), 100 + i);
}

/* Nodes beside the body name their call, and when the replay began. */
static void replays_that_began_are_known_by_their_other_nodes(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 6; i++)
		aif_cuda_replay_called(cuda.replays, 7, 10 + (uint32_t)i, 100 + i, 1 + i);
	for (uint64_t i = 0; i < 6; i++)
		if (i % 2)
			assert_true(hold(7, 1, 1000 * i + 50));
	/* Later records come first. */
	for (uint64_t i = 6; i-- > 0;) {
		ran(7, 10 + (uint32_t)i, 1000 * i + 90);
		ran(7, 10 + (uint32_t)i, 1000 * i + 10);
	}
	assert_int_equal(settle(true), 0);
	assert_int_equal(found_len, 3);
	for (uint64_t i = 1; i < 6; i += 2)
		assert_int_equal(launch_of(1000 * i + 50), 100 + i);
}

/* Held until buffers have been read once more. */
static void others_of_the_replay_may_come_later(void **state)
{
	(void)state;
	assert_int_equal(settle(false), 0);
	aif_cuda_replay_called(cuda.replays, 7, 1, 100, 1);
	assert_true(hold(7, 1, 1000));
	assert_int_equal(settle(false), 0);
	assert_int_equal(found_len, 0);
	assert_true(hold(7, 1, 2000));
	aif_cuda_replay_called(cuda.replays, 7, 2, 101, 1500);
	assert_int_equal(settle(false), 0);
	assert_int_equal(found_len, 1);
	assert_int_equal(launch_of(1000), 100);
	assert_int_equal(settle(false), 0);
	assert_int_equal(found_len, 2);
	assert_int_equal(launch_of(2000), 101);
	assert_int_equal(settle(true), 0);
	assert_int_equal(found_len, 2);
}

/* Before any call, of another graph, or of a replay that was overwritten. */
static void bodies_without_a_replay_are_counted(void **state)
{
	(void)state;
	assert_true(hold(7, 1, 5));
	aif_cuda_replay_called(cuda.replays, 7, 1, 100, 10);
	assert_true(hold(8, 1, 50));
	assert_int_equal(settle(true), 2);
	assert_int_equal(found_len, 0);
	for (uint32_t i = 0; i < 5000; i++)
		aif_cuda_replay_called(cuda.replays, 9, 2 + i, 200 + i, 1000 + i);
	assert_true(hold(7, 1, 900));
	assert_true(hold(9, 1, 1000));
	assert_true(hold(9, 1, 6000));
	assert_int_equal(settle(true), 2);
	assert_int_equal(found_len, 1);
	assert_int_equal(launch_of(6000), 5199);
}

static void there_is_room_for_so_many(void **state)
{
	size_t n = 0;

	(void)state;
	aif_cuda_replay_called(cuda.replays, 7, 1, 100, 0);
	while (n < 100000 && hold(7, (uint32_t)(n * 7919 % 16384), n * 7919 % 16384))
		n++;
	assert_int_equal(n, 16384);
	assert_int_equal(settle(true), 0);
	assert_int_equal(found_len, n);
	for (size_t i = 1; i < found_len; i++)
		assert_true(found[i].start < found[i - 1].start);
	assert_true(hold(7, 1, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(queued_replays_are_matched_in_their_order, begin),
		cmocka_unit_test_setup(waited_for_replays_are_matched_by_their_call, begin),
		cmocka_unit_test_setup(replays_that_began_are_known_by_their_other_nodes, begin),
		cmocka_unit_test_setup(others_of_the_replay_may_come_later, begin),
		cmocka_unit_test_setup(bodies_without_a_replay_are_counted, begin),
		cmocka_unit_test_setup(there_is_room_for_so_many, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
