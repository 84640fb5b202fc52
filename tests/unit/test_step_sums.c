/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by place and step in few rows, and the changes that these tell. */
#include "fixture_ops.h"

#include "analysis/step_changes.h"
#include "analysis/step_sums.h"
#include "base/hash.h"

#define STEP_NS UINT64_C(100000000)
enum { STEPS = 6000 };

static void add(struct aif_step_sums *s, uint32_t stack, uint64_t ns)
{
	const struct aif_step_sum_row of = {
		.sum = AIF_STEP_SUM_WORK, .device = 0, .stack = stack, .kernel = 0};

	assert_int_equal(aif_step_sums_add(s, &of, ns), 0);
}

static void step(struct aif_step_sums *s, uint32_t i)
{
	assert_int_equal(aif_step_sums_step(s, i * STEP_NS, (i + 1) * STEP_NS), 0);
}

/* 20 ms, give or take a hundredth. */
static uint64_t noise(uint32_t i)
{
	return 20000000 + aif_mix64(i) % 400000 - 200000;
}

/* Returns the number of a place's rows, and *ret_ns and *ret_steps, their sums. */
static size_t rows_of(const struct aif_step_sums *s, uint32_t stack, uint64_t *ret_ns,
		      uint64_t *ret_steps)
{
	size_t n = 0;

	*ret_ns = *ret_steps = 0;
	for (size_t i = 0; i < s->rows_len; i++) {
		if (s->rows[i].stack != stack)
			continue;
		n++;
		*ret_ns += s->rows[i].ns;
		*ret_steps += s->rows[i].steps;
	}
	return n;
}

static void steps_that_take_longer_have_a_row_from_the_first_to_the_last(void **state)
{
	struct aif_step_sums s = {0};
	uint64_t all[2] = {0}, ns, steps;
	const struct aif_step_sum_row *r;

	(void)state;
	for (uint32_t i = 0; i < STEPS; i++) {
		uint64_t slow = noise(i) + (i >= 3999 && i < 4100 ? 3000000 : 0);

		add(&s, 1, slow);
		add(&s, 2, noise(i + STEPS));
		all[0] += slow;
		all[1] += noise(i + STEPS);
		step(&s, i);
	}
	assert_int_equal(aif_step_sums_end(&s), 0);
	assert_int_equal(rows_of(&s, 1, &ns, &steps), 3);
	assert_int_equal(ns, all[0]);
	assert_int_equal(steps, STEPS);
	assert_int_equal(rows_of(&s, 2, &ns, &steps), 1);
	assert_int_equal(ns, all[1]);
	r = &s.rows[1];
	assert_int_equal(r->first, 4000);
	assert_int_equal(r->steps, 101);
	assert_int_equal(r->start, 3999 * STEP_NS);
	assert_int_equal(r->end, 4100 * STEP_NS);
	assert_in_range(r->ns / r->steps, 22900000, 23100000);
	assert_int_equal(r->executions, 101);
	aif_step_sums_finish(&s);
}

static void one_step_that_takes_much_longer_has_a_row_and_the_one_around_goes_on(void **state)
{
	struct aif_step_sums s = {0};
	uint64_t ns, steps;

	(void)state;
	for (uint32_t i = 0; i < STEPS; i++) {
		add(&s, 1, noise(i) + (i == 700 ? 9000000 : 0));
		step(&s, i);
	}
	assert_int_equal(aif_step_sums_end(&s), 0);
	assert_int_equal(rows_of(&s, 1, &ns, &steps), 2);
	assert_int_equal(steps, STEPS);
	assert_int_equal(s.rows[0].first, 1);
	assert_int_equal(s.rows[0].steps, STEPS - 1);
	assert_int_equal(s.rows[0].end, STEPS * STEP_NS);
	assert_int_equal(s.rows[1].first, 701);
	assert_int_equal(s.rows[1].steps, 1);
	aif_step_sums_finish(&s);
}

