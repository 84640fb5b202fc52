/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which ranges a thread was in at a moment, and what is selected by them. */
#include "fixture_ops.h"

#include "analysis/cpu_totals.h"
#include "analysis/exec_timeline.h"
#include "analysis/range_index.h"
#include "base/map.h"

static bool is_b(void *arg, const char *name)
{
	(void)arg;
	return !strcmp(name, "b");
}

/* "a/b" for a chain. */
static const char *path_of(const struct aif_range_index *x, uint32_t thread, int64_t at)
{
	static char text[8000];
	uint32_t chain = aif_range_index_at(x, thread, at), chains[AIF_RANGE_CHAIN + 1];
	unsigned n = 0;

	text[0] = '\0';
	for (; chain != AIF_NONE; chain = x->chains[chain].parent) {
		assert_true(n < AIF_RANGE_CHAIN);
		chains[n++] = chain;
	}
	while (n) {
		strcat(text, aif_strset_get(&x->names, x->chains[chains[--n]].name, NULL));
		strcat(text, n ? "/" : "");
	}
	return text;
}

static void a_moment_has_the_ranges_that_are_open(void **state)
{
	struct aif_range_index x;
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_add(&f, 0, 40, 60, AIF_OP_RANGE, "inner"); /* rows come by their ends */
	ops_add(&f, 0, 10, 100, AIF_OP_RANGE, "a");
	ops_add(&f, 0, 70, 120, AIF_OP_RANGE, "b"); /* of another domain: ends later */
	ops_add(&f, 0, 80, 80, AIF_OP_RANGE, "a moment");
	ops_add(&f, 0, 0, 1000, AIF_OP_STEP, "step");
	ops_add(&f, 0, 0, 1000, AIF_OP_OPERATOR, "aten::mm");
	ops_add(&f, 1, 50, 55, AIF_OP_RANGE, "of another thread");
	ops_add(&f, 0, 200, 300, AIF_OP_RANGE, "same");
	ops_add(&f, 0, 200, 300, AIF_OP_RANGE, "time");
	ops_read(&f);
	assert_int_equal(aif_range_index_make(&f.p, is_b, NULL, &x), 0);
	assert_string_equal(path_of(&x, 0, 9), "");
	assert_string_equal(path_of(&x, 0, 10), "a");
	assert_string_equal(path_of(&x, 0, 40), "a/inner");
	assert_string_equal(path_of(&x, 0, 59), "a/inner");
	assert_string_equal(path_of(&x, 0, 60), "a");
	assert_string_equal(path_of(&x, 0, 80), "a/b");
	assert_string_equal(path_of(&x, 0, 100), "b");
	assert_string_equal(path_of(&x, 0, 119), "b");
	assert_string_equal(path_of(&x, 0, 120), "");
	assert_string_equal(path_of(&x, 0, 250), "same/time");
	assert_string_equal(path_of(&x, 0, INT64_MAX), "");
	assert_string_equal(path_of(&x, 0, INT64_MIN), "");
	assert_string_equal(path_of(&x, 1, 52), "of another thread");
	assert_string_equal(path_of(&x, 2, 52), "");
	assert_string_equal(path_of(&x, AIF_NONE, 52), "");
	assert_false(aif_range_index_keeps(&x, 0, 50));
	assert_true(aif_range_index_keeps(&x, 0, 80));
	assert_true(aif_range_index_keeps(&x, 0, 110));
	assert_false(aif_range_index_keeps(&x, 0, 130));
	assert_false(aif_range_index_keeps(&x, 1, 110));
	aif_range_index_finish(&x);
	ops_end(&f);
}

