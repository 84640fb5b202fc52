/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fixture_runs.h"

#include "compare/words.h"

#include <errno.h>

enum { RUNS = 5 };
#define NOISE 0.01

/* Returns the first finding's stack, for free(). */
static char *first_stack(const struct compared *x)
{
	struct aif_buf b = {0};
	char *text;

	if (!x->c.findings_len)
		return strdup("");
	aif_compare_stack(&x->c, x->c.findings[0].node, 0, &b);
	text = strdup(aif_buf_str(&b));
	aif_buf_finish(&b);
	return text;
}

/* ---- seeded regressions ---------------------------------------------------------------------- */

struct regression {
	const char *what;
	const char *at;   /* the beginning of the stack to be named first */
	const char *gone; /* rows of the runs_base whose stack ends so are taken away; NULL: none */
	struct run_row rows[4]; /* added */
};

static const struct regression regressions[] = {
	{"a longer kernel",
	 "flash_fwd<64, 128> < attention < train < main",
	 "flash_fwd<64, 128>",
	 {{"main;train;attention;flash_fwd<64, 128>", 3.6e6, 4}}},
	{"an extra launch",
	 "gemm_64x64_tn < block < train < main",
	 "gemm_64x64_tn",
	 {{"main;train;block;gemm_64x64_tn", 2.5e6, 5}}},
	{"a lost fusion",
	 "block < train < main",
	 "scale_and_shift",
	 {{"main;train;block;scale", 8e5, 2}, {"main;train;block;shift", 8e5, 2}}},
	{"a sync added",
	 "[idle: wait] < synchronize < block < train < main",
	 NULL,
	 {{"main;train;block;synchronize;[idle: wait]", 8e5, 0}}},
	{"a copy made pageable",
	 "copy_in < load < train < main",
	 "copy_in",
	 {{"main;train;load;copy_in", 1.2e6, 1}}},
	{"a host function made slower",
	 "[idle: host] < load < train < main",
	 "[idle: host]",
	 {{"main;train;load;[idle: host]", 1.8e6, 0}}},
	{"more idle",
	 "[idle: off CPU] < log < train < main",
	 NULL,
	 {{"main;train;log;[idle: off CPU]", 6e5, 0}}},
	{"another tile size",
	 "gemm_64x64_tn < block < train < main",
	 "gemm_64x64_tn",
	 {{"main;train;block;gemm_32x32_tn", 2.6e6, 4}}},
	{"a kernel split in two",
	 "head < train < main",
	 "logits",
	 {{"main;train;head;logits_first", 8e5, 1}, {"main;train;head;logits_rest", 8e5, 1}}},
};

/* Rows of a side with a regression; returns their number. */
static size_t seeded(const struct regression *r, struct run_row *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < RUNS_BASE_LEN; i++) {
		const char *end = strrchr(runs_base[i].stack, ';') + 1;

		if (!r->gone || strcmp(end, r->gone))
			rows[n++] = runs_base[i];
	}
	for (size_t i = 0; i < AIF_ARRAY_LEN(r->rows) && r->rows[i].stack; i++)
		rows[n++] = r->rows[i];
	return n;
}

static void each_seeded_regression_is_named_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(regressions); i++) {
		for (uint64_t seed = 1; seed <= 5; seed++) {
			struct run_row rows[RUNS_BASE_LEN + 4];
			size_t n = seeded(&regressions[i], rows);
			struct compared x;
			char *stack;

			compared_make(&x, rows, n, RUNS, NOISE, seed);
			stack = first_stack(&x);
			if (strcmp(stack, regressions[i].at))
				print_message("%s: %s\n", regressions[i].what, stack);
			assert_string_equal(stack, regressions[i].at);
			assert_true(x.c.findings[0].is_change);
			assert_int_equal(x.c.findings[0].time.answer, AIF_CHANGE_UP);
			assert_int_equal(x.c.metric[AIF_METRIC_TIME].answer, AIF_CHANGE_UP);
			free(stack);
			finish(&x);
		}
	}
}