static void a_place_that_changes_all_the_time_has_few_rows(void **state)
{
	struct aif_step_sums s = {0};
	uint64_t all[3] = {0}, ns, steps;

	(void)state;
	for (uint32_t i = 0; i < STEPS; i++) {
		/* Any time; another level each seven steps; only in one step of fifty. */
		uint64_t of[] = {aif_mix64(i) % 50000000, aif_mix64(i / 7) % 50000000,
				 i % 50 ? 0 : 30000000};

		for (uint32_t k = 0; k < 3; k++) {
			if (of[k])
				add(&s, k, of[k]);
			all[k] += of[k];
		}
		step(&s, i);
	}
	assert_int_equal(aif_step_sums_end(&s), 0);
	for (uint32_t k = 0; k < 3; k++) {
		assert_in_range(rows_of(&s, k, &ns, &steps), 1,
				AIF_STEP_SUMS_ROWS + STEPS / 16 + 1);
		assert_int_equal(ns, all[k]);
		assert_int_equal(steps, STEPS);
	}
	assert_in_range(rows_of(&s, 0, &ns, &steps), 1, AIF_STEP_SUMS_ROWS);
	aif_step_sums_finish(&s);
}

static void a_place_that_comes_late_has_nothing_in_the_steps_before(void **state)
{
	struct aif_step_sums s = {0};
	uint64_t ns, steps;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		add(&s, 1, noise(i));
		if (i >= 40)
			add(&s, 2, 5000000);
		step(&s, i);
	}
	assert_int_equal(aif_step_sums_end(&s), 0);
	assert_int_equal(rows_of(&s, 2, &ns, &steps), 2);
	assert_int_equal(steps, 100);
	assert_int_equal(s.rows[1].steps, 40);
	assert_int_equal(s.rows[1].ns, 0);
	assert_int_equal(s.rows[2].first, 41);
	aif_step_sums_finish(&s);
}

static void more_places_than_there_is_room_for_are_of_no_known_stack(void **state)
{
	struct aif_step_sums s = {0};
	uint64_t ns, steps;

	(void)state;
	for (uint32_t i = 0; i < AIF_STEP_SUMS_PLACES + 50; i++)
		add(&s, i, 1000);
	step(&s, 0);
	assert_int_equal(aif_step_sums_end(&s), 0);
	assert_int_equal(s.rows_len, AIF_STEP_SUMS_PLACES + 1);
	assert_int_equal(rows_of(&s, AIF_NONE, &ns, &steps), 1);
	assert_int_equal(ns, 50000);
	aif_step_sums_finish(&s);
}

static void places_are_bounded_whatever_is_new_of_them(void **state)
{
	struct aif_step_sums s = {0};
	uint64_t ns = 0, executions = 0;

	(void)state;
	for (uint32_t i = 0; i < 4 * AIF_STEP_SUMS_PLACES; i++) {
		struct aif_step_exec x = {.device = i % 4 == 1 ? i : 0,
					  .kind = i % 4 == 2 ? i : AIF_LAUNCH_KERNEL,
					  .kernel = i % 4 == 3 ? i : 7,
					  .stack = i,
					  .computes = true,
					  .ns = 1000};

		assert_int_equal(aif_step_sums_exec(&s, &x), 0);
		x.is_idle = true;
		x.ns = 10;
		assert_int_equal(aif_step_sums_exec(&s, &x), 0);
	}
	step(&s, 0);
	assert_in_range(s.places_len, AIF_STEP_SUMS_PLACES,
			AIF_STEP_SUMS_PLACES * 3 / 2 + AIF_STEP_SUM_KIND_COUNT);
	assert_int_equal(aif_step_sums_end(&s), 0);
	for (size_t i = 0; i < s.rows_len; i++)
		if (s.rows[i].sum == AIF_STEP_SUM_WORK) {
			ns += s.rows[i].ns;
			executions += s.rows[i].executions;
		}
	assert_int_equal(executions, 4 * AIF_STEP_SUMS_PLACES);
	assert_int_equal(ns, 4 * AIF_STEP_SUMS_PLACES * 1000);
	aif_step_sums_finish(&s);
}

