/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the instruction samples of the CUDA adapter: what is told of them, and when CUPTI refuses them. */
#include "fixture_cuda_sampling.h"

/* X_not_issued is part of X: told apart they add up to the samples, and counters are no reason. */
static void reasons_are_disjoint(void **state)
{
	(void)state;
	created(1);
	assert_int_equal(it.period, 18);
	tick();
	assert_int_equal(it.windows, 1);
	/* In the ring that has the window, before it. */
	assert_int_equal(it.devices, 1);
	assert_int_equal(it.defined_gen[WAIT], 4);
	assert_int_equal(it.defined_gen[WAIT_NOT_ISSUED], 6);
	assert_int_equal(it.defined_gen[SELECTED], 3);
	assert_int_equal(it.defined_gen[COUNT], 0);
	tick();
	/* Once each. */
	assert_int_equal(it.codes, 1);
	assert_int_equal(it.reasons, REASONS - 1);
	assert_int_equal(it.pcs, 2);
	assert_int_equal(it.devices, 1);
	it.thread.generation = 2; /* the next session knows nothing */
	tick();
	assert_int_equal(it.devices, 2);
	assert_int_equal(it.codes, 2);
	it.thread.generation = 1;
}

/* Code that CUPTI does not know and gives no name is no place in the program. */
static void nameless_code_is_others(void **state)
{
	(void)state;
	created(1);
	it.nameless = true;
	tick();
	assert_int_equal(it.windows, 1);
	assert_int_equal(it.pcs, 0);
	assert_int_equal(it.codes, 0);
	assert_int_equal(it.others, 13);
	assert_int_equal(atomic_load(&it.cuda.nameless), 13);
	assert_int_equal(atomic_load(&it.cuda.unsampled), 0);
}

/* Without the preloaded guard CUPTI may end the program over code without a name. */
static void without_preload_nothing_is_sampled(void **state)
{
	(void)state;
	it.no_preload = true;
	it.cuda.sampling.pc_size = 0;
	it.cuda.sampling.session = 0;
	it.refused = 0;
	aif_cuda_sampling_init(&it.cuda);
	created(1);
	assert_int_equal(it.refused, 1);
	assert_int_equal(it.why, AIF_REASON_CUDA_NO_SAMPLING);
	assert_int_equal(it.enabled, 0);
}

/* CUPTI destroys at exit what it made when sampling began. */
static void the_exit_handler_is_newer_than_sampling(void **state)
{
	(void)state;
	assert_int_equal(it.handlers, 0);
	created(1);
	assert_int_equal(it.handlers, 1);
	aif_cuda_sampling_switch(&it.cuda, false);
	aif_cuda_sampling_switch(&it.cuda, true);
	assert_int_equal(it.handlers, 1);
}

/* Samples that CUPTI gave away while no ring could be had are counted, and told by others. */
static void samples_without_a_ring_are_counted(void **state)
{
	(void)state;
	created(1);
	tick();
	it.no_ring = true;
	tick(); /* takes nothing away */
	assert_int_equal(atomic_load(&it.cuda.unsampled), 0);
	aif_cuda_sampling_switch(&it.cuda, false);
	assert_int_equal(it.windows, 1);
	assert_int_equal(atomic_load(&it.cuda.unsampled), 13);
	it.no_ring = false;
}

/* A full ring has no room for a note either: the samples are counted and told later. */
static void samples_of_a_full_ring_are_counted(void **state)
{
	(void)state;
	created(1);
	it.ring_full = true;
	tick();
	it.ring_full = false;
	assert_int_equal(it.windows, 1);
	assert_int_equal(it.pcs, 0);
	assert_int_equal(atomic_load(&it.cuda.unsampled), 13);
	tick();
	assert_int_equal(it.pcs, 1);
	assert_int_equal(atomic_load(&it.cuda.unsampled), 13);
}

/* Sampling beside records is refused, which only trying can tell: not for good, and it is not tried again there. */
static void not_beside_records(void **state)
{
	(void)state;
	aif_agent.budget.asked_ppm = 20000;
	it.enable_error = AIF_CUPTI_NOT_COMPATIBLE;
	created(1);
	assert_int_equal(it.refused, 0);
	assert_true(it.cuda.sampling.apart && aif_cuda_sampling_wanted(&it.cuda));
	it.enable_error = 0;
	tick();
	assert_false(it.sampled[1]);
	it.cuda.duty.mode = AIF_CUDA_SAMPLES;
	tick();
	assert_true(it.sampled[1]);
	/* Without them it is refused for another reason. */
	aif_cuda_sampling_switch(&it.cuda, false);
	it.enable_error = AIF_CUPTI_NOT_COMPATIBLE;
	tick();
	assert_int_equal(it.refused, 1);
	assert_false(aif_cuda_sampling_wanted(&it.cuda));
}

