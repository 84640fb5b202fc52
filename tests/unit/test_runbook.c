/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/classes.h"
#include "runbook/grown.h"
#include "runbook/layers.h"
#include "runbook/judge.h"
#include "runbook/runbook.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void unknown(struct aif_runbook_values *v)
{
	*v = (struct aif_runbook_values){0};
	for (size_t i = 0; i < AIF_RUNBOOK_VALUES; i++)
		v->of[i] = v->least[i] = v->most[i] = NAN;
}

/* True if the one signal that fires is `name`. */
static bool fires(const struct aif_runbook_values *v, const struct aif_runbook_values *base,
		  const char *name)
{
	struct aif_runbook_signal s[AIF_RUNBOOK_SIGNALS_MAX];
	size_t n = aif_runbook_signals(v, base, s);

	return n == 1 && !strcmp(s[0].signal, name);
}

static void each_rule_fires_beyond_its_limit_and_is_silent_at_it(void **state)
{
	static const struct {
		enum aif_runbook_value of;
		const char *signal;
		double at, beyond;
	} rows[] = {
		{AIF_RUNBOOK_IPC, "low IPC", 0.6, 0.59},
		{AIF_RUNBOOK_CACHE, "cache misses", 0.25, 0.26},
		{AIF_RUNBOOK_MEMORY, "memory bound", 20, 20.1},
		{AIF_RUNBOOK_DEVICE_MEMORY, "device memory bound", 0.5, 0.51},
		{AIF_RUNBOOK_OUTSIDE, "outside the expected", 0.25, 0.26},
		{AIF_RUNBOOK_DTLB, "data TLB misses", 0.005, 0.0051},
		{AIF_RUNBOOK_WALKS_KINST, "page walks", 0.05, 0.051},
		{AIF_RUNBOOK_MAJOR_FAULTS, "major faults", 10, 11},
	};
	struct aif_runbook_signal s[AIF_RUNBOOK_SIGNALS_MAX];
	struct aif_runbook_values v;

	(void)state;
	unknown(&v);
	assert_int_equal(aif_runbook_signals(&v, NULL, s), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unknown(&v);
		v.of[rows[i].of] = rows[i].at;
		assert_int_equal(aif_runbook_signals(&v, NULL, s), 0);
		v.of[rows[i].of] = rows[i].beyond;
		assert_true(fires(&v, NULL, rows[i].signal));
	}
}

static void rules_of_change_need_another_run(void **state)
{
	static const struct {
		enum aif_runbook_value of;
		const char *signal;
		double before, kept, worse;
	} rows[] = {
		{AIF_RUNBOOK_TOK_S, "throughput drop", 100, 97.5, 96.5},
		{AIF_RUNBOOK_STEPS_S, "throughput drop", 100, 97.5, 96.5},
		{AIF_RUNBOOK_IPC, "low IPC", 2, 1.91, 1.89},
		{AIF_RUNBOOK_OUTSIDE, "outside the expected", 0.1, 0.14, 0.16},
	};
	struct aif_runbook_signal s[AIF_RUNBOOK_SIGNALS_MAX];
	struct aif_runbook_values v, base;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unknown(&v);
		unknown(&base);
		v.of[rows[i].of] = rows[i].worse;
		assert_int_equal(aif_runbook_signals(&v, NULL, s), 0);
		assert_int_equal(aif_runbook_signals(&v, &base, s), 0);
		base.of[rows[i].of] = rows[i].before;
		assert_true(fires(&v, &base, rows[i].signal));
		v.of[rows[i].of] = rows[i].kept;
		assert_int_equal(aif_runbook_signals(&v, &base, s), 0);
	}
}

