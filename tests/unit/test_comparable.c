/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons against a verdict of a comparison. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fixture_runs.h"

#include <errno.h>

enum { RUNS = 5 };
#define NOISE 0.01

static const struct run_row base[] = {
	{"main;train;gemm_64x64_tn", 2e6, 4},
	{"main;train;softmax", 5e5, 1},
	{"main;train;[idle: wait]", 1e6, 0},
};
#define BASE_LEN AIF_ARRAY_LEN(base)

static void compare(struct compared *x, size_t runs)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct aif_err err = {0};

	x->a = side_make("before", base, BASE_LEN, runs, NOISE, 4);
	x->b = side_make("after", base, BASE_LEN, runs, NOISE, 1004);
	assert_int_equal(aif_compare(&x->a, &x->b, &o, &x->c, &err), 0);
}

/* Sets an amount of each run of a side. */
static void set_amount(struct aif_side *s, enum aif_run_amount which, uint64_t v)
{
	for (size_t i = 0; i < s->len; i++)
		s->runs[i].amount[which] = v;
}

/* Compares what is there again: true if it decides; else a reason has `why`, as has a note where it decides. */
static bool decides(const struct compared *x, const struct aif_compare_opts *o, const char *why)
{
	struct aif_comparison c = {0};
	struct aif_err err = {0};
	bool ret;

	assert_int_equal(aif_compare(&x->a, &x->b, o, &c, &err), 0);
	ret = c.decides;
	if (!strstr(aif_buf_str(ret ? &c.notes : &c.problems), why))
		fail_msg("%s", aif_buf_str(ret ? &c.notes : &c.problems));
	aif_comparison_finish(&c);
	return ret;
}

static void other_clocks_and_limits_have_no_verdict(void **state)
{
	struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct aif_err err = {0};
	struct compared x;

	(void)state;
	compare(&x, RUNS);
	set_amount(&x.a, AIF_RUN_CLOCK, 1980000);
	assert_true(decides(&x, &o, "clocks are known in A only"));
	set_amount(&x.b, AIF_RUN_CLOCK, 1950000);
	assert_true(decides(&x, &o, ""));
	set_amount(&x.b, AIF_RUN_CLOCK, 1755000);
	assert_false(decides(&x, &o, "clocks differ: 1980 MHz in A, 1755 MHz in B"));
	o.any_machine = true;
	assert_true(decides(&x, &o, "clocks differ"));
	o.any_machine = false;
	for (size_t i = 0; i < RUNS; i++) {
		assert_int_equal(aif_run_to_cycles(&x.a.runs[i], &err), 0);
		assert_int_equal(aif_run_to_cycles(&x.b.runs[i], &err), 0);
	}
	assert_true(decides(&x, &o, ""));
	set_amount(&x.a, AIF_RUN_POWER_LIMIT, 700000);
	set_amount(&x.b, AIF_RUN_POWER_LIMIT, 500000);
	assert_false(decides(&x, &o, "power limits differ: 700 W in A, 500 W in B"));
	set_amount(&x.b, AIF_RUN_POWER_LIMIT, 700000);
	x.b.runs[3].amount[AIF_RUN_CAPPED] = 400000;
	assert_true(decides(&x, &o, "held clocks down: 0.00 % of the time in A, 8.00 % in B"));
	x.b.runs[3].amount[AIF_RUN_THROTTLED] = 100000;
	assert_false(decides(&x, &o, "throttled for 10.0 % of the time"));
	finish(&x);
}

static void cycles_are_times_by_the_clock(void **state)
{
	struct aif_side a = side_make("a", base, BASE_LEN, 1, NOISE, 1);
	struct aif_run *r = &a.runs[0];
	struct aif_err err = {0};
	uint64_t total = r->tree.nodes[0].total, busy = r->amount[AIF_RUN_BUSY],
		 launches = r->amount[AIF_RUN_LAUNCHES], kernel = r->kernels[0].ns;

	(void)state;
	assert_int_equal(aif_run_to_cycles(r, &err), -ENODATA);
	assert_false(r->in_cycles);
	r->amount[AIF_RUN_CLOCK] = 2000000;
	assert_int_equal(aif_run_to_cycles(r, &err), 0);
	assert_int_equal(r->tree.nodes[0].total, 2 * total);
	assert_int_equal(r->amount[AIF_RUN_BUSY], 2 * busy);
	assert_int_equal(r->amount[AIF_RUN_LAUNCHES], launches);
	assert_int_equal(r->kernels[0].ns, 2 * kernel);
	aif_side_finish(&a);
}

static void parts_of_one_recording_are_one_run(void **state)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	double values[] = {1, 4, 3, 10};
	struct aif_comparison c = {0};
	struct aif_err err = {0};
	struct compared x;

	(void)state;
	compare(&x, 4);
	x.b.runs[0].recording = x.b.runs[2].recording = 7;
	assert_true(decides(&x, &o,
			    "B: parts of one recording count as one run: 4 parts of 3 "
			    "recordings"));
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &c, &err), 0);
	assert_int_equal(c.metric[AIF_METRIC_TIME].change.a_len, 4);
	assert_int_equal(c.metric[AIF_METRIC_TIME].change.b_len, 3);
	aif_comparison_finish(&c);
	x.b.runs[1].recording = 7;
	assert_false(decides(&x, &o, "2 runs on a side"));
	x.b.runs[1].recording = 8;
	assert_int_equal(aif_compare_join_parts(&x.b, values), 3);
	assert_true(values[0] == 2 && values[1] == 4 && values[2] == 10);
	finish(&x);
}

static void an_interrupted_run_is_said_to_be(void **state)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct compared x;

	(void)state;
	compare(&x, RUNS);
	x.b.runs[1].amount[AIF_RUN_STATUS] = 1;
	assert_false(decides(&x, &o, "exit statuses differ: run.data ended with 0"));
	x.b.runs[1].amount[AIF_RUN_STATUS] = 130;
	assert_false(
		decides(&x, &o, "a run was interrupted: run.data ended with 0, run.data with 130"));
	finish(&x);
}

static void a_run_on_both_sides_is_no_evidence(void **state)
{
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN};
	struct compared x;

	(void)state;
	compare(&x, RUNS);
	for (size_t i = 0; i < RUNS; i++) {
		x.a.runs[i].hash = x.a.runs[i].recording = i + 1;
		x.b.runs[i].hash = x.b.runs[i].recording = i + 1;
	}
	assert_false(decides(&x, &o, "A and B are the same runs"));
	for (size_t i = 1; i < RUNS; i++)
		x.b.runs[i].hash = x.b.runs[i].recording = 100 + i;
	assert_false(decides(&x, &o, "1 run is on both sides (run.data)"));
	x.b.runs[0].hash = 100;
	assert_true(decides(&x, &o, "parts of one recording are on both sides"));
	x.b.runs[0].recording = 100;
	assert_true(decides(&x, &o, ""));
	finish(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_clocks_and_limits_have_no_verdict),
		cmocka_unit_test(cycles_are_times_by_the_clock),
		cmocka_unit_test(parts_of_one_recording_are_one_run),
		cmocka_unit_test(an_interrupted_run_is_said_to_be),
		cmocka_unit_test(a_run_on_both_sides_is_no_evidence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