/* `more` times as many steps of `work` of the work. */
static void compare_steps(struct compared *x, uint64_t seed, enum aif_compare_unit unit,
			  double more, double work)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN, .unit = unit};
	struct run_row rows[RUNS_BASE_LEN];
	struct aif_err err = {0};

	for (size_t i = 0; i < RUNS_BASE_LEN; i++)
		rows[i] = (struct run_row){runs_base[i].stack, more * work * runs_base[i].ns,
					   more * runs_base[i].launches};
	compared_make(x, rows, RUNS_BASE_LEN, RUNS, NOISE, seed);
	aif_comparison_finish(&x->c);
	for (size_t i = 0; i < x->b.len; i++)
		x->b.runs[i].steps = (uint64_t)(more * RUNS_STEPS);
	if (unit == AIF_UNIT_RUN) {
		side_be_whole(&x->a, 0, 0);
		side_be_whole(&x->b, 0, 0);
	}
	assert_int_equal(aif_compare(&x->a, &x->b, &o, &x->c, &err), 0);
}

static void compare_batch(struct compared *x, uint64_t seed, enum aif_compare_unit unit)
{
	compare_steps(x, seed, unit, 2, 0.6);
}

static void assert_steps_are_named_first(const struct compared *x)
{
	char *stack = first_stack(x);

	assert_string_equal(stack, "train < main");
	assert_int_equal(x->c.findings[0].kind, AIF_FINDING_STEPS);
	assert_true(x->c.findings[0].often > 0 && x->c.findings[0].longer < 0);
	assert_true(x->c.findings[0].delta > 0);
	free(stack);
}

static void a_smaller_batch_is_named_first(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct compared x;

		compare_batch(&x, seed, AIF_UNIT_RUN);
		assert_steps_are_named_first(&x);
		assert_int_equal(x.c.findings[0].time.answer, AIF_CHANGE_UP);
		assert_int_equal(x.c.metric[AIF_METRIC_TIME].answer, AIF_CHANGE_UP);
		assert_int_equal(x.c.metric[AIF_METRIC_LAUNCHES].answer, AIF_CHANGE_UP);
		assert_true(x.c.decides);
		finish(&x);
	}
}

/* Less a step and more a run: no win, unless steps were asked for. */
/* A twentieth more work a run in a few more steps, each of them smaller by more than the margin. */
static void a_few_more_smaller_steps_are_no_win_by_step(void **state)
{
	struct compared x;

	(void)state;
	compare_steps(&x, 1, AIF_UNIT_AUTO, 1.09, 0.955);
	assert_int_equal(x.c.unit, AIF_UNIT_STEP);
	assert_false(x.c.decides);
	assert_non_null(strstr(aif_buf_str(&x.c.problems),
			       "it takes less in B, and a run, of 109 steps and not 100, more"));
	finish(&x);
	/* More of the same steps are only more work. */
	compare_steps(&x, 1, AIF_UNIT_AUTO, 1.09, 1);
	assert_true(x.c.decides);
	finish(&x);
}

static void a_smaller_batch_is_no_win_by_step(void **state)
{
	struct compared x;

	(void)state;
	compare_batch(&x, 1, AIF_UNIT_AUTO);
	assert_int_equal(x.c.unit, AIF_UNIT_STEP);
	assert_steps_are_named_first(&x);
	assert_false(x.c.decides);
	assert_int_equal(x.c.metric[AIF_METRIC_TIME].answer, AIF_CHANGE_UNKNOWN);
	assert_non_null(strstr(aif_buf_str(&x.c.problems),
			       "it takes less in B, and a run, of 200 steps and not 100, more"));
	finish(&x);
	compare_batch(&x, 1, AIF_UNIT_STEP);
	assert_true(x.c.decides);
	assert_int_equal(x.c.metric[AIF_METRIC_TIME].answer, AIF_CHANGE_DOWN);
	assert_non_null(strstr(aif_buf_str(&x.c.notes), "a step is not the same work"));
	finish(&x);
}

