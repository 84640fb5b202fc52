/* SPDX-License-Identifier: Apache-2.0 */
/* Units of comparisons: which one is chosen, and what is known by it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fixture_gate.h"

#include "compare/words.h"

#include <errno.h>

enum { RUNS = 5 };

/* A step of 6 ms. */
static const struct run_row base[] = {
	{"main;train;attention;flash_fwd<64, 128>", 3e6, 4},
	{"main;train;head;logits", 1e6, 1},
	{"main;train;head;softmax", 5e5, 1},
	{"main;train;load;copy_in", 5e5, 1},
	{"main;train;[idle: wait]", 1e6, 0},
};
#define BASE_LEN AIF_ARRAY_LEN(base)

/* Lets a side's runs have other numbers of launches of one kernel, as estimates of what was left out have. */
static void estimate_launches(struct aif_side *s, const char *kernel, const double *factors)
{
	for (size_t i = 0; i < s->len; i++) {
		struct aif_run *r = &s->runs[i];
		uint32_t name = aif_strset_find(&r->kernel_names, kernel, strlen(kernel));

		assert_int_not_equal(name, AIF_STR_NONE);
		for (size_t k = 0; k < r->kernels_len; k++) {
			if (r->kernels[k].name != name)
				continue;
			r->kernels[k].ns = (uint64_t)((double)r->kernels[k].ns * factors[i]);
			r->kernels[k].launches =
				(uint64_t)((double)r->kernels[k].launches * factors[i] + 0.5);
		}
	}
}

static void a_launch_is_known_where_their_number_is_not(void **state)
{
	static const double some[] = {1, 0.9, 1.1, 1.05, 0.93},
			    others[] = {1.02, 0.94, 1.1, 0.9, 1};
	struct compared x;

	(void)state;
	x.a = side_make("before", base, BASE_LEN, RUNS, 0.001, 31);
	x.b = side_make("after", base, BASE_LEN, RUNS, 0.001, 32);
	estimate_launches(&x.a, "softmax", some);
	estimate_launches(&x.b, "softmax", others);
	for (unsigned unit = AIF_UNIT_STEP; unit <= AIF_UNIT_LAUNCH; unit++) {
		const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN, .unit = unit};
		struct aif_err err = {0};
		bool by_launch = unit == AIF_UNIT_LAUNCH;

		assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, &err), 0);
		assert_int_equal(
			gate(&x, "kernel:/softmax/ +3%", by_launch ? "the same" : "one launch: "),
			by_launch ? AIF_GATE_KEPT : AIF_GATE_UNKNOWN);
		assert_int_equal(gate(&x, "launches +3%", "the same"), AIF_GATE_KEPT);
		for (size_t i = 0; i < x.c.kernels_len; i++) {
			const struct aif_compared_kernel *k = &x.c.kernels[i];

			if (strcmp(k->a, "softmax"))
				continue;
			assert_int_equal(k->time.answer,
					 by_launch ? AIF_CHANGE_SAME : AIF_CHANGE_UNKNOWN);
			assert_float_equal(k->time.change.a, 5e5, by_launch ? 5e3 : 5e4);
		}
		aif_comparison_finish(&x.c);
	}
	aif_side_finish(&x.a);
	aif_side_finish(&x.b);
}

/* Another loop was found in one run of a side: nothing is decided by step. */
static void a_run_with_another_loop_is_not_compared_by_step(void **state)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct aif_err err = {0};
	struct compared x;

	(void)state;
	x.a = side_make("before", base, BASE_LEN, RUNS, 0.001, 41);
	x.b = side_make("after", base, BASE_LEN, RUNS, 0.001, 42);
	for (size_t i = 0; i < 2 * RUNS; i++)
		(i < RUNS ? &x.a : &x.b)->runs[i % RUNS].steps_from = AIF_PHASES_TURNS;
	x.b.runs[3].steps = RUNS_STEPS * 13 / 10;
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, &err), 0);
	assert_int_equal(x.c.unit, AIF_UNIT_RUN);
	assert_non_null(strstr(aif_buf_str(&x.c.notes), "other loops were found"));
	assert_non_null(strstr(aif_buf_str(&x.c.notes), "130"));
	aif_comparison_finish(&x.c);
	/* More work of the same steps is the same loop. */
	x.b.runs[3].amount[AIF_RUN_LAUNCHES] = x.b.runs[3].amount[AIF_RUN_LAUNCHES] * 13 / 10;
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, &err), 0);
	assert_int_equal(x.c.unit, AIF_UNIT_STEP);
	finish(&x);
}

/* Reads a run of `base` again whose loop is at 7 or at 8; of one that is called "stubborn.data" it is not there. */
static int read_again(const struct aif_side *s, const struct aif_run *run, uint64_t loop,
		      struct aif_run *ret, struct aif_err *err)
{
	uint64_t seed = 61;

