/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks and modes of the CUDA adapter. */
#include "fixture_cuda_duty.h"

/* Dear: records and samples take turns, and each launch is told once, as what it was. */
static void blocks_tell_what_was_captured_and_what_was_not(void **state)
{
	(void)state;
	start(20000);
	assert_true(it.records && it.sampled);
	run_for(150, 13000);
	stop();
	assert_true(it.captured > 10000 && it.left_out > it.captured);
	assert_int_equal(it.told_left_out, it.left_out);
	/* While everything was on, nothing needed to be told. */
	assert_true(it.told_captured <= it.captured);
	assert_true(it.told_captured > it.captured * 3 / 4);
	assert_int_equal(it.refused, 0);
	/* Sampled at first, and then 4 s of each minute. */
	assert_true(it.sampled_ns > 8 * AIF_NS_PER_S && it.sampled_ns < 20 * AIF_NS_PER_S);
	assert_true(it.switched >= 6 && it.switched <= 10);
}

/* Threads that decided before a switch and count after it: each launch is still told, as what it was. */
static void late_threads_are_told(void **state)
{
	(void)state;
	start(20000);
	for (int i = 0; i < 300 || !it.cuda.duty.on; i++) {
		run_for(0.05, 13000);
		it.left_out += 3;
		atomic_fetch_add(&it.cuda.duty.counts[0].left_out, 3);
	}
	stop();
	assert_int_equal(it.told_left_out, it.left_out);
}

/* Cheap: both stay on, all is captured, nothing is switched. */
static void few_launches_have_everything(void **state)
{
	(void)state;
	start(20000);
	run_for(60, 2000000);
	assert_true(it.records && it.sampled);
	assert_int_equal(it.left_out, 0);
	assert_int_equal(it.switched, 1);
	/* The cost of what is on throughout is spent, too, caches being cold: (900 + 1700 + 1300 + 400) ns each 2 ms. */
	assert_true(aif_agent.budget.spent > 0.00205 && aif_agent.budget.spent < 0.00220);
	stop();
}

/* Launches made in a pause are not told; the measured costs outlive the pause. */
static void what_was_launched_in_a_pause_is_not_told(void **state)
{
	uint64_t left_out;

	(void)state;
	start(20000);
	run_for(20, 13000);
	stop();
	left_out = it.left_out;
	assert_int_equal(it.told_left_out, left_out);
	for (int i = 0; i < 100000; i++)
		launch(13000);
	it.left_out = left_out;
	it.cuda.on = true;
	aif_cuda_duty_begin(&it.cuda, it.now);
	/* Launches were dear before the pause: records are on alone again. */
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_RECORDS);
	run_for(20, 13000);
	stop();
	assert_int_equal(it.told_left_out, it.left_out);
}

/* Another process has the counters: no second of stacks is given up for them. */
static void refused_sampling_takes_no_time(void **state)
{
	(void)state;
	start(20000);
	run_for(5, 13000);
	it.refuse_sampling = true;
	it.sampled = false;
	run_for(70, 13000);
	it.switched = 0;
	it.sampled_ns = 0;
	run_for(130, 13000);
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_RECORDS);
	assert_int_equal(it.switched, 0);
	stop();
	assert_int_equal(it.told_left_out, it.left_out);
}

static void refused_records_are_told(void **state)
{
	(void)state;
	it.refuse_sampling = it.refuse_records = true;
	start(0);
	assert_int_equal(it.refused, 1);
	it.refuse_records = false;
	stop();
}

/* Blocks that cannot be told: what was left out in them is lost, and no more than that. */
static void blocks_without_a_ring_are_counted(void **state)
{
	(void)state;
	start(20000);
	it.no_ring = true;
	run_for(20, 13000);
	it.no_ring = false;
	run_for(20, 13000);
	it.no_ring = true;
	stop();
	assert_true(it.told_left_out > 0 && it.told_left_out < it.left_out);
	assert_int_equal(it.told_left_out + atomic_load(&aif_agent.session.no_slot), it.left_out);
}