/* Twice as many steps of the same work are a longer run, and no change. */
static void more_steps_of_the_same_work_are_the_same(void **state)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct run_row rows[RUNS_BASE_LEN];
	struct aif_err err = {0};
	struct compared x;

	(void)state;
	for (size_t i = 0; i < RUNS_BASE_LEN; i++)
		rows[i] = (struct run_row){runs_base[i].stack, 2 * runs_base[i].ns,
					   2 * runs_base[i].launches};
	compared_make(&x, rows, RUNS_BASE_LEN, RUNS, 0.002, 1);
	aif_comparison_finish(&x.c);
	for (size_t i = 0; i < x.b.len; i++)
		x.b.runs[i].steps = 2 * RUNS_STEPS;
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, &err), 0);
	assert_true(x.c.decides);
	assert_int_equal(x.c.findings_len, 0);
	assert_int_equal(x.c.metric[AIF_METRIC_TIME].answer, AIF_CHANGE_SAME);
	assert_non_null(strstr(aif_buf_str(&x.c.notes),
			       "a run of A has 100 steps, of B 200: one step is compared"));
	finish(&x);
}

static const struct regression moves[] = {
	{"work that another function does",
	 "",
	 "scale_and_shift",
	 {{"main;train;head;scale_and_shift", 1e6, 2}}},
	{"a kernel's work taken over by its neighbour",
	 "",
	 "softmax",
	 {{"main;train;head;softmax", 1e5, 1}, {"main;train;head;mask", 4e5, 1}}},
};

static void moves_between_callees_are_no_regressions(void **state)
{
	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(moves); i++) {
		for (uint64_t seed = 1; seed <= 5; seed++) {
			struct run_row rows[RUNS_BASE_LEN + 4];
			size_t n = seeded(&moves[i], rows);
			struct compared x;

			compared_make(&x, rows, n, RUNS, NOISE, seed);
			assert_int_equal(x.c.findings_len, 1);
			assert_int_equal(x.c.findings[0].kind, AIF_FINDING_MOVED);
			assert_false(x.c.findings[0].is_change);
			assert_true(x.c.findings[0].moves_len >= 2);
			assert_int_equal(x.c.metric[AIF_METRIC_DEVICE].answer, AIF_CHANGE_SAME);
			finish(&x);
		}
	}
}

static void equal_sides_have_no_findings(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct compared x;

		compared_make(&x, runs_base, RUNS_BASE_LEN, RUNS, NOISE, seed);
		assert_int_equal(x.c.findings_len, 0);
		for (unsigned m = 0; m < AIF_METRICS; m++)
			assert_true(x.c.metric[m].answer != AIF_CHANGE_UP &&
				    x.c.metric[m].answer != AIF_CHANGE_DOWN);
		finish(&x);
	}
}

static void swapped_sides_have_the_opposite_signs(void **state)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct run_row rows[RUNS_BASE_LEN + 4];
	struct aif_comparison back = {0};
	struct aif_err err = {0};
	struct compared x;

	(void)state;
	compared_make(&x, rows, seeded(&regressions[0], rows), RUNS, NOISE, 3);
	assert_int_equal(aif_compare(&x.b, &x.a, &o, &back, &err), 0);
	assert_int_equal(back.metric[AIF_METRIC_TIME].answer, AIF_CHANGE_DOWN);
	assert_int_equal(back.findings[0].time.answer, AIF_CHANGE_DOWN);
	assert_true(fabs(back.findings[0].delta + x.c.findings[0].delta) < 1);
	assert_true(
		fabs((1 + back.metric[0].change.estimate) * (1 + x.c.metric[0].change.estimate) -
		     1) < 1e-9);
	aif_comparison_finish(&back);
	finish(&x);
}

