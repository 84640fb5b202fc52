/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fixture_runs.h"

#include "compare/run_file.h"

#define NOISE 0.01

static const struct run_row base[] = {
	{"main;train;attention;flash_fwd<64, 128>", 3e6, 4},
	{"main;train;block;gemm_64x64_tn", 2e6, 4},
	{"main;train;load;copy_in", 5e5, 1},
	{"main;train;load;[idle: host]", 1e6, 0},
};
#define BASE_LEN AIF_ARRAY_LEN(base)

static void a_reduced_run_is_read_as_it_was_written(void **state)
{
	struct aif_buf first = {0}, second = {0};
	struct aif_err err = {0};
	struct aif_side a = side_make("a", base, BASE_LEN, 1, NOISE, 1), b = {.name = strdup("b")};

	(void)state;
	for (unsigned i = AIF_RUN_MEMORY; i < AIF_RUN_AMOUNTS; i++)
		a.runs[0].amount[i] = 1000 + i;
	a.runs[0].recording = 12345;
	a.runs[0].start_s = 1;
	side_add_operators(&a, 1);
	run_add_ranges(&a.runs[0], "token 1", 1);
	run_add_ranges(&a.runs[0], "token 2", 499);
	run_add_ranges(&a.runs[0], "a\tb", 7);
	assert_int_equal(aif_run_set(&a.runs[0], AIF_RUN_LABEL, "tab\tline\nback\\slash"), 0);
	assert_int_equal(aif_run_write(&a.runs[0], &first), 0);
	assert_int_equal(aif_grow(&b.runs, &b.cap, 1, sizeof(*b.runs)), 0);
	assert_int_equal(aif_run_read((char *)first.data, first.len, "x", &b.runs[0], &err), 0);
	b.len = 1;
	assert_string_equal(aif_run_text(&b.runs[0], AIF_RUN_LABEL), "tab\tline\nback\\slash");
	assert_int_equal(b.runs[0].recording, 12345);
	assert_int_equal(aif_run_ranges(&b.runs[0], "token"), 500);
	assert_int_equal(aif_run_ranges(&b.runs[0], "a\tb"), 7);
	assert_int_equal(aif_run_ranges(&b.runs[0], "step"), 0);
	assert_memory_equal(a.runs[0].amount, b.runs[0].amount, sizeof(b.runs[0].amount));
	assert_int_equal(a.runs[0].tree.nodes[0].total, b.runs[0].tree.nodes[0].total);
	for (unsigned by = 0; by < AIF_RUN_BYS; by++) {
		assert_int_equal(a.runs[0].by[by].len, b.runs[0].by[by].len);
		assert_int_equal(a.runs[0].by[by].nodes[0].total, b.runs[0].by[by].nodes[0].total);
	}
	assert_int_equal(aif_run_write(&b.runs[0], &second), 0);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
	aif_buf_finish(&first);
	aif_buf_finish(&second);
	aif_side_finish(&a);
	aif_side_finish(&b);
}