/* Callbacks for each launch and each other call; records and samples for those that were made while they were on. */
static void what_launches_cost_anyway_is_told(void **state)
{
	const struct aif_session *s = &aif_agent.session;
	uint64_t launches, presence;

	(void)state;
	start(20000);
	run_for(150, 13000);
	it.asides += 1000000;
	stop();
	launches = it.captured + it.left_out;
	presence = s->spent_ns - s->records_ns - s->samples_ns - 1000000 * 500;
	/* Caches are neither hot nor cold: 450 to 900 ns, and 500 to 1700 since records were on. */
	assert_true(presence > launches * 1750 && presence < launches * 1900);
	/* Records of launches that were captured, when they were not on throughout. */
	assert_true(s->block_records_ns > 0 && s->block_records_ns % 1300 == 0 &&
		    s->block_records_ns < it.captured * 1300);
	/* At first; 4 s of each minute, of which the first 0.2 s are what switching takes. */
	assert_true(s->records_ns > 20000 * 1300 && s->records_ns < 80000 * 1300);
	assert_true(s->samples_ns > 500000 * 400 && s->samples_ns < 900000 * 400 + 5 * 200000000);
	setup(NULL);
	start(0); /* everything, throughout */
	run_for(3, 13000);
	stop();
	/* A launch each 15 us costs 750 ns for being seen and 1300 since records were on, beside a record and a sample. */
	presence = s->spent_ns - it.captured * (1300 + 400);
	assert_true(presence > it.captured * 1950 && presence < it.captured * 2150);
	assert_int_equal(s->block_records_ns, 0);
	assert_int_equal(s->records_ns, it.captured * 1300);
	assert_int_equal(s->samples_ns, it.captured * 400);
}

/* A program that works for 0.3 s and rests for 1.7 s: what it pays is of the 0.3 s. */
static void bursts_are_blocks_as_other_work_is(void **state)
{
	uint64_t captured = 0, left_out = 0, records_ns = 0;

	(void)state;
	start(20000);
	it.refuse_sampling = true;
	for (int i = 0; i < 100; i++) {
		run_for(0.3, 13000);
		rest_for(1.7);
		if (i != 9)
			continue;
		captured = it.captured;
		left_out = it.left_out;
		records_ns = it.records_ns;
	}
	captured = it.captured - captured;
	left_out = it.left_out - left_out;
	/* Callbacks cost more than was asked, so that a quarter of it is left: c = 0.15, 0.005 * 1.15 / 0.15 = 0.04. */
	if (captured > (captured + left_out) / 12 || captured < (captured + left_out) / 100)
		fail_msg("%.3f captured", (double)captured / (double)(captured + left_out));
	if (it.records_ns - records_ns > (uint64_t)(90 * 0.3e9 / 10))
		fail_msg("records on for %.3f s of work",
			 (double)(it.records_ns - records_ns) / 1e9);
	assert_in_range(aif_budget_worked(&aif_agent.budget, it.now), 30000000000, 34500000000);
	stop();
	assert_int_equal(it.told_left_out, it.left_out);
}

/* A thread that waits for its device works; so does one inside a copy. */
static void waiting_is_no_rest(void **state)
{
	(void)state;
	start(20000);
	for (int i = 0; i < 50; i++) {
		run_for(0.1, 100000);
		atomic_fetch_add(&it.cuda.duty.waits, 1);
		rest_for(0.2);
		atomic_fetch_add(&it.cuda.duty.waited, 1);
		run_for(0.1, 100000);
		it.in_call = true;
		rest_for(0.2);
		it.in_call = false;
	}
	assert_in_range(aif_budget_worked(&aif_agent.budget, it.now), 29900000000, 30200000000);
	stop();
}

/* A CUPTI that does not sample beside records: in turn. */
static void records_and_samples_in_turn(void **state)
{
	(void)state;
	it.cuda.sampling.apart = true;
	start(20000);
	assert_true(it.records && !it.sampled);
	run_for(150, 2000000);
	stop();
	assert_true(it.sampled_ns > 7 * AIF_NS_PER_S && it.sampled_ns < 13 * AIF_NS_PER_S);
	assert_int_equal(it.refused, 0);
	assert_int_equal(it.told_left_out, it.left_out);
	/* CUPTI turns out not to sample beside records only when it is tried. */
	setup(NULL);
	it.refuse_beside = true;
	start(20000);
	assert_true(it.records && !it.sampled);
	it.cuda.sampling.apart = true;
	run_for(20, 2000000);
	/* The first time, which is shorter. */
	assert_true(it.sampled_ns > AIF_NS_PER_S && it.sampled_ns < 9 * AIF_NS_PER_S);
	stop();
	assert_int_equal(it.refused, 0);
}

