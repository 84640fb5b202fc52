/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the loop that is found in launches: programs made by hand, whose steps are known. */
#include "fixture_loop.h"
#include "rounds.h"

static void assert_none(struct program *g)
{
	if (g->l.levels || g->l.len)
		fail_msg("%zu steps", g->l.len);
	assert_int_equal(g->l.thread, AIF_NONE);
}

static uint32_t function_of(const struct program *g, size_t level)
{
	return (uint32_t)(g->f.p.frames[g->l.level[level].frame].address >> 32);
}

static void training_is_found(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	initialise(&g);
	train(&g, 5, false);
	find(&g);
	assert_steps(&g);
	assert_int_equal(g.l.thread, 0);
	assert_int_equal(function_of(&g, g.l.chosen), TRAIN);
	/* Epochs, steps, layers. */
	assert_int_equal(g.l.levels, 3);
	assert_int_equal(g.l.chosen, 1);
	assert_int_equal(g.l.level[0].turns, 4);
	assert_int_equal(function_of(&g, 0), MAIN);
	assert_int_equal(function_of(&g, 2), LAYER);
	assert_true(g.l.level[2].turns > 11 * 1000);
	assert_true(g.l.median_ns <= g.l.p95_ns && !g.l.is_sparse);
	end(&g);
}

static void backward_has_a_thread(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	initialise(&g);
	train(&g, 1, true);
	find(&g);
	assert_steps(&g);
	end(&g);
}

/* Another thread tries kernels out before the first step, for longer than all steps take, as XLA does: fewer turns, and none
 * of the program's. */
static void tuning_in_a_thread_is_no_loop_of_the_program(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	initialise(&g);
	g.thread = 1;
	enter(&g, 900);
	for (uint32_t i = 0; i < 50; i++) {
		call(&g, 901, 10, 600 * US);
		call(&g, 902, 11, 400 * US);
		g.now += 40000 * US;
	}
	leave(&g);
	g.thread = 0;
	train(&g, 1, false);
	find(&g);
	assert_steps(&g);
	assert_int_equal(g.l.thread, 0);
	end(&g);
}

/* A profiler's range around each step, with its number in the name. */
static void numbers_of_ranges_make_no_difference(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	for (uint32_t i = 0; i < 50; i++) {
		char name[32];

		snprintf(name, sizeof(name), "ProfilerStep#%u", i);
		FIXTURE_ADD(&g.f.made, frames, .kind = AIF_FRAME_RANGE, .module = AIF_NONE,
			    .address = ops_string(&g.f, name));
		assert_int_equal(aif_map_put(&g.frames, 10000 + i, g.f.made.frames_len - 1), 0);
		step(&g);
		enter(&g, 10000 + i);
		forward(&g, TRAIN * 100 + 1);
		call(&g, TRAIN * 100 + 2, 4, 2 * US);
		leave(&g);
	}
	find(&g);
	assert_steps(&g);
	assert_int_equal(function_of(&g, g.l.chosen), TRAIN);
	end(&g);
}

/* Requests of 10 to 60 tokens each: prefill, decode, detokenise. */
static void serve(struct program *g, uint32_t requests)
{
	enter(g, MAIN * 100 + 3);
	for (uint32_t i = 0; i < requests; i++) {
		step(g);
		forward(g, SERVE * 100 + 1);
		for (uint32_t n = 10 + random_below(g, 50); n > 0; n--)
			forward(g, SERVE * 100 + 2);
		call(g, SERVE * 100 + 3, 7, 1 * US);
	}
	leave(g);
}

static void decodes_vary_in_length(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	initialise(&g);
	serve(&g, 100);
	find(&g);
	assert_steps(&g);
	assert_int_equal(function_of(&g, 0), SERVE);
	assert_int_equal(function_of(&g, 1), MODEL);
	assert_true(g.l.level[1].turns > 20 * 100);
	end(&g);
}

static void prefill_and_decode_are_two_tokens(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	enter(&g, MAIN * 100 + 3);
	for (uint32_t i = 0; i < 100; i++) {
		step(&g);
		forward(&g, SERVE * 100 + 1);
		for (uint32_t n = 10 + random_below(&g, 50); n > 0; n--)
			forward(&g, SERVE * 100 + 2);
	}
	leave(&g);
	find(&g);
	assert_steps(&g);
	end(&g);
}

/* JAX: one call launches all kernels of a step, of which one runs for each layer. */
static void kernels_alternate_below_one_call(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	initialise(&g);
	enter(&g, MAIN * 100 + 2);
	enter(&g, TRAIN * 100 + 1);
	for (uint32_t i = 0; i < 300; i++) {
		step(&g);
		for (uint32_t k = 0; k < 20; k++) {
			launch(&g, k, 10 * US);
			if (k % 5 == 0)
				launch(&g, 30, 10 * US);
		}
		g.now += i * US;
	}
	find(&g);
	assert_steps(&g);
	assert_int_equal(g.l.level[0].frame, AIF_NONE);
	end(&g);
}

