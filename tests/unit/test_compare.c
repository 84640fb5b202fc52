/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fixture_runs.h"

#include "compare/gate.h"
#include "compare/words.h"

#include <errno.h>

enum { RUNS = 5 };
#define NOISE 0.01

/* A step of 10 ms. */
static const struct run_row base[] = {
	{"main;train;attention;flash_fwd<64, 128>", 3e6, 4},
	{"main;train;block;gemm_64x64_tn", 2e6, 4},
	{"main;train;block;scale_and_shift", 1e6, 2},
	{"main;train;head;logits", 1e6, 1},
	{"main;train;head;softmax", 5e5, 1},
	{"main;train;load;copy_in", 5e5, 1},
	{"main;train;load;[idle: host]", 1e6, 0},
	{"main;train;[idle: wait]", 1e6, 0},
};
#define BASE_LEN AIF_ARRAY_LEN(base)

static void compare(struct compared *x, const struct run_row *b, size_t b_len, size_t runs,
		    double noise, uint64_t seed)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct aif_err err = {0};

	x->a = side_make("before", base, BASE_LEN, runs, noise, seed);
	x->b = side_make("after", b, b_len, runs, noise, seed + 1000);
	assert_int_equal(aif_compare(&x->a, &x->b, &o, &x->c, &err), 0);
}

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
	const char *gone; /* rows of the base whose stack ends so are taken away; NULL: none */
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

	for (size_t i = 0; i < BASE_LEN; i++) {
		const char *end = strrchr(base[i].stack, ';') + 1;

		if (!r->gone || strcmp(end, r->gone))
			rows[n++] = base[i];
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
			struct run_row rows[BASE_LEN + 4];
			size_t n = seeded(&regressions[i], rows);
			struct compared x;
			char *stack;

			compare(&x, rows, n, RUNS, NOISE, seed);
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

/* Twice as many steps of 0.6 of the work. */
static void compare_batch(struct compared *x, uint64_t seed, enum aif_compare_unit unit)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN, .unit = unit};
	struct run_row rows[BASE_LEN];
	struct aif_err err = {0};

	for (size_t i = 0; i < BASE_LEN; i++)
		rows[i] = (struct run_row){base[i].stack, 1.2 * base[i].ns, 2 * base[i].launches};
	compare(x, rows, BASE_LEN, RUNS, NOISE, seed);
	aif_comparison_finish(&x->c);
	for (size_t i = 0; i < x->b.len; i++)
		x->b.runs[i].steps = 2 * RUNS_STEPS;
	if (unit == AIF_UNIT_RUN) {
		side_be_whole(&x->a, 0, 0);
		side_be_whole(&x->b, 0, 0);
	}
	assert_int_equal(aif_compare(&x->a, &x->b, &o, &x->c, &err), 0);
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
	struct run_row rows[BASE_LEN];
	struct aif_err err = {0};
	struct compared x;

	(void)state;
	for (size_t i = 0; i < BASE_LEN; i++)
		rows[i] = (struct run_row){base[i].stack, 2 * base[i].ns, 2 * base[i].launches};
	compare(&x, rows, BASE_LEN, RUNS, 0.002, 1);
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
			struct run_row rows[BASE_LEN + 4];
			size_t n = seeded(&moves[i], rows);
			struct compared x;

			compare(&x, rows, n, RUNS, NOISE, seed);
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

		compare(&x, base, BASE_LEN, RUNS, NOISE, seed);
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
	struct run_row rows[BASE_LEN + 4];
	struct aif_comparison back = {0};
	struct aif_err err = {0};
	struct compared x;

	(void)state;
	compare(&x, rows, seeded(&regressions[0], rows), RUNS, NOISE, 3);
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
	struct run_row rows[BASE_LEN + 4];
	struct compared x;

	(void)state;
	compare(&x, rows, seeded(&regressions[0], rows), 1, 0.001, 3);
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
	compare(&x, base, BASE_LEN, RUNS, NOISE, 4);
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
	struct run_row rows[BASE_LEN + 4];
	struct compared x;
	const struct aif_compared_kernel *k;

	(void)state;
	compare(&x, rows, seeded(&renamed, rows), RUNS, NOISE, 5);
	k = kernel(&x.c, NULL, "flash_fwd<128, 64>");
	assert_string_equal(k->a, "flash_fwd<64, 128>");
	assert_int_equal(k->matched_by, AIF_PARTNER_NAME);
	assert_int_equal(x.c.findings_len, 0);
	finish(&x);
	compare(&x, rows, seeded(&regressions[2], rows), RUNS, NOISE, 5);
	k = kernel(&x.c, "scale_and_shift", NULL);
	assert_null(k->b);
	assert_int_equal(k->matched_by, AIF_PARTNER_NONE);
	k = kernel(&x.c, NULL, "shift");
	assert_null(k->a);
	finish(&x);
}