/* Returns the time at which sampling comes on again after its first time, s of the clock. */
static double samples_at(double begins, double until)
{
	setup(NULL);
	it.now = (uint64_t)(begins * 1e9);
	start(20000);
	run_for(10, 13000); /* the first, soon */
	while (it.sampled)
		run_for(0.001, 13000);
	while (!it.sampled && (double)it.now / 1e9 < until)
		run_for(0.001, 13000);
	return (double)it.now / 1e9;
}

static double ends_at(void)
{
	while (it.sampled)
		run_for(0.001, 13000);
	return (double)it.now / 1e9;
}

/* Ranks wait for each other: they are slow at the same time. Begin: within a block; end: at once. */
static void processes_sample_together(void **state)
{
	double first, second, end;

	(void)state;
	first = samples_at(1000.2, 1200);
	end = ends_at();
	stop();
	second = samples_at(1002.9, 1200);
	assert_true(first >= 1080 && first < 1081 && second >= 1080 && second < 1081);
	assert_true(end > 1084 && end < 1084.2 && ends_at() - end < 0.1 && ends_at() - end > -0.1);
	stop();
}

/* Without a limit nothing is ever left out, or told. */
static void without_a_limit_no_launch_is_left_out(void **state)
{
	(void)state;
	start(0);
	run_for(30, 13000);
	stop();
	assert_int_equal(it.left_out, 0);
	assert_int_equal(it.told_captured + it.told_left_out, 0);
}

/* A mode that cannot be left goes on as it is: all of it is recorded, and switching is tried again unless it failed a
 * moment ago. */
static void what_cannot_be_switched_stays(void **state)
{
	(void)state;
	start(20000);
	it.busy = true;
	run_for(5, 13000);
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_TOGETHER);
	assert_true(it.records && it.sampled && it.tried > 0);
	it.waits = true;
	it.tried = 0;
	run_for(5, 13000);
	assert_int_equal(it.tried, 0);
	it.busy = it.waits = false;
	run_for(2, 13000);
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_RECORDS);
	assert_false(it.sampled);
	/* Samples that cannot be ended: until they can be nothing is captured. */
	while (!it.sampled)
		run_for(0.1, 13000);
	it.busy = true;
	run_for(10, 13000);
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_SAMPLES);
	it.busy = false;
	run_for(10, 13000);
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_RECORDS);
	/* Samples that cannot be ended stay at the end, too. */
	while (!it.sampled)
		run_for(0.1, 13000);
	it.busy = true;
	it.cuda.on = false;
	aif_cuda_duty_end(&it.cuda, it.now);
	assert_int_equal(it.told_left_out, it.left_out);
	it.cuda.on = true;
	aif_cuda_duty_begin(&it.cuda, it.now);
	assert_int_equal(it.cuda.duty.mode, AIF_CUDA_SAMPLES);
	it.busy = false;
	run_for(20, 13000);
	assert_int_equal(it.refused, 0);
	stop();
	assert_int_equal(it.told_left_out, it.left_out);
}

/* Somebody switches for ever: an exit goes on. */
static void an_exit_waits_for_nobody(void **state)
{
	uint64_t before;

	(void)state;
	start(20000);
	pthread_mutex_lock(&it.cuda.switching);
	before = it.now;
	aif_cuda_duty_at_exit(&it.cuda);
	assert_true(it.now - before < AIF_NS_PER_S);
	pthread_mutex_unlock(&it.cuda.switching);
	aif_cuda_duty_at_exit(&it.cuda);
	/* libcupti may have ended: records are left alone. */
	assert_true(it.records);
	assert_false(it.cuda.on || it.sampled);
}

/* Records go off when the call is over, and nothing is captured from the block's end on. */
static void records_stay_while_a_call_lasts(void **state)
{
	uint64_t end;

	(void)state;
	it.refuse_sampling = true;
	start(20000);
	while (atomic_load(&it.cuda.duty.capture))
		run_for(0.01, 13000);
	assert_false(it.records);
	while (!atomic_load(&it.cuda.duty.capture))
		run_for(0.001, 13000);
	it.in_call = true;
	while (atomic_load(&it.cuda.duty.capture))
		run_for(0.001, 13000);
	end = it.now;
	run_for(0.02, 13000);
	assert_true(it.records);
	it.in_call = false;
	while (it.records && it.now < end + AIF_NS_PER_S)
		run_for(0.001, 13000);
	assert_false(it.records);
	assert_true(it.now < end + AIF_NS_PER_S / 5);
	stop();
}

