/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fixture_gate.h"

enum { RUNS = 5 };
#define NOISE 0.002

/* Compares the base with itself, B's runs of `steps` steps `longer` times as long, by that unit. */
static void compare_longer(struct compared *x, double steps, double longer,
			   enum aif_compare_unit unit)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN, .unit = unit};
	struct run_row rows[RUNS_BASE_LEN];

	for (size_t i = 0; i < RUNS_BASE_LEN; i++)
		rows[i] = (struct run_row){runs_base[i].stack, steps * longer * runs_base[i].ns,
					   steps * runs_base[i].launches};
	compared_make(x, rows, RUNS_BASE_LEN, RUNS, NOISE, 6);
	aif_comparison_finish(&x->c);
	for (size_t i = 0; i < x->b.len; i++)
		x->b.runs[i].steps = (uint64_t)(steps * RUNS_STEPS + 0.5);
	assert_int_equal(aif_compare(&x->a, &x->b, &o, &x->c, NULL), 0);
}

static void more_and_longer_steps_are_no_pass(void **state)
{
	struct compared x;

	(void)state;
	compare_longer(&x, 1.04, 1.02, AIF_UNIT_AUTO);
	assert_int_equal(gate(&x, "time +3%", "of 104 steps and not 100: judge it by --unit run"),
			 AIF_GATE_UNKNOWN);
	assert_int_equal(gate(&x, "device +3%", "cannot tell"), AIF_GATE_UNKNOWN);
	assert_int_equal(gate(&x, "time +10%", "gate: fine"), AIF_GATE_KEPT);
	assert_int_equal(gate(&x, "time +3% +1ms", "gate: fine"), AIF_GATE_KEPT);
	assert_int_equal(gate(&x, "launches 0", "gate: fine"), AIF_GATE_KEPT);
	finish(&x);
	compare_longer(&x, 1.04, 1.02, AIF_UNIT_STEP);
	assert_int_equal(gate(&x, "time +3%", "\"notes\":[\"the loop of a run takes +"),
			 AIF_GATE_KEPT);
	finish(&x);
	compare_longer(&x, 0.9, 1, AIF_UNIT_AUTO);
	assert_int_equal(gate(&x, "time +3%", "gate: fine"), AIF_GATE_KEPT);
	finish(&x);
}

/* Sets what runs did from their first work to their last: `part` of their loops. */
static void set_extents(struct aif_side *s, double part)
{
	for (size_t i = 0; i < s->len; i++) {
		uint64_t *of = s->runs[i].amount;

		of[AIF_RUN_EXTENT] = (uint64_t)(part * (double)of[AIF_RUN_ELAPSED]);
		of[AIF_RUN_EXTENT_BUSY] = of[AIF_RUN_BUSY];
	}
}

static void work_outside_of_steps_is_no_pass(void **state)
{
	const struct aif_compare_opts by_step = {.margin = AIF_CHANGE_MARGIN,
						 .unit = AIF_UNIT_STEP},
				      by_itself = {.margin = AIF_CHANGE_MARGIN};
	struct compared x;

	(void)state;
	compared_make(&x, runs_base, RUNS_BASE_LEN, RUNS, NOISE, 6);
	set_extents(&x.a, 1.1);
	set_extents(&x.b, 1.4);
	aif_comparison_finish(&x.c);
	assert_int_equal(aif_compare(&x.a, &x.b, &by_itself, &x.c, NULL), 0);
	assert_int_equal(gate(&x, "time +3%", "a run, from its first work to its last, takes +27"),
			 AIF_GATE_UNKNOWN);
	assert_int_equal(gate(&x, "device +3%", "gate: fine"), AIF_GATE_KEPT);
	aif_comparison_finish(&x.c);
	assert_int_equal(aif_compare(&x.a, &x.b, &by_step, &x.c, NULL), 0);
	assert_int_equal(
		gate(&x, "time +3%", "in B, a step does not: --unit run judges whole runs"),
		AIF_GATE_KEPT);
	/* A baseline of before has no such number. */
	set_extents(&x.a, 0);
	aif_comparison_finish(&x.c);
	assert_int_equal(aif_compare(&x.a, &x.b, &by_itself, &x.c, NULL), 0);
	assert_int_equal(gate(&x, "time +3%", "gate: fine"), AIF_GATE_KEPT);
	finish(&x);
}