static void names_that_differ_in_numbers_are_one_where_they_are_many(void **state)
{
	struct aif_range_index x;
	struct ops_fixture f;
	char name[32];

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "step %u of 100", i);
		ops_add(&f, 0, 10 * i, 10 * i + 10, AIF_OP_RANGE, name);
		snprintf(name, sizeof(name), "layer %u", i % AIF_RANGE_VARIANTS);
		ops_add(&f, 0, 10 * i + 2, 10 * i + 8, AIF_OP_RANGE, name);
	}
	ops_read(&f);
	assert_int_equal(aif_range_index_make(&f.p, NULL, NULL, &x), 0);
	assert_string_equal(path_of(&x, 0, 5), "step * of */layer 0");
	assert_string_equal(path_of(&x, 0, 995), "step * of */layer 35");
	assert_int_equal(x.chains_len, 1 + AIF_RANGE_VARIANTS);
	aif_range_index_finish(&x);
	ops_end(&f);
}

static void deeper_ones_are_left_out(void **state)
{
	struct aif_range_index x;
	struct ops_fixture f;
	uint32_t chain;
	unsigned n = 0;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	for (unsigned i = 0; i < 3 * AIF_RANGE_CHAIN; i++)
		ops_add(&f, 0, i, 1000 - i, AIF_OP_RANGE, "deep");
	ops_add(&f, 0, 1000, 1010, AIF_OP_RANGE, "later");
	ops_read(&f);
	assert_int_equal(aif_range_index_make(&f.p, NULL, NULL, &x), 0);
	for (chain = aif_range_index_at(&x, 0, 500); chain != AIF_NONE; n++)
		chain = x.chains[chain].parent;
	assert_int_equal(n, AIF_RANGE_CHAIN);
	assert_string_equal(path_of(&x, 0, 1005), "later");
	aif_range_index_finish(&x);
	ops_end(&f);
}

static uint64_t wall_of(const struct aif_attribution *a, uint32_t range)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < a->rows_len; i++)
		ns += a->rows[i].range == range ? a->rows[i].wall_ns : 0;
	return ns;
}

static void device_time_is_of_the_launchs_ranges(void **state)
{
	struct aif_selection sel = {0};
	struct aif_attribution a;
	struct aif_range_index x;
	struct aif_err err = {0};
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_add(&f, 0, 10, 100, AIF_OP_RANGE, "a");
	ops_add(&f, 0, 40, 60, AIF_OP_RANGE, "b");
	ops_exec(&f, 0, 5, 0, 1000, 1001, "gemm");
	ops_exec(&f, 0, 50, 0, 1010, 1030, "gemm");
	ops_exec(&f, 0, 55, 0, 1030, 1040, "gemm");
	ops_exec(&f, 0, 70, 0, 1040, 1340, "gemm");
	ops_exec(&f, 1, 150, 0, 2000, 6000, "gemm"); /* while no thread is in a range */
	ops_exec(&f, AIF_NONE, 50, 0, 6000, 6005, "gemm");
	ops_read(&f);
	assert_int_equal(aif_range_index_make(&f.p, is_b, NULL, &x), 0);
	sel.ranges = &x;
	sel.by_range = true;
	assert_ok(aif_attribution_compute(&f.p, &sel, &a, &err), &err);
	assert_int_equal(wall_of(&a, 0), 4006);
	assert_int_equal(wall_of(&a, 1 + aif_range_index_at(&x, 0, 50)), 30);
	assert_int_equal(wall_of(&a, 1 + aif_range_index_at(&x, 0, 70)), 300);
	assert_true(aif_conservation_check(&a.conservation, NULL));
	aif_attribution_finish(&a);
	sel.by_range = false;
	sel.in_ranges = true;
	assert_ok(aif_attribution_compute(&f.p, &sel, &a, &err), &err);
	assert_int_equal(a.conservation.busy_ns, 30);
	assert_int_equal(a.conservation.launches, 2);
	assert_int_equal(wall_of(&a, 0), 30);
	aif_attribution_finish(&a);
	/* The whole is not what was left in the file's cache by a part. */
	assert_ok(aif_attribution_compute(&f.p, NULL, &a, &err), &err);
	assert_int_equal(a.conservation.busy_ns, 4336);
	aif_attribution_finish(&a);
	aif_range_index_finish(&x);
	ops_end(&f);
}