/* CUPTI that may not be asked to switch has records and samples on throughout, whatever that costs. */
static void throughout_nothing_is_switched(void **state)
{
	unsigned off = 0;

	(void)state;
	it.cuda.use = AIF_CUPTI_USE_THROUGHOUT;
	start(20000);
	for (int i = 0; i < 2000; i++) {
		run_for(0.01, 13000);
		assert_true(it.records && it.sampled);
		off += !atomic_load(&it.cuda.duty.capture);
	}
	assert_true(off > 1000); /* the stacks are */
	assert_int_equal(it.switched, 1);
	it.cuda.on = false;
	aif_cuda_duty_end(&it.cuda, it.now);
	/* A pause ends samples; records would have to be first again. */
	assert_true(it.records && !it.sampled);
	aif_cuda_duty_begin(&it.cuda, it.now);
	assert_true(it.records && it.sampled);
}

static void launches_alone_need_no_records(void **state)
{
	(void)state;
	unsigned on = 0, off = 0;

	it.cuda.use = AIF_CUPTI_USE_LAUNCHES;
	it.refuse_sampling = true;
	start(20000);
	for (int i = 0; i < 1000; i++) {
		uint64_t from = it.now;

		while (it.now < from + 10000000) {
			bool captures = atomic_load(&it.cuda.duty.capture);

			atomic_fetch_add(captures ? &it.cuda.duty.counts[0].captured
						  : &it.cuda.duty.counts[0].left_out,
					 1);
			it.now += captures ? 15000 : 13000;
			(void)aif_cuda_duty_poll(&it.cuda, it.now);
		}
		assert_false(it.records || it.sampled);
		*(atomic_load(&it.cuda.duty.capture) ? &on : &off) += 1;
	}
	assert_true(on && off); /* stacks are taken in blocks all the same */
}

/* Calls that wait and allocations ask for the budget's block at any time: only the helper ends one, and switches what goes
 * with it. Captured launches cost 2 us each 13 here, of which records are a part. */
static void calls_end_no_block(void **state)
{
	uint64_t mismatches = 0, end, next = 0;
	double share;

	(void)state;
	it.refuse_sampling = true; /* stacks and records by blocks */
	start(20000);
	for (end = it.now + 60 * AIF_NS_PER_S; it.now < end;) {
		launch(13000);
		mismatches += aif_budget_is_on(aif_budget_block(&aif_agent.budget, it.now)) !=
			      it.cuda.duty.on;
		if (it.now > next + 70000)
			next = AIF_MIN(aif_cuda_duty_poll(&it.cuda, it.now),
				       it.now + AIF_NS_PER_S / 4);
	}
	assert_int_equal(mismatches, 0);
	share = (double)it.captured / (double)(it.captured + it.left_out);
	if (share > 0.25) /* c = 0.15: 0.02 / 1.02 * 1.15 / 0.15 = 0.15 */
		fail_msg("captured %.2f", share);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(blocks_tell_what_was_captured_and_what_was_not, setup),
		cmocka_unit_test_setup(late_threads_are_told, setup),
		cmocka_unit_test_setup(few_launches_have_everything, setup),
		cmocka_unit_test_setup(what_was_launched_in_a_pause_is_not_told, setup),
		cmocka_unit_test_setup(refused_sampling_takes_no_time, setup),
		cmocka_unit_test_setup(refused_records_are_told, setup),
		cmocka_unit_test_setup(records_stay_while_a_call_lasts, setup),
		cmocka_unit_test_setup(throughout_nothing_is_switched, setup),
		cmocka_unit_test_setup(launches_alone_need_no_records, setup),
		cmocka_unit_test_setup(blocks_without_a_ring_are_counted, setup),
		cmocka_unit_test_setup(what_launches_cost_anyway_is_told, setup),
		cmocka_unit_test_setup(bursts_are_blocks_as_other_work_is, setup),
		cmocka_unit_test_setup(waiting_is_no_rest, setup),
		cmocka_unit_test_setup(records_and_samples_in_turn, setup),
		cmocka_unit_test_setup(processes_sample_together, setup),
		cmocka_unit_test_setup(without_a_limit_no_launch_is_left_out, setup),
		cmocka_unit_test_setup(what_cannot_be_switched_stays, setup),
		cmocka_unit_test_setup(an_exit_waits_for_nobody, setup),
		cmocka_unit_test_setup(calls_end_no_block, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