/* Runs of which nothing changed have no major fault, or one. */
static void major_faults_need_ten_a_second_and_more_than_the_runs_before(void **state)
{
	static const struct {
		double seconds, before, most, silent, fires;
	} rows[] = {
		{NAN, 0, NAN, 10, 11},   {0.2, 0, 0, 10, 11},     {5, 0, 1, 50, 51},
		{1, 120, NAN, 120, 121}, {1, 120, 130, 130, 131}, {1, NAN, NAN, 10, 11},
	};
	struct aif_runbook_signal s[AIF_RUNBOOK_SIGNALS_MAX];
	struct aif_runbook_values v, base;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++) {
		unknown(&v);
		unknown(&base);
		v.of[AIF_RUNBOOK_ELAPSED] = rows[i].seconds;
		base.of[AIF_RUNBOOK_MAJOR_FAULTS] = rows[i].before;
		base.most[AIF_RUNBOOK_MAJOR_FAULTS] = rows[i].most;
		v.of[AIF_RUNBOOK_MAJOR_FAULTS] = rows[i].silent;
		assert_int_equal(aif_runbook_signals(&v, &base, s), 0);
		v.of[AIF_RUNBOOK_MAJOR_FAULTS] = rows[i].fires;
		assert_true(fires(&v, &base, "major faults"));
	}
	/* Holds a run by itself against the limit alone. */
	v.of[AIF_RUNBOOK_MAJOR_FAULTS] = 10;
	assert_int_equal(aif_runbook_signals(&v, NULL, s), 0);
	v.of[AIF_RUNBOOK_MAJOR_FAULTS] = 11;
	assert_true(fires(&v, NULL, "major faults"));
}

static void what_a_run_before_had_in_one_of_its_runs_is_no_change(void **state)
{
	struct aif_runbook_signal s[AIF_RUNBOOK_SIGNALS_MAX];
	struct aif_runbook_values v, base;

	(void)state;
	unknown(&v);
	unknown(&base);
	base.of[AIF_RUNBOOK_IPC] = 2;
	base.least[AIF_RUNBOOK_IPC] = 1.7;
	base.most[AIF_RUNBOOK_IPC] = 2.1;
	v.of[AIF_RUNBOOK_IPC] = 1.75;
	assert_int_equal(aif_runbook_signals(&v, &base, s), 0);
	v.of[AIF_RUNBOOK_IPC] = 1.69;
	assert_true(fires(&v, &base, "low IPC"));
	/* Runs that hardly differ leave the part of the table. */
	base.least[AIF_RUNBOOK_IPC] = 2;
	v.of[AIF_RUNBOOK_IPC] = 1.91;
	assert_int_equal(aif_runbook_signals(&v, &base, s), 0);
}

static void a_metric_of_the_project_with_a_direction_has_the_throughput_signal(void **state)
{
	static const struct {
		double before, after;
		char direction;
		bool fires;
	} rows[] = {
		{100, 2, '<', true},  {100, 96.9, '<', true},  {100, 97.1, '<', false},
		{2, 100, '<', false}, {100, 103.1, '>', true}, {100, 102.9, '>', false},
		{100, 2, '>', false}, {100, 2, 0, false},      {-1, -0.9, '>', true},
		{NAN, 1, '<', false}, {1, NAN, '<', false},    {0, 1, '>', false},
		{0, -1, '<', false},
	};
	struct aif_runbook_signal s;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++)
		assert_int_equal(aif_runbook_metric_signal("train_tok_s", 11, rows[i].direction,
							   rows[i].before, rows[i].after, &s),
				 rows[i].fires);
	assert_true(aif_runbook_metric_signal("a=b", 1, '<', 100, 2, &s));
	assert_string_equal(s.signal, "throughput drop");
	assert_int_equal(s.key_len, 1);
	assert_true(s.threshold == 97 && s.value == 2);
}