	(void)s;
	*ret = (struct aif_run){0};
	if (!strcmp(run->path, "stubborn.data"))
		return aif_err_set(err, -ENODATA, "no such loop");
	*ret = run_make(base, BASE_LEN, 0.001, &seed);
	ret->steps_from = AIF_PHASES_TURNS;
	ret->loop = loop;
	ret->steps = loop == 7 ? 3 * RUNS_STEPS : RUNS_STEPS;
	return 0;
}

static struct aif_side side_of_turns(const char *name, uint64_t seed)
{
	struct aif_side s = side_make(name, base, BASE_LEN, RUNS, 0.001, seed);

	for (size_t i = 0; i < RUNS; i++) {
		s.runs[i].steps_from = AIF_PHASES_TURNS;
		s.runs[i].loop = 8;
		s.runs[i].hash = 100 + i;
	}
	return s;
}

/* In one run an inner loop was found, in another none: both have the loop of the other three. */
static void runs_of_a_side_agree_on_a_loop(void **state)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct aif_err err = {0};
	struct compared x;

	(void)state;
	x.a = side_of_turns("before", 71);
	x.b = side_of_turns("after", 72);
	x.a.runs[0].steps *= 3;
	x.a.runs[0].loop = 7;
	x.a.runs[4].steps = 0;
	x.a.runs[4].loop = 0;
	x.a.runs[4].steps_from = AIF_PHASES_UNKNOWN;
	assert_int_equal(aif_side_agree(&x.a, read_again, &err), 0);
	assert_int_equal(aif_side_agree(&x.b, read_again, &err), 0);
	assert_int_equal(aif_sides_agree(&x.a, &x.b, read_again, &err), 0);
	assert_int_equal(x.a.agreed, 2);
	assert_int_equal(x.b.agreed, 0);
	for (size_t i = 0; i < RUNS; i++) {
		assert_int_equal(x.a.runs[i].steps, RUNS_STEPS);
		assert_int_equal(x.a.runs[i].hash, 100 + i);
	}
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, &err), 0);
	assert_int_equal(x.c.unit, AIF_UNIT_STEP);
	assert_non_null(strstr(aif_buf_str(&x.c.notes), "A: 2 runs had other steps"));
	finish(&x);
}

/* A run that has not the loop of the others keeps its own, and nothing is given by step; marks are left alone. */
static void a_run_without_the_loop_of_the_others_keeps_its_own(void **state)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct aif_err err = {0};
	struct compared x;

	(void)state;
	x.a = side_of_turns("before", 73);
	x.b = side_of_turns("after", 74);
	x.a.runs[1].steps *= 3;
	free(x.a.runs[1].path);
	x.a.runs[1].path = strdup("stubborn.data");
	x.b.runs[2].steps *= 3;
	x.b.runs[2].steps_from = AIF_PHASES_MARKS;
	assert_int_equal(aif_side_agree(&x.a, read_again, &err), 0);
	assert_int_equal(aif_side_agree(&x.b, read_again, &err), 0);
	assert_int_equal(err.code, 0);
	assert_int_equal(x.a.agreed, 0);
	assert_int_equal(x.b.agreed, 0);
	assert_int_equal(x.a.runs[1].steps, 3 * RUNS_STEPS);
	assert_int_equal(x.b.runs[2].steps, 3 * RUNS_STEPS);
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, &err), 0);
	assert_int_equal(x.c.unit, AIF_UNIT_RUN);
	finish(&x);
}

/* In all runs of B an inner loop was found: both sides have A's. Where one run cannot, none does. */
static void sides_agree_on_a_loop(void **state)
{
	struct aif_err err = {0};
	struct compared x = {0};

	(void)state;
	for (unsigned stubborn = 0; stubborn < 2; stubborn++) {
		x.a = side_of_turns("before", 75);
		x.b = side_of_turns("after", 76);
		for (size_t i = 0; i < RUNS; i++) {
			x.b.runs[i].loop = 7;
			x.b.runs[i].steps *= 3;
			if (!stubborn || (i != 2 && i != 3))
				continue;
			free(x.a.runs[i].path);
			free(x.b.runs[i].path);
			x.a.runs[i].path = strdup("stubborn.data");
			x.b.runs[i].path = strdup("stubborn.data");
		}
		assert_int_equal(aif_sides_agree(&x.a, &x.b, read_again, &err), 0);
		assert_int_equal(err.code, 0);
		assert_int_equal(x.b.agreed, stubborn ? 0 : RUNS);
		for (size_t i = 0; i < RUNS; i++) {
			assert_int_equal(x.a.runs[i].steps, RUNS_STEPS);
			assert_int_equal(x.b.runs[i].steps, (stubborn ? 3 : 1) * RUNS_STEPS);
		}
		aif_side_finish(&x.a);
		aif_side_finish(&x.b);
	}
}