/* Thousands of kernels and operators with long names: the file is small, and says how much was left out. */
static void a_run_of_many_kernels_is_cut_to_the_size_of_a_baseline(void **state)
{
	struct aif_run r = {.path = strdup("x")}, back = {0};
	struct aif_buf out = {0};
	struct aif_err err = {0};
	const struct aif_compare_opts o = {.margin = AIF_CHANGE_MARGIN, .unit = AIF_UNIT_RUN};
	struct compared x;
	uint64_t all = 0;

	(void)state;
	assert_int_equal(aif_tree_init(&r.tree, true), 0);
	r.tree.nodes[0].self = 1000;
	assert_int_equal(aif_tree_seal(&r.tree), 0);
	for (int i = 0; i < 3000; i++) {
		char name[400];

		snprintf(name, sizeof(name), "%0300d_kernel", i);
		run_add_kernel(&r, name, strlen(name), 1e6 - i, 1);
		run_add_by(&r, AIF_RUN_BY_OPERATOR, name, 1e6 - i);
		run_add_by(&r, AIF_RUN_BY_RANGE, name, 1e6 - i);
	}
	for (unsigned by = 0; by < AIF_RUN_BYS; by++)
		assert_int_equal(aif_tree_seal(&r.by[by]), 0);
	assert_int_equal(aif_run_write(&r, &out), 0);
	assert_true(out.len <= AIF_RUN_FILE_BYTES);
	assert_int_equal(aif_run_read((char *)out.data, out.len, "x", &back, &err), 0);
	assert_true(back.kernels_len > 20 && back.kernels_len < 300);
	for (size_t i = 0; i < back.kernels_len; i++)
		all += back.kernels[i].ns;
	assert_int_equal(all, UINT64_C(3000) * 1000000 - 2999 * 3000 / 2);
	/* A side that has all of them against one that has not: none is new. */
	x = (struct compared){.a = {.name = strdup("a"), .len = 1, .runs = &back},
			      .b = {.name = strdup("b"), .len = 1, .runs = &r}};
	assert_int_equal(aif_compare(&x.a, &x.b, &o, &x.c, &err), 0);
	assert_int_equal(x.c.kernels_len, back.kernels_len);
	for (size_t i = 0; i < x.c.kernels_len; i++)
		assert_int_equal(x.c.kernels[i].matched_by, AIF_PARTNER_SAME);
	aif_comparison_finish(&x.c);
	free(x.a.name);
	free(x.b.name);
	aif_run_finish(&r);
	aif_run_finish(&back);
	aif_buf_finish(&out);
}

/* The most frequent of a program's ranges are kept, whose names are no longer than they should be. */
static void the_most_frequent_ranges_are_kept(void **state)
{
	struct aif_side a = side_make("a", base, BASE_LEN, 1, NOISE, 1);
	struct aif_run back = {0};
	struct aif_buf out = {0};
	struct aif_err err = {0};
	char name[400];

	(void)state;
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "range %d of %0200d x", i, 0);
		run_add_ranges(&a.runs[0], name, 1 + (uint64_t)i);
	}
	run_add_ranges(&a.runs[0], "token", 150);
	assert_int_equal(aif_run_write(&a.runs[0], &out), 0);
	assert_int_equal(aif_run_read((char *)out.data, out.len, "x", &back, &err), 0);
	assert_int_equal(back.ranges_len, AIF_RUN_FILE_COUNTS);
	assert_int_equal(aif_run_ranges(&back, "token"), 150);
	assert_int_equal(strlen(aif_strset_get(&back.range_names, 0, NULL)), 200);
	aif_run_finish(&back);
	aif_buf_finish(&out);
	aif_side_finish(&a);
}

/* Keeps those that are more frequent, wherever they stand, of more ranges than there is room for. */
static void a_frequent_range_behind_many_rare_ones_is_kept(void **state)
{
	struct aif_side a = side_make("a", base, BASE_LEN, 1, NOISE, 1);
	struct aif_run back = {0};
	struct aif_buf out = {0};
	struct aif_err err = {0};
	char name[64];

	(void)state;
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "once %d x", i);
		run_add_ranges(&a.runs[0], name, 1);
	}
	run_add_ranges(&a.runs[0], "token", 150);
	assert_int_equal(aif_run_write(&a.runs[0], &out), 0);
	assert_int_equal(aif_run_read((char *)out.data, out.len, "x", &back, &err), 0);
	assert_int_equal(back.ranges_len, AIF_RUN_FILE_COUNTS);
	assert_int_equal(aif_run_ranges(&back, "token"), 150);
	aif_run_finish(&back);
	aif_buf_finish(&out);
	aif_side_finish(&a);
}

/* Names that begin alike are one once they are cut: in the run as in its file. */
static void long_names_of_ranges_are_one(void **state)
{
	struct aif_run r = {0};
	char name[400];

	(void)state;
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%0199d\xc3\xa4%d x", 0, i);
		run_add_ranges(&r, name, 2);
	}
	assert_int_equal(r.ranges_len, 1);
	assert_int_equal(aif_run_ranges(&r, name), 6);
	/* No half of a character. */
	assert_int_equal(strlen(aif_strset_get(&r.range_names, 0, NULL)), 199);
	aif_run_finish(&r);
}