/* Autograd's thread (1) launches while the program's (0) is in a range. */
static void device_time_of_other_threads_is_of_the_only_thread_in_a_range(void **state)
{
	struct aif_selection sel = {.in_ranges = true};
	const struct aif_exec_timeline *timeline;
	struct aif_attribution a;
	struct aif_range_index x;
	struct aif_err err = {0};
	struct ops_fixture f;
	bool is_other;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	FIXTURE_ADD(&f.made, threads, .process = 0, .tid = 110, .name = AIF_NONE);
	ops_add(&f, 0, 10, 100, AIF_OP_RANGE, "a");
	ops_add(&f, 0, 40, 60, AIF_OP_RANGE, "b");
	ops_add(&f, 1, 52, 54, AIF_OP_RANGE, "its own");
	ops_add(&f, 1, 70, 75, AIF_OP_RANGE, "c");
	ops_exec(&f, 0, 45, 0, 1000, 1001, "gemm");
	ops_exec(&f, 1, 45, 0, 1001, 1011, "gemm");
	ops_exec(&f, 1, 53, 0, 1011, 1111, "gemm"); /* in its own thread's */
	ops_exec(&f, 1, 80, 0, 1111, 2111, "gemm"); /* in a */
	ops_exec(&f, 1, 100, 0, 2111, 12111, "gemm");
	ops_read(&f);
	assert_int_equal(aif_range_index_make(&f.p, is_b, NULL, &x), 0);
	assert_int_equal(aif_range_index_of_launch(&x, 1, 45, &is_other),
			 aif_range_index_at(&x, 0, 45));
	assert_true(is_other);
	assert_int_equal(aif_range_index_of_launch(&x, 0, 45, &is_other),
			 aif_range_index_at(&x, 0, 45));
	assert_false(is_other);
	assert_int_equal(aif_range_index_of_launch(&x, 1, 53, &is_other),
			 aif_range_index_at(&x, 1, 53));
	assert_false(is_other);
	assert_int_equal(aif_range_index_of_launch(&x, 1, 9, &is_other), AIF_NONE);
	assert_int_equal(aif_range_index_of_launch(&x, 1, 100, &is_other), AIF_NONE);
	/* Two threads are in ranges: a third one's launch is of neither. */
	assert_int_equal(aif_range_index_of_launch(&x, 3, 53, &is_other), AIF_NONE);
	assert_true(aif_range_index_of_launch(&x, 3, 56, &is_other) != AIF_NONE);
	/* A thread of another process. */
	assert_int_equal(aif_range_index_of_launch(&x, 2, 56, &is_other), AIF_NONE);
	assert_int_equal(aif_range_index_of_launch(&x, AIF_NONE, 45, &is_other), AIF_NONE);
	assert_false(aif_range_index_keeps(&x, 1, 45));
	sel.ranges = &x;
	assert_ok(aif_attribution_compute(&f.p, &sel, &a, &err), &err);
	assert_int_equal(a.conservation.busy_ns, 11);
	assert_int_equal(a.for_others_ns, 10);
	aif_attribution_finish(&a);
	assert_int_equal(aif_exec_timeline_get(&f.p, &sel, &timeline), 0);
	assert_int_equal(timeline->execs_len, 2);
	assert_int_equal(timeline->captured, 2);
	assert_int_equal((int)timeline->for_others_ns, 10);
	aif_facts_put(timeline);
	sel.in_ranges = false;
	sel.by_range = true;
	assert_ok(aif_attribution_compute(&f.p, &sel, &a, &err), &err);
	assert_int_equal(wall_of(&a, 1 + aif_range_index_at(&x, 0, 45)), 11);
	assert_int_equal(wall_of(&a, 1 + aif_range_index_at(&x, 0, 80)), 1000);
	assert_int_equal(wall_of(&a, 0), 10000);
	aif_attribution_finish(&a);
	aif_range_index_finish(&x);
	ops_end(&f);
}