/* ---- the first line -------------------------------------------------------------------------- */

static void assert_summary(const struct compared *x, const char *begin, const char *has)
{
	struct aif_buf text = {0};

	aif_words_summary(&x->c, &text);
	if (strncmp(aif_buf_str(&text), begin, strlen(begin)) || !strstr(aif_buf_str(&text), has))
		print_message("%s\n", aif_buf_str(&text));
	assert_int_equal(strncmp(aif_buf_str(&text), begin, strlen(begin)), 0);
	assert_non_null(strstr(aif_buf_str(&text), has));
	aif_buf_finish(&text);
}

static void the_first_line_sums_up(void **state)
{
	struct run_row rows[BASE_LEN + 4];
	struct compared x;

	(void)state;
	compare(&x, rows, seeded(&regressions[0], rows), RUNS, NOISE, 6);
	assert_summary(&x, "B is slower: +", ", most of it flash_fwd<64, 128>, which takes longer");
	finish(&x);
	compare(&x, base, BASE_LEN, RUNS, 0.001, 6);
	assert_summary(&x, "the time is the same within 3 %", "");
	finish(&x);
	compare(&x, base, BASE_LEN, 2, 0.001, 6);
	assert_summary(&x, "cannot tell: 2 runs a side; 3 are needed", "");
	finish(&x);
}

/* ---- gates ----------------------------------------------------------------------------------- */

static enum aif_gate_answer gate(const struct compared *x, const char *budgets, const char *says)
{
	struct aif_budgets b = {0};
	struct aif_gate g = {0};
	struct aif_buf text = {0};
	struct aif_err err = {0};
	enum aif_gate_answer answer;

	assert_int_equal(aif_budgets_add_text(&b, budgets, "test", &err), 0);
	assert_int_equal(aif_gate_judge(&x->c, &b, NULL, 0, &g), 0);
	aif_gate_text(&g, &text);
	aif_gate_markdown(&g, &text);
	aif_gate_json(&g, &text);
	aif_gate_junit(&g, &text);
	aif_gate_annotations(&g, &text);
	if (!strstr(aif_buf_str(&text), says))
		print_message("%s", aif_buf_str(&text));
	assert_non_null(strstr(aif_buf_str(&text), says));
	answer = g.answer;
	aif_buf_finish(&text);
	aif_gate_finish(&g);
	aif_budgets_finish(&b);
	return answer;
}