static void one_run_a_side_has_differences_and_no_verdict(void **state)
{
	struct run_row rows[RUNS_BASE_LEN + 4];
	struct compared x;

	(void)state;
	compared_make(&x, rows, seeded(&regressions[0], rows), 1, 0.001, 3);
	assert_false(x.c.decides);
	assert_int_equal(x.c.metric[AIF_METRIC_TIME].answer, AIF_CHANGE_UNKNOWN);
	assert_true(x.c.metric[AIF_METRIC_TIME].change.estimate > 0.05);
	assert_true(x.c.findings_len > 0);
	assert_non_null(strstr(aif_buf_str(&x.c.problems), "1 run on a side"));
	finish(&x);
}

static void other_machines_have_no_verdict(void **state)
{
	struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct aif_comparison c = {0};
	struct aif_err err = {0};
	struct compared x;

	(void)state;
	compared_make(&x, runs_base, RUNS_BASE_LEN, RUNS, NOISE, 4);
	assert_true(x.c.decides);
	assert_int_equal(aif_run_set(&x.b.runs[2], AIF_RUN_MACHINE, "other card"), 0);
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &c, &err), 0);
	assert_false(c.decides);
	assert_non_null(strstr(aif_buf_str(&c.problems), "machines differ"));
	aif_comparison_finish(&c);
	o.any_machine = true;
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &c, &err), 0);
	assert_true(c.decides);
	aif_comparison_finish(&c);
	assert_int_equal(aif_run_set(&x.b.runs[2], AIF_RUN_PROBLEM, "the recording was cut short"),
			 0);
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &c, &err), 0);
	assert_false(c.decides);
	aif_comparison_finish(&c);
	finish(&x);
}

static const struct aif_compared_kernel *kernel(const struct aif_comparison *c, const char *a,
						const char *b)
{
	for (size_t i = 0; i < c->kernels_len; i++)
		if ((a && c->kernels[i].a && !strcmp(c->kernels[i].a, a)) ||
		    (b && c->kernels[i].b && !strcmp(c->kernels[i].b, b)))
			return &c->kernels[i];
	return NULL;
}

static void renamed_kernels_have_partners_and_others_none(void **state)
{
	static const struct regression renamed = {
		"",
		"",
		"flash_fwd<64, 128>",
		{{"main;train;attention;flash_fwd<128, 64>", 3e6, 4}}};
	static const struct run_row wide_4[] = {{"main;f;cudaLaunch;wide<4, add>", 1e6, 4},
						{"main;f;cudaLaunch;wide<4, gelu>", 2e6, 4}};
	static const struct run_row wide_8[] = {{"main;f;hipLaunch;wide<8, add>", 1e6, 4},
						{"main;f;hipLaunch;wide<8, gelu>", 2e6, 4}};
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct run_row rows[RUNS_BASE_LEN + 4];
	struct compared x;
	const struct aif_compared_kernel *k;

	(void)state;
	compared_make(&x, rows, seeded(&renamed, rows), RUNS, NOISE, 5);
	k = kernel(&x.c, NULL, "flash_fwd<128, 64>");
	assert_string_equal(k->a, "flash_fwd<64, 128>");
	assert_int_equal(k->matched_by, AIF_PARTNER_NAME);
	assert_int_equal(x.c.findings_len, 0);
	finish(&x);
	compared_make(&x, rows, seeded(&regressions[2], rows), RUNS, NOISE, 5);
	k = kernel(&x.c, "scale_and_shift", NULL);
	assert_null(k->b);
	assert_int_equal(k->matched_by, AIF_PARTNER_NONE);
	k = kernel(&x.c, NULL, "shift");
	assert_null(k->a);
	finish(&x);
	/* Two that are called alike without their arguments, launched by other calls. */
	x.a = side_make("a", wide_4, AIF_ARRAY_LEN(wide_4), RUNS, NOISE, 5);
	x.b = side_make("b", wide_8, AIF_ARRAY_LEN(wide_8), RUNS, NOISE, 6);
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, NULL), 0);
	assert_string_equal(kernel(&x.c, NULL, "wide<8, gelu>")->a, "wide<4, gelu>");
	assert_string_equal(kernel(&x.c, NULL, "wide<8, add>")->a, "wide<4, add>");
	finish(&x);
}

