/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fixture_gate.h"

#include <errno.h>
#include <math.h>

enum { RUNS = 5 };
#define NOISE 0.01

/* ---- gates ----------------------------------------------------------------------------------- */

static void gates_keep_exceed_and_cannot_tell(void **state)
{
	struct run_row rows[RUNS_BASE_LEN];
	struct compared x;

	(void)state;
	memcpy(rows, runs_base, sizeof(rows));
	rows[0].ns *= 1.2;
	compared_make(&x, rows, RUNS_BASE_LEN, RUNS, NOISE, 6);
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
	compared_make(&x, runs_base, RUNS_BASE_LEN, RUNS, 0.002, 6);
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
	compared_make(&x, runs_base + 1, RUNS_BASE_LEN - 1, RUNS, NOISE, 7);
	assert_int_equal(gate(&x, "kernel:/flash/ +5%", "missing in 5 of 5 runs of B"),
			 AIF_GATE_UNKNOWN);
	finish(&x);
	/* New in B: nothing to be a part of. */
	compared_make(&x, runs_base, RUNS_BASE_LEN, RUNS, NOISE, 7);
	for (size_t i = 0; i < x.a.len; i++) {
		aif_run_finish(&x.a.runs[i]);
		x.a.runs[i] = run_make(runs_base + 1, RUNS_BASE_LEN - 1, NOISE, &(uint64_t){i});
	}
	assert_int_equal(gate(&x, "kernel:/flash/ +5% +20us", "exceeded"), AIF_GATE_EXCEEDED);
	finish(&x);
}

/* A metric of which neither side has any is no proof of anything. */
static void what_no_side_has_is_missing(void **state)
{
	struct run_row rows[RUNS_BASE_LEN + 1];
	struct compared x;

	(void)state;
	compared_make(&x, runs_base, RUNS_BASE_LEN, RUNS, NOISE, 7);
	assert_int_equal(gate(&x, "communication +3%", "no communication in either side"),
			 AIF_GATE_UNKNOWN);
	assert_int_equal(gate(&x, "copies +3%", "no copies in either side"), AIF_GATE_UNKNOWN);
	assert_int_equal(gate(&x, "bytes 0", "no copies in either side"), AIF_GATE_UNKNOWN);
	assert_int_equal(gate(&x, "communication <= 1ms", "no communication in it"),
			 AIF_GATE_UNKNOWN);
	for (size_t i = 0; i < RUNS; i++)
		x.a.runs[i].is_cpu = x.b.runs[i].is_cpu = true;
	assert_int_equal(gate(&x, "launches 0", "no device was used"), AIF_GATE_UNKNOWN);
	assert_int_equal(gate(&x, "copies +3%", "no device was used"), AIF_GATE_UNKNOWN);
	for (size_t i = 0; i < RUNS; i++)
		x.b.runs[i].is_counts = true;
	assert_int_equal(gate(&x, "time +3%", "5 of 5 runs of B: counts have no times"),
			 AIF_GATE_UNKNOWN);
	finish(&x);
	/* All of it is hidden by computation. */
	memcpy(rows, runs_base, sizeof(runs_base));
	rows[RUNS_BASE_LEN] = (struct run_row){"main;train;block;ncclDevKernel_AllReduce", 1e5, 1};
	compared_make(&x, rows, RUNS_BASE_LEN + 1, RUNS, NOISE, 7);
	assert_int_equal(gate(&x, "communication +3%", "kept"), AIF_GATE_KEPT);
	for (size_t i = 0; i < RUNS; i++) {
		struct aif_run without = x.a.runs[i];

		x.a.runs[i] = x.b.runs[i];
		x.b.runs[i] = without;
	}
	assert_int_equal(gate(&x, "communication +3%", "5 of 5 runs of B: no communication in it"),
			 AIF_GATE_UNKNOWN);
	finish(&x);
}

static void a_wide_budget_makes_no_sameness(void **state)
{
	struct compared x;

	(void)state;
	compared_make(&x, runs_base, RUNS_BASE_LEN, RUNS, 0.10, 8);
	assert_int_equal(gate(&x, "time +300%", "time +300%  within the budget, "), AIF_GATE_KEPT);
	finish(&x);
}