static void gates_keep_exceed_and_cannot_tell(void **state)
{
	struct run_row rows[BASE_LEN + 4];
	struct compared x;

	(void)state;
	compare(&x, rows, seeded(&regressions[0], rows), RUNS, NOISE, 6);
	assert_int_equal(gate(&x, "time +3%", "gate: regression"), AIF_GATE_EXCEEDED);
	assert_int_equal(gate(&x, "time +30%", "kept"), AIF_GATE_KEPT);
	assert_int_equal(gate(&x, "time +3% +2ms", "gate: fine"), AIF_GATE_KEPT);
	assert_int_equal(gate(&x, "kernel:/flash/ +5% +20us", "slower"), AIF_GATE_EXCEEDED);
	assert_int_equal(gate(&x, "kernel:/gemm/ +5%\nlaunches 0 # none", "gate: fine"),
			 AIF_GATE_KEPT);
	assert_int_equal(gate(&x, "stack:/attention/ +5%", "slower"), AIF_GATE_EXCEEDED);
	assert_int_equal(gate(&x, "stack:/block/ +5%", "kept"), AIF_GATE_KEPT);
	assert_int_equal(gate(&x, "kernel:/nowhere/ +5%", "missing in 5 of 5 runs of A"),
			 AIF_GATE_UNKNOWN);
	assert_int_equal(gate(&x, "tok_s -2%", "missing"), AIF_GATE_UNKNOWN);
	assert_int_equal(gate(&x, "busy >= 60%", "kept"), AIF_GATE_KEPT);
	assert_int_equal(gate(&x, "busy >= 99%", "<failure"), AIF_GATE_EXCEEDED);
	assert_int_equal(gate(&x, "time <= 20ms", "kept"), AIF_GATE_KEPT);
	assert_int_equal(gate(&x, "time <= 5ms\nkernel:/nowhere/ +5%", "::error"),
			 AIF_GATE_EXCEEDED);
	finish(&x);
}

static void operators_and_ranges_have_budgets(void **state)
{
	struct compared x;

	(void)state;
	compare(&x, base, BASE_LEN, RUNS, 0.002, 6);
	assert_int_equal(gate(&x, "op:/gelu/ +5%", "missing in 5 of 5 runs of A"),
			 AIF_GATE_UNKNOWN);
	assert_int_equal(gate(&x, "range:/step/ +5%", "missing"), AIF_GATE_UNKNOWN);
	side_add_operators(&x.a, 1);
	side_add_operators(&x.b, 1.1);
	assert_int_equal(gate(&x, "op:/^aten::addmm$/ +5%", "slower, +10.0 %"), AIF_GATE_EXCEEDED);
	/* Nested ones that match count once: 110 -> 120 of 100 steps. */
	assert_int_equal(gate(&x, "op:/linear|addmm/ +5%", "1.1 ms -> 1.2 ms"), AIF_GATE_EXCEEDED);
	assert_int_equal(gate(&x, "op:/gelu/ +5%", "kept"), AIF_GATE_KEPT);
	assert_int_equal(gate(&x, "range:/^decode$/ +5% +20us", "slower"), AIF_GATE_EXCEEDED);
	assert_int_equal(gate(&x, "range:/^decode$/ +5% +1ms", "kept"), AIF_GATE_KEPT);
	assert_int_equal(gate(&x, "range:/prefill/ +5%", "kept"), AIF_GATE_KEPT);
	assert_int_equal(gate(&x, "range:/prefill/ <= 3ms", "kept"), AIF_GATE_KEPT);
	assert_int_equal(gate(&x, "range:/gelu/ +5%\nop:/prefill/ +5%", "missing"),
			 AIF_GATE_UNKNOWN);
	finish(&x);
}

static void what_is_gone_is_no_win(void **state)
{
	struct compared x;

	(void)state;
	compare(&x, base + 1, BASE_LEN - 1, RUNS, NOISE, 7);
	assert_int_equal(gate(&x, "kernel:/flash/ +5%", "missing in 5 of 5 runs of B"),
			 AIF_GATE_UNKNOWN);
	finish(&x);
	/* New in B: nothing to be a part of. */
	compare(&x, base, BASE_LEN, RUNS, NOISE, 7);
	for (size_t i = 0; i < x.a.len; i++) {
		aif_run_finish(&x.a.runs[i]);
		x.a.runs[i] = run_make(base + 1, BASE_LEN - 1, NOISE, &(uint64_t){i});
	}
	assert_int_equal(gate(&x, "kernel:/flash/ +5% +20us", "exceeded"), AIF_GATE_EXCEEDED);
	finish(&x);
}