/* 60,000 stacks of which few have much: the file is small, its sums are those of the run. */
static void a_large_run_is_cut_to_the_size_of_a_baseline(void **state)
{
	struct aif_run r = {.path = strdup("x")}, back = {0};
	struct aif_buf out = {0};
	struct aif_err err = {0};
	uint64_t idle = 0;

	(void)state;
	assert_int_equal(aif_tree_init(&r.tree, true), 0);
	for (int i = 0; i < 60000; i++) {
		char name[64];
		uint32_t node =
			aif_tree_child(&r.tree, 0, aif_tree_name(&r.tree, AIF_TREE_CXX, "main", 4));

		snprintf(name, sizeof(name), "function_%d", i / 3);
		node = aif_tree_child(&r.tree, node,
				      aif_tree_name(&r.tree, AIF_TREE_CXX, name, strlen(name)));
		snprintf(name, sizeof(name), i % 3 ? "kernel_%d" : "[idle: host]", i);
		node = aif_tree_child(&r.tree, node,
				      aif_tree_name(&r.tree,
						    i % 3 ? AIF_TREE_KERNEL : AIF_TREE_SYNTHETIC,
						    name, strlen(name)));
		r.tree.nodes[node].self = (uint64_t)(i < 100 ? 1000000 : 1000);
		r.tree.details[node].launches = i % 3 != 0;
		idle += i % 3 ? 0 : r.tree.nodes[node].self;
	}
	assert_int_equal(aif_tree_seal(&r.tree), 0);
	assert_int_equal(aif_run_write(&r, &out), 0);
	assert_true(out.len <= AIF_RUN_FILE_BYTES);
	assert_true(out.len > 2000);
	assert_int_equal(aif_run_read((char *)out.data, out.len, "x", &back, &err), 0);
	assert_int_equal(back.tree.nodes[0].total, r.tree.nodes[0].total);
	assert_int_equal(back.tree.details[0].launches, 40000);
	for (size_t n = 1; n < back.tree.len; n++)
		if (aif_run_is_idle(&back.tree, back.tree.nodes[n].name))
			idle -= back.tree.nodes[n].self;
	assert_int_equal(idle, 0);
	aif_run_finish(&r);
	aif_run_finish(&back);
	aif_buf_finish(&out);
}

static void damaged_reduced_runs_are_refused_or_read(void **state)
{
	struct aif_side a = side_make("a", base, BASE_LEN, 1, NOISE, 1);
	struct aif_buf out = {0};
	size_t refused = 0;

	(void)state;
	side_add_operators(&a, 1);
	run_add_ranges(&a.runs[0], "token 1", 100);
	a.runs[0].recording = 12345;
	a.runs[0].start_s = 1;
	assert_int_equal(aif_run_write(&a.runs[0], &out), 0);
	for (size_t i = 0; i < out.len; i++) {
		static const uint8_t bytes[] = {'9', ' ', '\n', 0, 0xff};

		for (size_t b = 0; b < sizeof(bytes); b++) {
			struct aif_run r = {0};
			struct aif_err err = {0};
			uint8_t was = out.data[i];

			out.data[i] = bytes[b];
			refused += aif_run_read((char *)out.data, out.len, "x", &r, &err) < 0;
			assert_true(!err.code || *err.text);
			out.data[i] = was;
			aif_run_finish(&r);
		}
		if (i + 1 < out.len) {
			struct aif_run r = {0};
			struct aif_err err = {0};

			assert_true(aif_run_read((char *)out.data, i, "x", &r, &err) < 0);
			aif_run_finish(&r);
		}
	}
	assert_true(refused > out.len / 2);
	aif_buf_finish(&out);
	aif_side_finish(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reduced_run_is_read_as_it_was_written),
		cmocka_unit_test(a_run_of_many_kernels_is_cut_to_the_size_of_a_baseline),
		cmocka_unit_test(a_large_run_is_cut_to_the_size_of_a_baseline),
		cmocka_unit_test(the_most_frequent_ranges_are_kept),
		cmocka_unit_test(a_frequent_range_behind_many_rare_ones_is_kept),
		cmocka_unit_test(long_names_of_ranges_are_one),
		cmocka_unit_test(damaged_reduced_runs_are_refused_or_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