static void each_launch_is_a_turn(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	call(&g, MAIN * 100 + 1, 20, 5 * US);
	for (uint32_t i = 0; i < 200; i++) {
		step(&g);
		call(&g, MAIN * 100 + 2, 0, 5 * US);
	}
	call(&g, MAIN * 100 + 3, 21, 5 * US);
	find(&g);
	assert_steps(&g);
	assert_int_equal(g.l.levels, 1);
	end(&g);
}

static void without_times_launches_count(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	for (uint32_t i = 0; i < 50; i++) {
		step(&g);
		for (uint32_t k = 0; k < 4; k++)
			call(&g, MAIN * 100 + k, k, 0);
	}
	find(&g);
	assert_steps(&g);
	end(&g);
}

/* Each step compiles a kernel of its own, by number or hash, and launches it and two others. */
static void compiles_in_each_step(const char *format, uint64_t modulus, bool is_loop)
{
	struct program g;

	begin(&g);
	enter(&g, MAIN * 100 + 1);
	for (uint32_t i = 0; i < 50; i++) {
		char name[64];

		snprintf(name, sizeof(name), format, aif_mix64(i) % modulus);
		step(&g);
		g.now += random_below(&g, 60) * 1000 * US;
		call(&g, TRAIN * 100 + 1, ops_kernel(&g.f, name), 1 * US);
		call(&g, TRAIN * 100 + 2, 1, 200 * US);
	}
	leave(&g);
	find(&g);
	if (is_loop)
		assert_steps(&g);
	else
		assert_none(&g);
	end(&g);
}

static void compiled_kernels_recur_by_their_names(void **state)
{
	(void)state;
	compiles_in_each_step("k%012" PRIu64 "_vectorized4_kernel", UINT64_C(1000000000000), true);
	compiles_in_each_step("triton_fused_%016" PRIx64, UINT64_MAX, true);
	/* Sizes are no such numbers. */
	compiles_in_each_step("gemm_%" PRIu64 "x64", 10000, false);
}

/* Half of the places are called once in a token, half once in each of its layers, all in one function. */
static void layers_within_tokens_are_inner_turns(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	for (uint32_t i = 0; i < 300; i++) {
		enter(&g, MAIN * 100 + 1);
		step(&g);
		call(&g, MODEL * 100 + 1, 0, 1 * US);
		for (uint32_t k = 0; k < 64; k++) {
			call(&g, MODEL * 100 + 2, 1, 20 * US);
			call(&g, MODEL * 100 + 3, 2, 10 * US);
		}
		call(&g, MODEL * 100 + 4, 3, 1 * US);
		leave(&g);
		g.now += random_below(&g, 200) * US;
	}
	find(&g);
	assert_steps(&g);
	assert_true(g.l.levels >= 2);
	assert_int_equal(g.l.chosen, 0);
	assert_int_equal(function_of(&g, 1), MODEL);
	assert_true(g.l.level[1].turns > 60 * g.l.level[0].turns);
	end(&g);
}

/* Requests come when they come: each is one launch, after 1 to 32 ms. */
static void requests_to_an_idle_server_are_no_turns(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	enter(&g, SERVE * 100 + 1);
	for (uint32_t i = 0; i < 500; i++) {
		launch(&g, 3, 80 * US);
		g.now += (UINT64_C(1) << random_below(&g, 6)) * 1000 * US;
	}
	leave(&g);
	find(&g);
	assert_none(&g);
	end(&g);
}

static void randomly(uint32_t sites, uint32_t kernels, uint32_t launches, uint64_t seed)
{
	struct program g;

	begin(&g);
	g.random = seed;
	for (uint32_t i = 0; i < launches; i++) {
		uint32_t site = random_below(&g, sites);

		enter(&g, MAIN * 100 + site);
		for (uint32_t k = 0; k < kernels; k++)
			call(&g, 300 + k, k, 5 * US);
		leave(&g);
		g.now += random_below(&g, 1000) * US;
	}
	find(&g);
	assert_none(&g);
	end(&g);
}

static void random_launches_are_no_loop(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= rounds(20); seed++)
		for (uint32_t launches = 100; launches <= 10000; launches *= 10)
			for (uint32_t kernels = 1; kernels <= 3; kernels += 2) {
				randomly(2, kernels, launches, seed);
				randomly(5, kernels, launches, seed);
			}
}