/* Values below 0, of which more is better: half as much again is worse. */
static void values_below_nothing_are_judged_by_their_signs(void **state)
{
	static const double values[] = {-5, -5, -5, -5, -5, -10, -10, -10, -10, -10};
	static const double better[] = {-10, -10, -10, -10, -10, -5, -5, -5, -5, -5};
	struct aif_gate_value given = {.name = "score", .values = values};
	struct aif_budgets b = {0};
	struct aif_gate g = {0};
	struct compared x;

	(void)state;
	compared_make(&x, runs_base, RUNS_BASE_LEN, RUNS, 0.001, 8);
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
	compared_make(&x, runs_base, RUNS_BASE_LEN, RUNS, 0.10, 8);
	assert_int_equal(gate(&x, "time +3%", "runs a side would tell"), AIF_GATE_UNKNOWN);
	finish(&x);
	compared_make(&x, runs_base, RUNS_BASE_LEN, 2, 0.001, 8);
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
		"kernel:/a*+++++++++++++/ +3%",
		"kernel:/(^)+++++++++++++/ +3%",
		"kernel:/(((((((a|)+)+)+)+)+)+)+/ +3%",
		"range:// +3%",
		"op:/x/ -3%",
		"range:/x/ +3",
		"tok_s higher +3%",
		"ttft lower -3%",
		"tok_s higher",
		"time higher +3%",
		"tok_s -3% higher",
		"time +3% +300%",
		"time +3us +3s",
		"time +3% 0 +3us",
		"time >= 1ms",
		"kernel:/x/ >= 1ms",
		"busy <= 60%",
		"busy -3%",
		"tok_s higher <= 5",
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
	assert_non_null(strstr(err.text, "file:6: budget 'busy>=1'"));
	assert_int_equal(b.len, 3);
	assert_true(b.budget[0].of == AIF_BUDGET_METRIC && b.budget[0].part == 0.03);
	assert_string_equal(b.budget[1].name, "kernel:/a b/");
	assert_true(fabs(b.budget[1].absolute - 20000) < 1e-9);
	assert_true(b.budget[2].better == AIF_BUDGET_MORE && fabs(b.budget[2].part - 0.02) < 1e-12);
	assert_int_equal(aif_budgets_add_text(&b, "launches +3\ntime 0\n", "file", NULL), 0);
	assert_int_equal(aif_budgets_add_text(&b,
					      "kernel:/lambda[(][)]#1/ +3% # 1/2\n# kernel:/x/ y\n"
					      "stack:/a\\/b #c/ <= 1ms#x\nkernel:/x/ +1% #",
					      "file", NULL),
			 0);
	assert_int_equal(b.len, 8);
	assert_int_equal(aif_budgets_add_text(&b,
					      "tok_s higher 0\nttft lower 0\nx +3%\nx 0\nx -3% 0\n",
					      "file", NULL),
			 0);
	assert_int_equal(b.budget[8].better, AIF_BUDGET_MORE);
	assert_int_equal(b.budget[9].better, AIF_BUDGET_LESS);
	assert_int_equal(b.budget[10].better, AIF_BUDGET_NOT_SAID);
	assert_int_equal(b.budget[11].better, AIF_BUDGET_NOT_SAID);
	assert_int_equal(b.budget[12].better, AIF_BUDGET_MORE);
	assert_string_equal(b.budget[5].text, "kernel:/lambda[(][)]#1/ +3%");
	assert_string_equal(b.budget[6].name, "stack:/a\\/b #c/");
	assert_true(aif_regex_matches(&b.budget[6].re, "a/b #c"));
	aif_budgets_finish(&b);
}

/* Gives the first row's change where nobody can tell; `x` has runs of values[2][3] ns a unit. */
static void assert_unknown(const double values[6], const char *budget, const char *says)
{
	struct aif_gate_value given = {.name = "score", .values = values};
	struct aif_budgets b = {0};
	struct aif_gate g = {0};
	struct aif_buf said = {0};
	struct compared x;

	compared_make(&x, runs_base, RUNS_BASE_LEN, 3, 0.001, 8);
	assert_int_equal(aif_budgets_add_text(&b, budget, "test", NULL), 0);
	assert_int_equal(aif_gate_judge(&x.c, &b, &given, 1, &g), 0);
	aif_gate_say(&g, &g.rows[0], &said);
	if (g.rows[0].answer != AIF_GATE_UNKNOWN || !strstr(aif_buf_str(&said), says))
		print_message("%s\n", aif_buf_str(&said));
	assert_int_equal(g.rows[0].answer, AIF_GATE_UNKNOWN);
	assert_non_null(strstr(aif_buf_str(&said), says));
	aif_buf_finish(&said);
	aif_gate_finish(&g);
	aif_budgets_finish(&b);
	finish(&x);
}