static void a_missing_metric_is_neither_passed_nor_failed(void **state)
{
	struct aif_runbook_check c[AIF_RUNBOOK_BUDGETS];
	double budgets[AIF_RUNBOOK_BUDGETS];
	struct aif_runbook_values v;

	(void)state;
	unknown(&v);
	aif_runbook_budgets("default", budgets);
	v.of[AIF_RUNBOOK_TOK_S] = 8;
	assert_int_equal(aif_runbook_judge(&v, budgets, c), AIF_RUNBOOK_CANNOT_TELL);
	assert_string_equal(c[0].reason, "ok");
	assert_string_equal(c[1].reason, "missing");
	v.of[AIF_RUNBOOK_TOK_S] = 7.9;
	assert_int_equal(aif_runbook_judge(&v, budgets, c), AIF_RUNBOOK_FAIL);
	assert_string_equal(c[0].reason, "below_threshold");
	v.of[AIF_RUNBOOK_TOK_S] = 9;
	v.of[AIF_RUNBOOK_IPC] = 0.6;
	v.of[AIF_RUNBOOK_CACHE] = 0.25;
	v.of[AIF_RUNBOOK_BRANCH] = 0.08;
	assert_int_equal(aif_runbook_judge(&v, budgets, c), AIF_RUNBOOK_PASS);
	v.of[AIF_RUNBOOK_BRANCH] = 0.09;
	assert_int_equal(aif_runbook_judge(&v, budgets, c), AIF_RUNBOOK_FAIL);
	assert_string_equal(c[3].reason, "above_threshold");
}

static void the_environment_replaces_budgets(void **state)
{
	double budgets[AIF_RUNBOOK_BUDGETS];

	(void)state;
	setenv("CK_V7_PERF_MIN_IPC", "1.5", 1);
	setenv("CK_V7_PERF_QWEN3_MIN_IPC", "2.5", 1);
	setenv("CK_V7_PERF_MAX_CACHE_MISS_RATE", "much", 1);
	aif_runbook_budgets("qwen3", budgets);
	assert_true(budgets[AIF_RUNBOOK_MIN_IPC] == 2.5);
	assert_true(budgets[AIF_RUNBOOK_MAX_CACHE] == 0.25);
	aif_runbook_budgets("gemma", budgets);
	assert_true(budgets[AIF_RUNBOOK_MIN_IPC] == 1.5);
	unsetenv("CK_V7_PERF_MIN_IPC");
	unsetenv("CK_V7_PERF_QWEN3_MIN_IPC");
	unsetenv("CK_V7_PERF_MAX_CACHE_MISS_RATE");
	assert_string_equal(aif_runbook_family("/runs/Qwen3--0.6B/"), "qwen3");
	assert_string_equal(aif_runbook_family("/qwen2/other"), "default");
}