static void names_that_match_less_are_no_pass(void **state)
{
	struct run_row rows[RUNS_BASE_LEN + 1];
	struct compared x;

	(void)state;
	memcpy(rows, runs_base, sizeof(runs_base));
	rows[1] = (struct run_row){"main;train;block;gemm_64x64_tn", 1e5, 1};
	rows[RUNS_BASE_LEN] = (struct run_row){"main;train;block;matmul", 2.3e6, 3};
	compared_make(&x, rows, RUNS_BASE_LEN + 1, RUNS, NOISE, 6);
	assert_int_equal(
		gate(&x, "kernel:/gemm/ +5%",
		     "4 launches a step match in A, 1 in B, and the rest has grown for it"),
		AIF_GATE_UNKNOWN);
	assert_int_equal(gate(&x, "kernel:/gemm/ <= 9ms", "have names changed"), AIF_GATE_UNKNOWN);
	assert_int_equal(gate(&x, "kernel:/gemm|matmul/ +50%", "gate: fine"), AIF_GATE_KEPT);
	finish(&x);
	/* Fewer launches of the same, and nothing in their place, are a gain. */
	compared_make(&x, rows, RUNS_BASE_LEN, RUNS, NOISE, 6);
	assert_int_equal(gate(&x, "kernel:/gemm/ +5%", "gate: fine"), AIF_GATE_KEPT);
	finish(&x);
}

static void add_range(struct aif_side *s, double ns)
{
	for (size_t i = 0; i < s->len; i++) {
		run_add_by(&s->runs[i], AIF_RUN_BY_RANGE, "prefill",
			   ns * RUNS_STEPS * (1 + 0.001 * (double)i));
		assert_int_equal(aif_tree_seal(&s->runs[i].by[AIF_RUN_BY_RANGE]), 0);
	}
}

static void ranges_that_cover_less_are_no_pass(void **state)
{
	struct compared x;

	(void)state;
	compared_make(&x, runs_base, RUNS_BASE_LEN, RUNS, NOISE, 6);
	add_range(&x.a, 7e6);
	add_range(&x.b, 3e6);
	assert_int_equal(gate(&x, "range:/prefill/ +3%", "what matches is 8"), AIF_GATE_UNKNOWN);
	finish(&x);
}

static enum aif_gate_answer judge(const double *values, const char *budgets, bool *ret_missing)
{
	struct aif_gate_value given = {.name = "r", .values = values};
	enum aif_gate_answer answer;
	struct aif_budgets b = {0};
	struct aif_gate g = {0};
	struct compared x;

	compared_make(&x, runs_base, RUNS_BASE_LEN, 3, NOISE, 8);
	assert_int_equal(aif_budgets_add_text(&b, budgets, "test", NULL), 0);
	assert_int_equal(aif_gate_judge(&x.c, &b, &given, 1, &g), 0);
	answer = g.answer;
	*ret_missing = g.rows[0].is_missing;
	aif_gate_finish(&g);
	aif_budgets_finish(&b);
	finish(&x);
	return answer;
}

static void values_of_failed_runs_keep_no_limit(void **state)
{
	static const double none[] = {1, 1, 1, 0, 0, 0}, sentinel[] = {1, 1, 1, -7, -7, -7},
			    nan[] = {1, 1, 1, (double)NAN, (double)NAN, (double)NAN},
			    below[] = {0, 0, 0, -5, -5, -5}, both[] = {0, 0, 0, 0, 0, 0};
	bool missing;

	(void)state;
	assert_int_equal(judge(none, "r <= 1.5", &missing), AIF_GATE_UNKNOWN);
	assert_true(missing);
	assert_int_equal(judge(sentinel, "r <= 1.5", &missing), AIF_GATE_UNKNOWN);
	assert_true(missing);
	assert_int_equal(judge(nan, "r <= 1.5", &missing), AIF_GATE_UNKNOWN);
	assert_true(missing);
	assert_int_equal(judge(both, "r <= 1.5", &missing), AIF_GATE_UNKNOWN);
	assert_int_equal(judge(sentinel, "r <= 1.5\nr >= 0", &missing), AIF_GATE_EXCEEDED);
	assert_int_equal(judge(below, "r lower +3%", &missing), AIF_GATE_UNKNOWN);
	assert_true(missing);
	assert_int_equal(judge(below, "r lower 0", &missing), AIF_GATE_UNKNOWN);
	/* The rule itself, or another of the same value, says that it may be so low. */
	assert_int_equal(judge(none, "r <= 0", &missing), AIF_GATE_KEPT);
	assert_int_equal(judge(none, "r <= 1.5\nr >= 0", &missing), AIF_GATE_KEPT);
	assert_int_equal(judge(sentinel, "r <= 1.5\nr >= -10", &missing), AIF_GATE_KEPT);
	assert_int_equal(judge(below, "r lower 0\nr >= -10", &missing), AIF_GATE_KEPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_and_longer_steps_are_no_pass),
		cmocka_unit_test(work_outside_of_steps_is_no_pass),
		cmocka_unit_test(names_that_match_less_are_no_pass),
		cmocka_unit_test(ranges_that_cover_less_are_no_pass),
		cmocka_unit_test(values_of_failed_runs_keep_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