/* Twice as many tokens a run take twice as long: a token takes the same. */
static void tokens_and_ranges_are_units(void **state)
{
	static const struct run_row twice[] = {
		{"main;train;attention;flash_fwd<64, 128>", 6e6, 8},
		{"main;train;head;logits", 2e6, 2},
		{"main;train;head;softmax", 1e6, 2},
		{"main;train;load;copy_in", 1e6, 2},
		{"main;train;[idle: wait]", 2e6, 0},
	};
	struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN, .unit = AIF_UNIT_RUN};
	struct aif_err err = {0};
	struct compared x;
	struct aif_buf text = {0};

	(void)state;
	x.a = side_make("before", base, BASE_LEN, RUNS, 0.001, 51);
	x.b = side_make("after", twice, BASE_LEN, RUNS, 0.001, 52);
	for (size_t i = 0; i < RUNS; i++) {
		run_add_ranges(&x.a.runs[i], "token 17", 500);
		run_add_ranges(&x.b.runs[i], "token_3", 1000);
	}
	side_be_whole(&x.a, 1000000, 1000000);
	side_be_whole(&x.b, 1000000, 1000000);
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, &err), 0);
	assert_int_equal(gate(&x, "time +3%", "a run"), AIF_GATE_EXCEEDED);
	aif_comparison_finish(&x.c);
	o.unit = AIF_UNIT_RANGE;
	o.range = "token";
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, &err), 0);
	assert_non_null(strstr(aif_buf_str(&x.c.notes),
			       "a run of A has 500 tokens, of B 1000: one token is compared"));
	assert_int_equal(gate(&x, "time +3%", "1.2 ms a token"), AIF_GATE_KEPT);
	assert_int_equal(gate(&x, "kernel:/softmax/ +3%", "the same"), AIF_GATE_KEPT);
	aif_words_unit(&x.c, &text);
	assert_string_equal(aif_buf_str(&text), "per token: 500 in A, 1,000 in B, a range that the "
						"program marked");
	aif_buf_finish(&text);
	aif_comparison_finish(&x.c);
	o.range = "request";
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, &err), -ENODATA);
	assert_non_null(strstr(err.text,
			       "no range called 'request' in it to give values by; it has token"));
	finish(&x);
}

/* Twice the time before device work is a longer run, whatever its steps take. */
static void whole_runs_have_a_start_and_an_end(void **state)
{
	struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN, .unit = AIF_UNIT_RUN};
	struct aif_err err = {0};
	struct compared x;

	(void)state;
	x.a = side_make("before", base, BASE_LEN, RUNS, 0.001, 53);
	x.b = side_make("after", base, BASE_LEN, RUNS, 0.001, 54);
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, &err), 0);
	assert_false(x.c.decides);
	assert_true(aif_compare_lacks_whole(&x.c));
	assert_non_null(
		strstr(aif_buf_str(&x.c.problems), "is the loop of a run, without its start-up"));
	aif_comparison_finish(&x.c);
	side_be_whole(&x.a, 600000000, 100000000);
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, &err), 0);
	assert_false(x.c.decides);
	aif_comparison_finish(&x.c);
	side_be_whole(&x.b, 1200000000, 100000000);
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, &err), 0);
	assert_true(x.c.decides);
	assert_int_equal(gate(&x, "time +3%", "slower"), AIF_GATE_EXCEEDED);
	assert_int_equal(gate(&x, "before_work +10ms", "600 ms -> 1.20 s"), AIF_GATE_EXCEEDED);
	assert_int_equal(gate(&x, "after_work +3%\ndevice +3%", "the same"), AIF_GATE_KEPT);
	assert_float_equal(x.c.metric[AIF_METRIC_TIME].change.b -
				   x.c.metric[AIF_METRIC_TIME].change.a,
			   6e8, 1e7);
	finish(&x);
}

static void numbers_at_the_end_of_ranges_are_no_part_of_their_names(void **state)
{
	static const struct {
		const char *name;
		size_t stem;
	} rows[] = {{"token", 5},   {"token 17", 5}, {"token_17", 5}, {"token#17", 5}, {"17", 2},
		    {"v2 step", 7}, {"", 0},         {"x - 3", 1},    {" 3", 2}};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++)
		assert_int_equal(aif_run_range_stem(rows[i].name), rows[i].stem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_is_known_where_their_number_is_not),
		cmocka_unit_test(tokens_and_ranges_are_units),
		cmocka_unit_test(whole_runs_have_a_start_and_an_end),
		cmocka_unit_test(numbers_at_the_end_of_ranges_are_no_part_of_their_names),
		cmocka_unit_test(a_run_with_another_loop_is_not_compared_by_step),
		cmocka_unit_test(runs_of_a_side_agree_on_a_loop),
		cmocka_unit_test(a_run_without_the_loop_of_the_others_keeps_its_own),
		cmocka_unit_test(sides_agree_on_a_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