static void names_have_classes(void **state)
{
	static const struct {
		const char *name, *class;
	} rows[] = {
		{"gemm_nt_avx512", "gemm"},
		{"flash_fwd_kernel", "attention"},
		{"RMSNorm_forward", "norm"},
		{"__memcpy_avx_unaligned", "copy"},
		{"ncclDevKernel_AllReduce", "communication"},
		{"main", "glue"},
		{"(no samples)", "none"},
		{"vectorized_elementwise", "elementwise"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(aif_runbook_class_name(aif_runbook_class_of(
					    rows[i].name, strlen(rows[i].name))),
				    rows[i].class);
	/* The file and module of a frame are not its function. */
	assert_int_equal(aif_runbook_class_of_frame("run (gemm.py)", 13), AIF_RUNBOOK_GLUE);
	assert_int_equal(aif_runbook_class_of_frame("[libgemm.so+0x1]", 16), AIF_RUNBOOK_GLUE);
	assert_int_equal(aif_runbook_class_of_frame("Attention.forward (a.py)", 24),
			 AIF_RUNBOOK_ATTENTION);
}

static void grown_is(const char *before, const char *after, const char *wanted)
{
	struct aif_buf a = {0}, b = {0}, out = {0};

	aif_buf_puts(&a, before);
	aif_buf_puts(&b, after);
	assert_int_equal(aif_runbook_grown(&a, &b, &out), wanted != NULL);
	assert_string_equal(aif_buf_str(&out), wanted ? wanted : "");
	aif_buf_finish(&a);
	aif_buf_finish(&b);
	aif_buf_finish(&out);
}

static void stacks_that_grew_have_a_greater_share(void **state)
{
	(void)state;
	/* Twice as long, and all in the same parts: nothing grew. */
	grown_is("a;b 50\na;c 50\n", "a;b 100\na;c 100\n", "[]");
	grown_is("a;b 50\na;c 50\n", "a;b 20\na;c 60\nnew one 20\n",
		 "[{\"stack\": \"new one\", \"before\": 0.0000, \"after\": 0.2000}, "
		 "{\"stack\": \"a;c\", \"before\": 0.5000, \"after\": 0.6000}]");
	/* A point is the least. */
	grown_is("a 5000\nb 5000\n", "a 5099\nb 4901\n", "[]");
	/* The last line without its end; a stack that stands twice is one. */
	grown_is("a 9\nb 1", "a 5\nb 2\nb 3",
		 "[{\"stack\": \"b\", \"before\": 0.1000, \"after\": 0.5000}]");
	grown_is("", "a 1\n", NULL);
	grown_is("a 1\n",
		 "a\n 1\na -1\na 0\na nan\na inf\na 1e99\n"
		 "a 11111111111111111111111111111111111111111111\n",
		 NULL);
}

static void functions_that_grew_have_a_greater_share_of_their_own(void **state)
{
	struct aif_buf a = {0}, b = {0}, out = {0};

	(void)state;
	aif_buf_puts(&a, "m;f_[p] 40\nm;g;f_[p] 10\nm;g 50\n");
	aif_buf_puts(&b, "m;f_[p] 40\nm;x;f_[p] 40\nm;g 20\n");
	assert_true(aif_runbook_grown_functions(&a, &b, &out));
	assert_string_equal(aif_buf_str(&out), "grew          50.0 % ->  80.0 %  f\n");
	aif_buf_clear(&a);
	assert_false(aif_runbook_grown_functions(&a, &b, &out));
	aif_buf_finish(&a);
	aif_buf_finish(&b);
	aif_buf_finish(&out);
}

static void ranges_give_layers(void **state)
{
	static const struct {
		const char *name;
		int64_t layer;
	} names[] = {{"layer 3", 3},
		     {"Layer_12", 12},
		     {"model.layers.0", 0},
		     {"block7", 7},
		     {"layer", -1},
		     {"transformer.h.5", 5},
		     {"h5", -1},
		     {"", -1},
		     {"multilayer 3", -1},
		     {"7", -1},
		     {"layer 1234567", -1},
		     {"decode 3", -1}};
	struct aif_runbook_layers l = {0};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		assert_int_equal(aif_runbook_layer_of(names[i].name), names[i].layer);
	assert_int_equal(aif_runbook_layer_at(&l, 5), -1);
	assert_int_equal(aif_runbook_layer_add(&l, "layer 1", 10, 50), 0);
	assert_int_equal(aif_runbook_layer_add(&l, "block 2", 20, 30), 0); /* within it */
	assert_int_equal(aif_runbook_layer_add(&l, "attention", 25, 26), 0);
	assert_int_equal(aif_runbook_layer_add(&l, "layer 3", 60, 70), 0);
	assert_int_equal(l.len, 3);
	assert_int_equal(aif_runbook_layer_at(&l, 9), -1);
	assert_int_equal(aif_runbook_layer_at(&l, 10), 1);
	assert_int_equal(aif_runbook_layer_at(&l, 25), 2);
	assert_int_equal(aif_runbook_layer_at(&l, 30), 1);
	assert_int_equal(aif_runbook_layer_at(&l, 50), -1);
	assert_int_equal(aif_runbook_layer_at(&l, 69), 3);
	assert_int_equal(aif_runbook_layer_at(&l, 70), -1);
	free(l.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_fires_beyond_its_limit_and_is_silent_at_it),
		cmocka_unit_test(rules_of_change_need_another_run),
		cmocka_unit_test(major_faults_need_ten_a_second_and_more_than_the_runs_before),
		cmocka_unit_test(what_a_run_before_had_in_one_of_its_runs_is_no_change),
		cmocka_unit_test(
			a_metric_of_the_project_with_a_direction_has_the_throughput_signal),
		cmocka_unit_test(a_missing_metric_is_neither_passed_nor_failed),
		cmocka_unit_test(the_environment_replaces_budgets),
		cmocka_unit_test(names_have_classes),
		cmocka_unit_test(ranges_give_layers),
		cmocka_unit_test(functions_that_grew_have_a_greater_share_of_their_own),
		cmocka_unit_test(stacks_that_grew_have_a_greater_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