static void a_wide_budget_makes_no_sameness(void **state)
{
	struct compared x;

	(void)state;
	compare(&x, base, BASE_LEN, RUNS, 0.10, 8);
	assert_int_equal(gate(&x, "time +300%", "time +300%  within the budget, "), AIF_GATE_KEPT);
	finish(&x);
}

/* Values below 0, of which more is better: half as much again is worse. */
static void values_below_nothing_are_judged_by_their_signs(void **state)
{
	static const double values[] = {-5, -5, -5, -5, -5, -10, -10, -10, -10, -10};
	static const double better[] = {-10, -10, -10, -10, -10, -5, -5, -5, -5, -5};
	struct aif_gate_value given = {"score", values};
	struct aif_budgets b = {0};
	struct aif_gate g = {0};
	struct compared x;

	(void)state;
	compare(&x, base, BASE_LEN, RUNS, 0.001, 8);
	assert_int_equal(aif_budgets_add(&b, "score -2%", "test", NULL), 0);
	assert_int_equal(aif_gate_judge(&x.c, &b, &given, 1, &g), 0);
	assert_int_equal(g.answer, AIF_GATE_EXCEEDED);
	aif_gate_finish(&g);
	given.values = better;
	assert_int_equal(aif_gate_judge(&x.c, &b, &given, 1, &g), 0);
	assert_int_equal(g.answer, AIF_GATE_KEPT);
	aif_gate_finish(&g);
	aif_budgets_finish(&b);
	finish(&x);
}

static void noise_is_no_verdict(void **state)
{
	struct compared x;

	(void)state;
	compare(&x, base, BASE_LEN, RUNS, 0.10, 8);
	assert_int_equal(gate(&x, "time +3%", "runs a side would tell"), AIF_GATE_UNKNOWN);
	finish(&x);
	compare(&x, base, BASE_LEN, 2, 0.001, 8);
	assert_int_equal(gate(&x, "time +3%", "no verdict: 2 runs on a side"), AIF_GATE_UNKNOWN);
	finish(&x);
}

/* ---- budgets --------------------------------------------------------------------------------- */

static void budgets_that_mean_nothing_are_refused(void **state)
{
	static const char *const wrong[] = {
		"time",
		"time 3%",
		"time +3%%",
		"kernel:gemm +3%",
		"kernel:/(/ +3%",
		"launches +3us",
		"busy +3%",
		"busy >= 60",
		"time <= 12",
		"time <=",
		"time +3% -3%",
		"tok_s >= 5ms",
		"time <= 5ms 3",
		"kernel:// +3%",
		"time -3%",
		"launches -3%",
		"kernel:/x/ -3%",
		"time +3",
		"time +3KiB",
		"op:mm +3%",
		"time +0x10%",
		"busy >= 200%",
		"kernel:/a{1,255}{1,255}{1,255}/ +3%",
		"kernel:/a++++++++++++++++++++++++++++++++/ +3%",
		"kernel:/((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+/ +3%",
		"kernel:/([[:alpha:]]{1,255}){1,255}/ +3%",
		"range:// +3%",
		"op:/x/ -3%",
		"range:/x/ +3",
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(wrong); i++) {
		struct aif_budgets b = {0};
		struct aif_err err = {0};
		int r = aif_budgets_add(&b, wrong[i], "file", &err);

		assert_int_equal(r, -EINVAL);
		assert_true(strstr(err.text, "file: budget") ||
			    strstr(err.text, "regular expression"));
		aif_budgets_finish(&b);
	}
}