/* Each recording is told that it cannot have all launches and samples of such a CUPTI. */
static void an_old_one_says_what_it_cannot_do(void **state)
{
	(void)state;
	it.cuda.sampling.apart = true;
	for (uint32_t session = 2; session < 4; session++) {
		aif_agent.session.generation = session;
		aif_cuda_sampling_init(&it.cuda);
		aif_cuda_sampling_init(&it.cuda); /* after a pause */
		assert_int_equal(it.refused, session - 1);
		assert_int_equal(it.why, AIF_REASON_CUDA_NO_SAMPLING);
		assert_false(aif_cuda_sampling_wanted(&it.cuda));
	}
	aif_agent.session.generation = 4;
	aif_agent.budget.asked_ppm = 20000;
	aif_cuda_sampling_init(&it.cuda);
	assert_int_equal(it.refused, 2);
	assert_true(aif_cuda_sampling_wanted(&it.cuda));
}

static void a_full_buffer_means_fewer_samples(void **state)
{
	(void)state;
	created(1);
	it.data_error = AIF_CUPTI_OUT_OF_MEMORY;
	tick();
	it.data_error = 0;
	assert_int_equal(it.notes, 1);
	assert_int_equal(it.period, 20);
	assert_true(it.sampled[1]);
	assert_int_equal(it.enabled, 2);
	for (int i = 0; i < 5; i++) {
		it.data_error = AIF_CUPTI_OUT_OF_MEMORY;
		tick();
		it.data_error = 0;
	}
	/* Samples this few cannot be what fills the buffer. */
	assert_int_equal(it.period, AIF_CUDA_PERIOD_MAX);
	assert_false(it.sampled[1]);
	assert_int_equal(it.refused, 1);
}

/* The next recording asks again for what the last one was refused, and is told. */
static void a_new_session_tries_again(void **state)
{
	(void)state;
	it.enable_error = AIF_CUPTI_HARDWARE_BUSY;
	created(1);
	assert_int_equal(it.why, AIF_REASON_CUDA_COUNTERS_HELD);
	tick();
	tick();
	assert_int_equal(it.refused, 1);
	assert_false(aif_cuda_sampling_wanted(&it.cuda));
	it.enable_error = 0;
	aif_cuda_sampling_init(&it.cuda); /* after a pause */
	assert_false(aif_cuda_sampling_wanted(&it.cuda));
	aif_agent.session.generation++;
	aif_cuda_sampling_init(&it.cuda);
	assert_true(aif_cuda_sampling_wanted(&it.cuda));
	tick();
	assert_true(it.sampled[1]);
}

/* Another process has the unit: three errors, then nothing more is asked of CUPTI, not even to end it. */
static void errors_in_a_row(void **state)
{
	(void)state;
	created(1);
	it.data_error = AIF_CUPTI_UNKNOWN;
	tick();
	tick();
	assert_int_equal(it.refused, 0);
	tick();
	assert_int_equal(it.refused, 1);
	assert_int_equal(it.why, AIF_REASON_CUDA_COUNTERS_HELD);
	assert_true(it.cuda.sampling.is_stranded);
	assert_false(aif_cuda_is_sampling(&it.cuda) || aif_cuda_sampling_wanted(&it.cuda));
	it.data_error = 0;
	tick();
	assert_int_equal(it.windows, 0);
	aif_cuda_sampling_switch(&it.cuda, false);
	aif_agent.session.generation++;
	aif_cuda_sampling_init(&it.cuda);
	tick();
	assert_true(it.sampled[1]);
	assert_int_equal(it.disabled, 0);
	it.disabled = it.enabled;
}

static void more_that_never_comes(void **state)
{
	(void)state;
	created(1);
	it.endless = true;
	tick();
	it.endless = false;
	assert_int_equal(it.windows, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(samples_without_a_ring_are_counted),
		TEST(samples_of_a_full_ring_are_counted),
		TEST(nameless_code_is_others),
		TEST(without_preload_nothing_is_sampled),
		TEST(the_exit_handler_is_newer_than_sampling),
		TEST(reasons_are_disjoint),
		TEST(not_beside_records),
		TEST(an_old_one_says_what_it_cannot_do),
		TEST(a_full_buffer_means_fewer_samples),
		TEST(a_new_session_tries_again),
		TEST(errors_in_a_row),
		TEST(more_that_never_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