/* A latency that falls to nothing was not measured; a value that may be negative is judged as it is. */
static void a_value_that_falls_to_nothing_is_no_pass(void **state)
{
	static const double gone[] = {5, 5, 5, 5, 0, 5}, negative[] = {5, 5, 5, -1, -1, -1},
			    signed_values[] = {5, -5, 5, -5, 5, -5},
			    nan[] = {5, 5, 5, 5, 5, (double)NAN};

	(void)state;
	assert_unknown(gone, "score lower +5%", "0 or less in 1 of 3 runs of B");
	assert_unknown(negative, "score lower +5%", "0 or less in 3 of 3 runs of B");
	assert_unknown(nan, "score lower +5%", "missing in 1 of 3 runs of B");
	assert_unknown(signed_values, "score lower +5%", "runs a side");
}

/* Names of a profile are text in a comment of a pull request: no link, no picture, no mention. */
static void markdown_shows_names_as_they_are(void **state)
{
	static char name[] = "<img src=x> [a](b) @all | *c*";
	struct aif_budgets b = {0};
	struct aif_gate g = {0};
	struct aif_buf out = {0};
	struct compared x;

	(void)state;
	compared_make(&x, runs_base, RUNS_BASE_LEN, 3, 0.001, 8);
	free(x.b.name);
	x.b.name = strdup(name);
	assert_int_equal(aif_budgets_add(&b, "time +5%", "test", NULL), 0);
	assert_int_equal(aif_gate_judge(&x.c, &b, NULL, 0, &g), 0);
	aif_gate_markdown(&g, &out);
	assert_non_null(
		strstr(aif_buf_str(&out), "\\<img src=x\\> \\[a\\]\\(b\\) &#64;all \\| \\*c\\*"));
	aif_buf_finish(&out);
	aif_gate_finish(&g);
	aif_budgets_finish(&b);
	finish(&x);
}

/* Runs that all break a limit do so however far apart they are; if one does not, nobody can tell. */
static void a_limit_that_each_run_breaks_is_exceeded(void **state)
{
	static const double all[] = {1, 1, 1, 110, 205, 420}, some[] = {1, 1, 1, 90, 205, 420};
	struct aif_gate_value given = {.name = "score", .values = all};
	struct aif_budgets b = {0};
	struct aif_gate g = {0};
	struct compared x;

	(void)state;
	compared_make(&x, runs_base, RUNS_BASE_LEN, 3, 0.001, 8);
	assert_int_equal(aif_budgets_add_text(&b, "score <= 100", "test", NULL), 0);
	assert_int_equal(aif_gate_judge(&x.c, &b, &given, 1, &g), 0);
	assert_true(g.rows[0].low < 100);
	assert_int_equal(g.rows[0].answer, AIF_GATE_EXCEEDED);
	aif_gate_finish(&g);
	aif_budgets_finish(&b);
	finish(&x);
	assert_unknown(some, "score <= 100", "");
}

/* Only a change near its budget is said to be close to it. */
static void the_reason_why_nobody_can_tell_fits(void **state)
{
	static const double far[] = {100, 101, 102, 110, 205, 420};
	static const double close[] = {100, 99, 101, 105, 104.1, 105.8};
	static const double chance[] = {100, 101, 102, 109, 112, 114};

	(void)state;
	assert_unknown(far, "score lower +5%", "runs a side would tell");
	assert_unknown(close, "score lower +5%",
		       "too close to the budget: 1000 runs a side would not");
	assert_unknown(
		chance,
		"score lower +5%\nscore lower +6%\nscore lower +7%\nscore lower +7.5%\nscore lower +8%",
		"chance");
	assert_unknown(chance, "score lower +5% +12", "beyond the budget's amount");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gates_keep_exceed_and_cannot_tell),
		cmocka_unit_test(operators_and_ranges_have_budgets),
		cmocka_unit_test(what_is_gone_is_no_win),
		cmocka_unit_test(what_no_side_has_is_missing),
		cmocka_unit_test(a_wide_budget_makes_no_sameness),
		cmocka_unit_test(values_below_nothing_are_judged_by_their_signs),
		cmocka_unit_test(noise_is_no_verdict),
		cmocka_unit_test(the_reason_why_nobody_can_tell_fits),
		cmocka_unit_test(a_value_that_falls_to_nothing_is_no_pass),
		cmocka_unit_test(markdown_shows_names_as_they_are),
		cmocka_unit_test(a_limit_that_each_run_breaks_is_exceeded),
		cmocka_unit_test(budgets_that_mean_nothing_are_refused),
		cmocka_unit_test(usual_expressions_are_read),
		cmocka_unit_test(budgets_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