/* Expressions that repeat much, but not what they repeat. */
static void usual_expressions_are_read(void **state)
{
	static const char *const right[] = {
		"kernel:/^[a-z]+_[0-9]+x[0-9]+_[a-z]+_[0-9]+_[0-9]+_[0-9]+_[0-9]+_[0-9]+_[0-9]+_[0-9]+$/ +3%",
		"kernel:/(a)+(b)+(c)+(d)+(e)+(f)+(g)+(h)+(i)+(j)+(k)+(l)+(m)+(n)+(o)+(p)+(q)+/ +3%",
		"kernel:/a\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+\\+[+++++++++++++++++++]/ +3%",
		"kernel:/((fp16|bf16)+(_[0-9]{1,3}){2,4})+.*?/ +3%",
		"kernel:/[]+][^]+]+x/ +3%",
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(right); i++) {
		struct aif_budgets b = {0};
		struct aif_err err = {0};

		assert_int_equal(aif_budgets_add(&b, right[i], "file", &err), 0);
		aif_budgets_finish(&b);
	}
}

static void budgets_are_read(void **state)
{
	struct aif_budgets b = {0};
	struct aif_err err = {0};

	(void)state;
	assert_int_equal(aif_budgets_add_text(&b,
					      "# what may happen\n\n  time +3%\n"
					      "kernel:/a b/ +5% +20us # both\ntok_s -2%\nbusy>=1\n",
					      "file", &err),
			 -EINVAL);
	assert_int_equal(b.len, 3);
	assert_true(b.budget[0].of == AIF_BUDGET_METRIC && b.budget[0].part == 0.03);
	assert_string_equal(b.budget[1].name, "kernel:/a b/");
	assert_true(fabs(b.budget[1].absolute - 20000) < 1e-9);
	assert_true(b.budget[2].more_is_better && fabs(b.budget[2].part - 0.02) < 1e-12);
	assert_int_equal(aif_budgets_add_text(&b, "launches +3\ntime 0\n", "file", NULL), 0);
	assert_int_equal(aif_budgets_add_text(&b,
					      "kernel:/lambda[(][)]#1/ +3% # 1/2\n# kernel:/x/ y\n"
					      "stack:/a\\/b #c/ <= 1ms#x\nkernel:/x/ +1% #",
					      "file", NULL),
			 0);
	assert_int_equal(b.len, 8);
	assert_string_equal(b.budget[5].text, "kernel:/lambda[(][)]#1/ +3%");
	assert_string_equal(b.budget[6].name, "stack:/a\\/b #c/");
	assert_true(aif_regex_matches(&b.budget[6].re, "a/b #c"));
	aif_budgets_finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_seeded_regression_is_named_first),
		cmocka_unit_test(a_smaller_batch_is_named_first),
		cmocka_unit_test(a_smaller_batch_is_no_win_by_step),
		cmocka_unit_test(more_steps_of_the_same_work_are_the_same),
		cmocka_unit_test(moves_between_callees_are_no_regressions),
		cmocka_unit_test(equal_sides_have_no_findings),
		cmocka_unit_test(swapped_sides_have_the_opposite_signs),
		cmocka_unit_test(one_run_a_side_has_differences_and_no_verdict),
		cmocka_unit_test(other_machines_have_no_verdict),
		cmocka_unit_test(renamed_kernels_have_partners_and_others_none),
		cmocka_unit_test(the_first_line_sums_up),
		cmocka_unit_test(gates_keep_exceed_and_cannot_tell),
		cmocka_unit_test(operators_and_ranges_have_budgets),
		cmocka_unit_test(what_is_gone_is_no_win),
		cmocka_unit_test(a_wide_budget_makes_no_sameness),
		cmocka_unit_test(values_below_nothing_are_judged_by_their_signs),
		cmocka_unit_test(noise_is_no_verdict),
		cmocka_unit_test(budgets_that_mean_nothing_are_refused),
		cmocka_unit_test(usual_expressions_are_read),
		cmocka_unit_test(budgets_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