/* Half of the time is off: blocks of 20 ms, of steps of 0.4 ms. */
static void gaps_interrupt_turns_of_the_loop(void **state)
{
	enum { BLOCK = 20000 * US };
	struct aif_err err = {0};
	struct program g;
	size_t n = 0, whole = 0;

	(void)state;
	begin(&g);
	train(&g, 2, false);
	for (uint64_t at = 0; at < g.now; at += BLOCK) {
		struct aif_window_row row = {.start = OPS_START + at,
					     .end = OPS_START + at + BLOCK,
					     .device = AIF_NONE,
					     .held = at / BLOCK % 2 == 0,
					     .launches = 2000,
					     .p_ppm = 500000};

		assert_ok(aif_writer_windows(g.f.w, &row, 1, &err), &err);
	}
	for (size_t i = 0; i < g.launches_len; i++)
		if ((g.launches[i].time - OPS_START) / BLOCK % 2 == 0) {
			g.execs[n] = g.execs[i];
			g.launches[n++] = g.launches[i];
		}
	g.launches_len = g.execs_len = n;
	find(&g);
	assert_true(g.l.is_sparse);
	for (size_t i = 1; i < g.steps; i++)
		whole += g.starts[i - 1] / BLOCK == g.starts[i] / BLOCK &&
			 g.starts[i] / BLOCK % 2 == 0;
	/* A turn that begins with its block is not known to begin there. */
	assert_true(g.l.len <= whole && g.l.len + 5 >= whole);
	assert_true(fabs((double)g.l.median_ns / 425e3 - 1) < 0.05);
	for (size_t i = 0; i < g.l.len; i++) {
		uint64_t start = (uint64_t)g.l.steps[i].start, stop = (uint64_t)g.l.steps[i].end;

		assert_int_equal(start / BLOCK, (stop - 1) / BLOCK);
		assert_int_equal(start / BLOCK % 2, 0);
		assert_true(stop - start >= 400 * US); /* none begins in the middle */
	}
	end(&g);
}

static void little_is_no_loop(void **state)
{
	static const uint32_t launches[] = {0, 1, 2, 3, 9};

	(void)state;
	for (size_t n = 0; n < AIF_ARRAY_LEN(launches); n++) {
		struct program g;

		begin(&g);
		for (uint32_t i = 0; i < launches[n]; i++)
			launch(&g, 0, 5 * US); /* without a stack */
		find(&g);
		assert_none(&g);
		end(&g);
	}
}

/* A benchmark makes as many turns to warm up as it measures, which have a little more device time. */
static void a_warm_up_is_no_loop(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	for (uint32_t round = 1; round <= 2; round++) {
		enter(&g, MAIN * 100 + round);
		enter(&g, SERVE * 100 + 1);
		for (uint32_t i = 0; i < 200; i++) {
			if (round == 2)
				step(&g);
			call(&g, MODEL * 100 + 1, 0, round == 1 ? 51 * US : 50 * US);
			call(&g, MODEL * 100 + 2, 1, 50 * US);
		}
		leave(&g);
		leave(&g);
	}
	find(&g);
	assert_steps(&g);
	end(&g);
}

/* The first launch takes longer than all others, as where a busy machine took its processor away, and the rest a small part of the
 * time. */
static void a_loop_behind_one_long_launch_is_found(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	call(&g, MAIN * 100 + 1, 0, 500000 * US);
	g.now += 5000000ull * US;
	enter(&g, MAIN * 100 + 2);
	for (uint32_t i = 0; i < 100; i++) {
		step(&g);
		call(&g, MODEL * 100 + 1, 0, 50 * US);
		call(&g, MODEL * 100 + 2, 1, 50 * US);
	}
	leave(&g);
	find(&g);
	assert_steps(&g);
	end(&g);
}

static void initialisation_is_no_loop(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	for (uint32_t i = 0; i < 12; i++) {
		call(&g, MAIN * 100 + 1, 20, 5 * US);
		call(&g, MAIN * 100 + 2, 21, 5 * US);
		call(&g, MAIN * 100 + 3, 22, 5 * US);
	}
	for (uint32_t i = 0; i < 500; i++) {
		step(&g);
		call(&g, MAIN * 100 + 4, 0, 5 * US);
		call(&g, MAIN * 100 + 5, 1, 5 * US);
	}
	find(&g);
	assert_steps(&g);
	end(&g);
}