static void rows_are_bounded_however_many_places_change_for_however_long(void **state)
{
	struct aif_step_sums s = {0};
	const uint32_t n = 1500;
	uint64_t ns = 0, all = 0;

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		/* Another level each twenty steps. */
		uint64_t of = i / 20 % 2 ? 40000000 : 20000000;

		for (uint32_t k = 0; k < AIF_STEP_SUMS_PLACES; k++)
			add(&s, k, of);
		all += of * AIF_STEP_SUMS_PLACES;
		step(&s, i);
		assert_true(s.rows_len <= AIF_STEP_SUMS_ALL_ROWS);
	}
	assert_int_equal(s.rows_len, AIF_STEP_SUMS_ALL_ROWS);
	assert_int_equal(aif_step_sums_end(&s), 0);
	assert_int_equal(s.rows_len, AIF_STEP_SUMS_ALL_ROWS + AIF_STEP_SUMS_PLACES);
	for (size_t i = 0; i < s.rows_len; i++)
		ns += s.rows[i].ns;
	assert_int_equal(ns, all);
	aif_step_sums_finish(&s);
}

/* ---- changes -------------------------------------------------------------------------------------- */

static const struct aif_step_sum_row usual = {.start = OPS_START,
					      .end = OPS_START + 1000 * STEP_NS,
					      .ns = 1000 * UINT64_C(20000000),
					      .first = 1,
					      .steps = 1000,
					      .sum = AIF_STEP_SUM_WORK};

/* Writes a row whose steps are those from the first on but for `odd` that lie between. */
static void put_around(struct ops_fixture *f, uint32_t thread, uint32_t kernel, uint32_t first,
		       uint32_t steps, uint32_t odd, uint64_t ns)
{
	struct aif_step_sum_row row = usual;
	struct aif_err err = {0};

	row.thread = thread;
	row.kernel = kernel;
	row.stack = AIF_NONE;
	row.first = first;
	row.steps = steps;
	row.ns = steps * ns;
	row.start = OPS_START + (first - 1) * STEP_NS;
	row.end = row.start + (steps + odd) * STEP_NS;
	assert_ok(aif_writer_step_sums(f->w, &row, 1, &err), &err);
}

static void put(struct ops_fixture *f, uint32_t thread, unsigned sum, uint32_t kernel,
		uint32_t first, uint32_t steps, uint64_t ns)
{
	struct aif_step_sum_row row = usual;
	struct aif_err err = {0};

	row.thread = thread;
	row.sum = sum;
	row.kernel = kernel;
	row.stack = AIF_NONE;
	row.first = first;
	row.steps = steps;
	row.ns = steps * ns;
	row.start = OPS_START + (first - 1) * STEP_NS;
	row.end = row.start + steps * STEP_NS;
	assert_ok(aif_writer_step_sums(f->w, &row, 1, &err), &err);
}

static void a_change_is_told_with_its_steps_and_how_much_longer_they_took(void **state)
{
	struct aif_step_changes c;
	const struct aif_step_change *worst;
	struct ops_fixture f;
	uint32_t gemm, nccl;

	(void)state;
	ops_begin(&f, "NVIDIA", "cuda");
	gemm = ops_kernel(&f, "gemm");
	nccl = ops_kernel(&f, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	/* Thread 0 takes 30 ms longer from step 401 to 500; thread 2, of another process, waits for it in an operation. */
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 1, 8, 60000000);
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 9, 392, 20000000);
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 401, 100, 50000000);
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 501, 500, 20000000);
	put(&f, 2, AIF_STEP_SUM_WORK, nccl, 1, 400, 10000000);
	put(&f, 2, AIF_STEP_SUM_WORK, nccl, 401, 100, 41000000);
	put(&f, 2, AIF_STEP_SUM_WORK, nccl, 501, 500, 10000000);
	put(&f, 2, AIF_STEP_SUM_WORK, gemm, 1, 1000, 20000000);
	ops_read(&f);
	assert_int_equal(aif_step_changes_find(&f.p, NULL, &c), 0);
	assert_int_equal(c.processes, 2);
	assert_int_equal(c.len, 3);
	assert_int_equal(c.at[0].of.kernel, nccl);
	assert_true(c.at[0].is_communication);
	assert_true(c.at[2].is_early && c.at[2].first == 1 && c.at[2].last == 8);
	worst = aif_step_changes_worst(&c);
	assert_ptr_equal(worst, &c.at[1]);
	assert_int_equal(worst->process, 0);
	assert_int_equal(worst->of.kernel, gemm);
	assert_int_equal(worst->first, 401);
	assert_int_equal(worst->last, 500);
	assert_int_equal(worst->steps, 100);
	assert_false(worst->goes_on);
	assert_true(worst->usual_ns == 20e6 && worst->ns == 50e6 && worst->total_ns == 3e9);
	aif_step_changes_finish(&c);
	ops_end(&f);
}