/* A pool's thread (1) works and waits while the program's (0) is in a range. */
static void cpu_time_of_other_threads_is_of_the_only_thread_in_a_range(void **state)
{
	static const struct aif_cpu_row rows[] = {
		{OPS_START + 45, 1, 0, 0, AIF_NONE, 0, 0, 0, 0},
		{OPS_START + 46, 2, 0, 1, AIF_NONE, 0, 0, 0, 0},
		{OPS_START + 47, 0, 4, 1, AIF_NONE, 0, 0, 0, 0},   /* it waits */
		{OPS_START + 53, 8, 0, 1, AIF_NONE, 0, 0, 0, 0},   /* in its own range */
		{OPS_START + 80, 16, 0, 1, AIF_NONE, 0, 0, 0, 0},  /* in a */
		{OPS_START + 47, 32, 0, 2, AIF_NONE, 0, 0, 0, 0},  /* another process's */
		{OPS_START + 110, 64, 0, 1, AIF_NONE, 0, 0, 0, 0}, /* after all ranges */
	};
	struct aif_selection sel = {.in_ranges = true};
	struct aif_buf said = {0};
	struct aif_cpu_totals t;
	struct aif_range_index x;
	struct aif_err err = {0};
	struct ops_fixture f;

	(void)state;
	ops_begin(&f, NULL, "cuda");
	ops_add(&f, 0, 10, 100, AIF_OP_RANGE, "a");
	ops_add(&f, 0, 40, 60, AIF_OP_RANGE, "b");
	ops_add(&f, 1, 52, 54, AIF_OP_RANGE, "its own");
	assert_ok(aif_writer_cpu(f.w, rows, AIF_ARRAY_LEN(rows), &err), &err);
	ops_read(&f);
	assert_int_equal(aif_range_index_make(&f.p, is_b, NULL, &x), 0);
	sel.ranges = &x;
	assert_ok(aif_cpu_totals(&f.p, &sel, &t, &err), &err);
	assert_int_equal(t.weight_ns, 3);
	assert_int_equal(t.waiting_ns, 0);
	assert_int_equal(t.for_others_ns, 2);
	aif_cpu_totals_say(&f.p, &t, &said);
	assert_non_null(strstr(aif_buf_str(&said), "of which 2 ns by other threads"));
	aif_buf_finish(&said);
	aif_cpu_totals_finish(&t);
	sel.in_ranges = false;
	sel.by_range = true;
	assert_ok(aif_cpu_totals(&f.p, &sel, &t, &err), &err);
	assert_int_equal(t.weight_ns, 123);
	for (size_t i = 0; i < t.stacks_len; i++) {
		const struct aif_cpu_stack *s = &t.stacks[i];

		if (s->range == 1 + aif_range_index_at(&x, 0, 45))
			assert_int_equal(s->weight_ns, 3);
		else if (s->range == 1 + aif_range_index_at(&x, 0, 80))
			assert_int_equal(s->weight_ns, 16);
		else if (s->range)
			assert_int_equal(s->weight_ns, 8);
		else
			assert_int_equal(s->weight_ns, s->waiting ? 4 : 96);
	}
	assert_int_equal(t.stacks_len, 5);
	aif_cpu_totals_finish(&t);
	aif_range_index_finish(&x);
	ops_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_moment_has_the_ranges_that_are_open),
		cmocka_unit_test(names_that_differ_in_numbers_are_one_where_they_are_many),
		cmocka_unit_test(deeper_ones_are_left_out),
		cmocka_unit_test(device_time_is_of_the_launchs_ranges),
		cmocka_unit_test(device_time_of_other_threads_is_of_the_only_thread_in_a_range),
		cmocka_unit_test(cpu_time_of_other_threads_is_of_the_only_thread_in_a_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