/* 12 epochs of 10 requests, each of which reads its prompt for long and makes 8 to 11 tokens. */
static void periods_in_periods_are_all_found(void **state)
{
	uint64_t tokens = 0;
	struct program g;

	(void)state;
	begin(&g);
	for (unsigned e = 0; e < 12; e++) {
		enter(&g, 101);
		call(&g, 201, 1, 5 * US);
		for (unsigned r = 0; r < 10; r++) {
			enter(&g, 202);
			call(&g, 301, 2, 5000 * US);
			for (unsigned n = 8 + random_below(&g, 4); n; n--, tokens++) {
				enter(&g, 302);
				call(&g, 401, 3, 20 * US);
				call(&g, 402, 4, 30 * US);
				leave(&g);
			}
			call(&g, 303, 5, 10 * US);
			leave(&g);
		}
		call(&g, 203, 6, 10 * US);
		leave(&g);
	}
	find(&g);
	assert_int_equal(g.l.levels, 3);
	assert_int_equal(g.l.chosen, 0);
	assert_int_equal(g.l.level[0].turns, 12 - 1);
	assert_int_equal(g.l.level[1].turns, 12 * 10 - 1);
	assert_int_equal(g.l.level[2].turns, tokens - 1);
	end(&g);
}

/* Steps of a training, one that validates behind every 20th of them with kernels of the forward. */
static void validation_between_steps_makes_no_steps(void **state)
{
	static const uint32_t epochs[] = {6, 30};

	(void)state;
	for (size_t n = 0; n < AIF_ARRAY_LEN(epochs); n++) {
		struct program g;

		begin(&g);
		for (uint32_t i = 0; i < 20 * epochs[n]; i++) {
			step(&g);
			enter(&g, MAIN * 100 + 1);
			call(&g, TRAIN * 100 + 1, 0, 50 * US);
			call(&g, TRAIN * 100 + 2, 1, 50 * US);
			call(&g, TRAIN * 100 + 3, 2, 50 * US);
			leave(&g);
			if (i % 20 < 19)
				continue;
			enter(&g, MAIN * 100 + 2);
			for (uint32_t k = 0; k < 4; k++)
				call(&g, TRAIN * 100 + 1, 0, 50 * US);
			leave(&g);
		}
		find(&g);
		assert_true(g.l.len + 2 >= 20 * epochs[n] && g.l.len <= 20 * epochs[n]);
		assert_int_equal(g.l.chosen, 1);
		assert_true(g.l.level[0].turns + 2 >= epochs[n]);
		end(&g);
	}
}

/* Something recurs for a second before the steps, which have more of the time and the later part of the run. */
static void a_phase_before_the_steps_is_start_up(void **state)
{
	struct program g;

	(void)state;
	begin(&g);
	enter(&g, MAIN * 100 + 1);
	for (uint32_t i = 0; i < 40; i++) {
		call(&g, INIT * 100 + 1, 20, 20000 * US);
		call(&g, INIT * 100 + 2, 21, 5000 * US);
		g.now += 25000 * US;
	}
	leave(&g);
	enter(&g, MAIN * 100 + 2);
	for (uint32_t i = 0; i < 160; i++) {
		step(&g);
		call(&g, TRAIN * 100 + 1, 0, 2000 * US);
		call(&g, TRAIN * 100 + 2, 1, 1000 * US);
		g.now += 40000 * US;
	}
	leave(&g);
	find(&g);
	assert_steps(&g);
	assert_int_equal(g.l.loops_len, 2);
	assert_int_equal(g.l.loops[0].turns, g.l.len);
	assert_int_equal(g.l.loops[1].turns, 39);
	find_at(&g, g.l.loops[1].place);
	assert_int_equal(g.l.len, 39);
	end(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(training_is_found),
		cmocka_unit_test(backward_has_a_thread),
		cmocka_unit_test(tuning_in_a_thread_is_no_loop_of_the_program),
		cmocka_unit_test(numbers_of_ranges_make_no_difference),
		cmocka_unit_test(decodes_vary_in_length),
		cmocka_unit_test(prefill_and_decode_are_two_tokens),
		cmocka_unit_test(kernels_alternate_below_one_call),
		cmocka_unit_test(compiled_kernels_recur_by_their_names),
		cmocka_unit_test(layers_within_tokens_are_inner_turns),
		cmocka_unit_test(requests_to_an_idle_server_are_no_turns),
		cmocka_unit_test(each_launch_is_a_turn),
		cmocka_unit_test(without_times_launches_count),
		cmocka_unit_test(random_launches_are_no_loop),
		cmocka_unit_test(gaps_interrupt_turns_of_the_loop),
		cmocka_unit_test(little_is_no_loop),
		cmocka_unit_test(a_loop_behind_one_long_launch_is_found),
		cmocka_unit_test(initialisation_is_no_loop),
		cmocka_unit_test(a_warm_up_is_no_loop),
		cmocka_unit_test(periods_in_periods_are_all_found),
		cmocka_unit_test(validation_between_steps_makes_no_steps),
		cmocka_unit_test(a_phase_before_the_steps_is_start_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