static void what_is_less_than_a_fiftieth_of_a_step_is_no_change(void **state)
{
	struct aif_step_changes c;
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, "NVIDIA", "cuda");
	put(&f, 0, AIF_STEP_SUM_WORK, ops_kernel(&f, "gemm"), 1, 500, 20000000);
	put(&f, 0, AIF_STEP_SUM_WORK, ops_kernel(&f, "gemm"), 501, 500, 21900000);
	put(&f, 2, AIF_STEP_SUM_WORK, ops_kernel(&f, "gemm"), 1, 500, 20000000);
	put(&f, 2, AIF_STEP_SUM_WORK, ops_kernel(&f, "gemm"), 501, 500, 22100000);
	ops_read(&f);
	assert_int_equal(aif_step_changes_find(&f.p, NULL, &c), 0);
	assert_int_equal(c.len, 1);
	assert_int_equal(c.at[0].process, 1);
	assert_int_equal(c.at[0].first, 501);
	assert_true(c.at[0].goes_on);
	aif_step_changes_finish(&c);
	ops_end(&f);
}

static void idle_time_that_a_longer_kernel_makes_is_not_named_before_it(void **state)
{
	struct aif_step_changes c;
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, "NVIDIA", "cuda");
	put(&f, 0, AIF_STEP_SUM_WORK, ops_kernel(&f, "gemm"), 1, 500, 20000000);
	put(&f, 0, AIF_STEP_SUM_WORK, ops_kernel(&f, "gemm"), 501, 500, 50000000);
	put(&f, 2, AIF_STEP_SUM_IDLE, AIF_NONE, 1, 500, 1000000);
	put(&f, 2, AIF_STEP_SUM_IDLE, AIF_NONE, 501, 500, 32000000);
	ops_read(&f);
	assert_int_equal(aif_step_changes_find(&f.p, NULL, &c), 0);
	assert_int_equal(c.len, 2);
	assert_int_equal(c.at[0].of.sum, AIF_STEP_SUM_IDLE);
	assert_ptr_equal(aif_step_changes_worst(&c), &c.at[1]);
	aif_step_changes_finish(&c);
	ops_end(&f);
}

static void a_change_goes_on_behind_steps_within_it_that_are_not_like_it(void **state)
{
	struct aif_step_changes c;
	struct ops_fixture f;
	uint32_t gemm;

	(void)state;
	ops_begin(&f, "NVIDIA", "cuda");
	gemm = ops_kernel(&f, "gemm");
	/* Slow from step 401 to 600, in two levels; steps 411 and 412 are as usual, step 421 takes no time, step 431 more. */
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 1, 400, 20000000);
	put_around(&f, 0, gemm, 401, 96, 4, 50000000);
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 411, 2, 20000000);
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 421, 1, 0);
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 431, 1, 90000000);
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 501, 100, 60000000);
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 601, 400, 20000000);
	ops_read(&f);
	assert_int_equal(aif_step_changes_find(&f.p, NULL, &c), 0);
	assert_int_equal(c.len, 2);
	assert_int_equal(c.at[0].first, 401);
	assert_int_equal(c.at[0].last, 600);
	assert_int_equal(c.at[0].steps, 197);
	assert_true(c.at[0].total_ns == 96 * 30e6 + 70e6 + 100 * 40e6);
	assert_false(c.at[0].goes_on);
	assert_int_equal(c.at[1].first, 421);
	assert_int_equal(c.at[1].last, 421);
	assert_true(c.at[1].total_ns == -20e6);
	aif_step_changes_finish(&c);
	ops_end(&f);
}