/* ---- the first line -------------------------------------------------------------------------- */

static void assert_summary(const struct compared *x, const char *begin, const char *has)
{
	struct aif_buf text = {0};

	aif_words_summary(&x->c, &text);
	if (strncmp(aif_buf_str(&text), begin, strlen(begin)) || !strstr(aif_buf_str(&text), has))
		assert_int_equal(strncmp(aif_buf_str(&text), begin, strlen(begin)), 0);
	assert_non_null(strstr(aif_buf_str(&text), has));
	aif_buf_finish(&text);
}

static void the_first_line_sums_up(void **state)
{
	struct run_row rows[RUNS_BASE_LEN + 4];
	struct compared x;

	(void)state;
	compared_make(&x, rows, seeded(&regressions[0], rows), RUNS, NOISE, 6);
	assert_summary(&x, "B is slower: +", ", most of it flash_fwd<64, 128>, which takes longer");
	finish(&x);
	compared_make(&x, runs_base, RUNS_BASE_LEN, RUNS, 0.001, 6);
	assert_summary(&x, "the time is the same within 3 %", "");
	finish(&x);
	compared_make(&x, runs_base, RUNS_BASE_LEN, 2, 0.001, 6);
	assert_summary(&x, "cannot tell: 2 runs a side; 3 are needed", "");
	finish(&x);
}

/* Adds a small kernel to runs that vary much: it is known, the whole is not. */
static void parts_are_not_faster_where_nobody_can_tell(void **state)
{
	struct run_row rows[RUNS_BASE_LEN + 1];
	struct aif_buf text = {0};
	struct compared x;

	(void)state;
	memcpy(rows, runs_base, sizeof(runs_base));
	rows[RUNS_BASE_LEN] = (struct run_row){"main;train;head;added", 2e5, 1};
	compared_make(&x, rows, RUNS_BASE_LEN + 1, RUNS, 0.15, 6);
	aif_comparison_text(&x.c, 0, 0, &text);
	assert_int_equal(x.c.metric[AIF_METRIC_TIME].answer, AIF_CHANGE_UNKNOWN);
	assert_non_null(strstr(aif_buf_str(&text), "cannot tell whether the time changed"));
	assert_non_null(strstr(aif_buf_str(&text), "more time"));
	assert_null(strstr(aif_buf_str(&text), "slower"));
	assert_null(strstr(aif_buf_str(&text), "faster"));
	aif_buf_finish(&text);
	finish(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_not_faster_where_nobody_can_tell),
		cmocka_unit_test(each_seeded_regression_is_named_first),
		cmocka_unit_test(a_smaller_batch_is_named_first),
		cmocka_unit_test(a_smaller_batch_is_no_win_by_step),
		cmocka_unit_test(a_few_more_smaller_steps_are_no_win_by_step),
		cmocka_unit_test(more_steps_of_the_same_work_are_the_same),
		cmocka_unit_test(moves_between_callees_are_no_regressions),
		cmocka_unit_test(equal_sides_have_no_findings),
		cmocka_unit_test(swapped_sides_have_the_opposite_signs),
		cmocka_unit_test(one_run_a_side_has_differences_and_no_verdict),
		cmocka_unit_test(other_machines_have_no_verdict),
		cmocka_unit_test(renamed_kernels_have_partners_and_others_none),
		cmocka_unit_test(the_first_line_sums_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