static void a_change_goes_on_to_the_last_step_though_others_lie_within_each_place(void **state)
{
	struct aif_step_changes c;
	struct ops_fixture f;
	uint32_t gemm;

	(void)state;
	ops_begin(&f, "NVIDIA", "cuda");
	gemm = ops_kernel(&f, "gemm");
	/* 1,000 steps; those of process 0 are slow from the 501st on but for two, those of process 1 from the 501st to the 999th. */
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 1, 500, 20000000);
	put_around(&f, 0, gemm, 501, 498, 2, 50000000);
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 511, 2, 20000000);
	put_around(&f, 2, gemm, 1, 501, 499, 20000000);
	put(&f, 2, AIF_STEP_SUM_WORK, gemm, 501, 499, 49000000);
	ops_read(&f);
	assert_int_equal(aif_step_changes_find(&f.p, NULL, &c), 0);
	assert_int_equal(c.len, 2);
	assert_int_equal(c.at[0].process, 0);
	assert_int_equal(c.at[0].last, 1000);
	assert_true(c.at[0].goes_on);
	assert_int_equal(c.at[1].last, 999);
	assert_false(c.at[1].goes_on);
	aif_step_changes_finish(&c);
	ops_end(&f);
}

static void odd_steps_far_from_each_other_are_changes_of_their_own(void **state)
{
	struct aif_step_changes c;
	struct ops_fixture f;
	uint32_t gemm;

	(void)state;
	ops_begin(&f, "NVIDIA", "cuda");
	gemm = ops_kernel(&f, "gemm");
	put_around(&f, 0, gemm, 1, 598, 2, 20000000);
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 101, 1, 40000000);
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 401, 1, 30000000);
	put(&f, 0, AIF_STEP_SUM_WORK, gemm, 601, 400, 50000000);
	ops_read(&f);
	assert_int_equal(aif_step_changes_find(&f.p, NULL, &c), 0);
	assert_int_equal(c.len, 3);
	assert_int_equal(c.at[0].first, 601);
	assert_int_equal(c.at[0].last, 1000);
	assert_int_equal(c.at[1].first, 101);
	assert_int_equal(c.at[1].last, 101);
	assert_int_equal(c.at[2].first, 401);
	assert_int_equal(c.at[2].last, 401);
	aif_step_changes_finish(&c);
	ops_end(&f);
}

static void processes_are_counted_once_however_their_threads_are_numbered(void **state)
{
	struct aif_step_changes c;
	struct ops_fixture f;
	uint32_t gemm;

	(void)state;
	ops_begin(&f, "NVIDIA", "cuda");
	FIXTURE_ADD(&f.made, threads, .process = 0, .tid = 103, .name = AIF_NONE);
	gemm = ops_kernel(&f, "gemm");
	/* Threads 0 and 3 are the first process's, thread 2 is the second one's. */
	for (uint32_t thread = 0; thread < 4; thread++) {
		if (thread == 1)
			continue;
		put(&f, thread, AIF_STEP_SUM_WORK, gemm, 1, 500, 20000000);
		put(&f, thread, AIF_STEP_SUM_WORK, gemm, 501, 500, 50000000);
	}
	ops_read(&f);
	assert_int_equal(aif_step_changes_find(&f.p, NULL, &c), 0);
	assert_int_equal(c.len, 3);
	assert_int_equal(c.processes, 2);
	for (size_t i = 0; i < c.len; i++)
		assert_int_equal(c.at[i].peers, 2);
	aif_step_changes_finish(&c);
	ops_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_that_take_longer_have_a_row_from_the_first_to_the_last),
		cmocka_unit_test(
			one_step_that_takes_much_longer_has_a_row_and_the_one_around_goes_on),
		cmocka_unit_test(a_place_that_changes_all_the_time_has_few_rows),
		cmocka_unit_test(a_place_that_comes_late_has_nothing_in_the_steps_before),
		cmocka_unit_test(more_places_than_there_is_room_for_are_of_no_known_stack),
		cmocka_unit_test(places_are_bounded_whatever_is_new_of_them),
		cmocka_unit_test(rows_are_bounded_however_many_places_change_for_however_long),
		cmocka_unit_test(a_change_is_told_with_its_steps_and_how_much_longer_they_took),
		cmocka_unit_test(what_is_less_than_a_fiftieth_of_a_step_is_no_change),
		cmocka_unit_test(idle_time_that_a_longer_kernel_makes_is_not_named_before_it),
		cmocka_unit_test(a_change_goes_on_behind_steps_within_it_that_are_not_like_it),
		cmocka_unit_test(
			a_change_goes_on_to_the_last_step_though_others_lie_within_each_place),
		cmocka_unit_test(odd_steps_far_from_each_other_are_changes_of_their_own),
		cmocka_unit_test(processes_are_counted_once_however_their_threads_are_numbered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
