/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how tables are printed: cut to the terminal, folded, in parts. */
#include "text/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* ---- tables on terminals ------------------------------------------------------------------------- */

static void long_texts_are_cut_to_the_terminal(void **state)
{
	static const struct aif_table_column three[] = {
		{"n", AIF_TABLE_COUNT}, {"name", AIF_TABLE_ANY}, {"text", AIF_TABLE_TEXT}};
	static const struct {
		size_t columns_max;
		const char *row;
	} cases[] = {
		{0, "1,234,567  abcdefghijklmnopqrstuvwxyz  \xc3\xa4\xc3\xb6"
		    "ABCDEFGHIJKLMNOPQRS\n"},
		{60, "1,234,567  abcdefghijklmnopqrstuvwxyz  \xc3\xa4\xc3\xb6"
		     "ABCDEFGHIJKLMNOPQRS\n"},
		{55, "1,234,567  abcdefghijklmn\u2026uvwxyz  \xc3\xa4\xc3\xb6"
		     "ABCDEFGHIJKLMNOPQRS\n"},
		{45, "1,234,567  abcdefghij\u2026vwxyz  \xc3\xa4\xc3\xb6"
		     "ABCDEFGH\u2026OPQRS\n"},
		/* numbers stay whole, and a little of each text */
		{9, "1,234,567  abcdefgh\u2026xyz  \xc3\xa4\xc3\xb6"
		    "ABCDEF\u2026QRS\n"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_buf out = {0};
		struct aif_table t;

		aif_table_init(&t, three, 3);
		t.columns_max = cases[i].columns_max;
		aif_table_number(&t, 1234567);
		aif_table_any(&t, 't', "abcdefghijklmnopqrstuvwxyz", 26);
		aif_table_text(&t, "\xc3\xa4\xc3\xb6"
				   "ABCDEFGHIJKLMNOPQRS");
		assert_int_equal(aif_table_print(&t, AIF_TABLE_PLAIN, 0, &out), 0);
		if (!strstr(aif_buf_str(&out), cases[i].row))
			fail_msg("%zu: %s", cases[i].columns_max, aif_buf_str(&out));
		aif_buf_clear(&out);
		assert_int_equal(aif_table_print(&t, AIF_TABLE_CSV, 0, &out), 0);
		assert_null(strstr(aif_buf_str(&out), "\u2026"));
		aif_buf_finish(&out);
		aif_table_finish(&t);
	}
}

/* Long texts are cut even where nothing limits a line: what is behind one would be far away. The
 * last has room. */
static void long_texts_are_cut_without_a_terminal(void **state)
{
	static const struct aif_table_column three[] = {
		{"n", AIF_TABLE_COUNT}, {"name", AIF_TABLE_TEXT}, {"text", AIF_TABLE_TEXT}};
	struct aif_buf out = {0};
	struct aif_table t;

	(void)state;
	aif_table_init(&t, three, 3);
	t.text_max = 16;
	aif_table_number(&t, 1234567);
	aif_table_text(&t, "abcdefghijklmnopqrstuvwxyz");
	aif_table_text(&t, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	assert_int_equal(aif_table_print(&t, AIF_TABLE_PLAIN, 0, &out), 0);
	assert_string_equal(aif_buf_str(&out), "        n  name              text\n"
					       "1,234,567  abcdefghij\u2026vwxyz  "
					       "ABCDEFGHIJKLMNOPQRSTUVWXYZ\n");
	aif_buf_clear(&out);
	assert_int_equal(aif_table_print(&t, AIF_TABLE_CSV, 0, &out), 0);
	assert_null(strstr(aif_buf_str(&out), "\u2026"));
	aif_buf_finish(&out);
	aif_table_finish(&t);
}

/* In a column, but for what was the same before. */
static void what_is_cut_stays_different(void **state)
{
	static const struct aif_table_column one[] = {{"name", AIF_TABLE_TEXT}};
	static const char *const rows[] = {"gemm_common_prefix_128x256_common_end",
					   "gemm_common_prefix_256x128_common_end",
					   "gemm_common_prefix_128x256_common_end", "short"};
	struct aif_buf out = {0};
	struct aif_table t;

	(void)state;
	aif_table_init(&t, one, 1);
	t.columns_max = 20;
	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++)
		aif_table_text(&t, rows[i]);
	assert_int_equal(aif_table_print(&t, AIF_TABLE_PLAIN, 0, &out), 0);
	assert_string_equal(aif_buf_str(&out), "name\ngemm\u2026128x256_co\u2026_end\n"
					       "gemm\u2026256x128_co\u2026_end\n"
					       "gemm\u2026128x256_co\u2026_end\nshort\n");
	aif_buf_finish(&out);
	aif_table_finish(&t);
}

/* A stack that would be cut goes on lines of its own, broken where it may be. */
static void a_stack_is_folded_under_its_line(void **state)
{
	static const struct aif_table_column two[] = {{"name", AIF_TABLE_TEXT},
						      {"stack", AIF_TABLE_TEXT}};
	static const struct {
		size_t columns_max;
		const char *table;
	} cases[] = {
		{0, "name    stack\nkernel  inner < middle < outer < and_so_on\nother   \n"},
		{52, "name    stack\nkernel  inner < middle < outer < and_so_on\nother   \n"},
		{40, "name\n            stack\nkernel\n            inner < middle < outer <\n"
		     "            and_so_on\nother\n"},
		/* too narrow for that */
		{30, "name    stack\nkernel  inner < middle\u2026d_so_on\nother   \n"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_buf out = {0};
		struct aif_table t;

		aif_table_init(&t, two, 2);
		t.columns_max = cases[i].columns_max;
		t.folds = " < ";
		aif_table_text(&t, "kernel");
		aif_table_text(&t, "inner < middle < outer < and_so_on");
		aif_table_text(&t, "other");
		aif_table_text(&t, "");
		assert_int_equal(aif_table_print(&t, AIF_TABLE_PLAIN, 0, &out), 0);
		assert_string_equal(aif_buf_str(&out), cases[i].table);
		aif_buf_finish(&out);
		aif_table_finish(&t);
	}
}

/* ---- tables in parts ------------------------------------------------------------------------------ */

static const struct aif_table_column columns[] = {{"n", AIF_TABLE_COUNT}, {"t", AIF_TABLE_TEXT}};

static void print(enum aif_table_format format, size_t rows, size_t part, struct aif_buf *out)
{
	struct aif_table t;

	aif_table_init(&t, columns, 2);
	for (size_t i = 0; i < rows; i++) {
		if (i && i % part == 0)
			assert_int_equal(aif_table_print_part(&t, format, false, out), 0);
		aif_table_number(&t, i);
		aif_table_text(&t, i & 1 ? "odd, \"x\"" : "even");
	}
	assert_int_equal(aif_table_print_part(&t, format, true, out), 0);
	assert_int_equal(t.cells_len, 0);
	assert_true(t.cells_cap <= AIF_MAX(2 * 2 * part, (size_t)64));
	aif_table_finish(&t);
}

static void parts_make_the_same_table(void **state)
{
	(void)state;
	for (enum aif_table_format f = AIF_TABLE_PLAIN; f <= AIF_TABLE_JSON; f++)
		for (size_t rows = 0; rows < 10; rows++) {
			struct aif_buf whole = {0}, parts = {0};

			print(f, rows, 100, &whole);
			print(f, rows, 3, &parts);
			assert_string_equal(aif_buf_str(&parts), aif_buf_str(&whole));
			aif_buf_finish(&whole);
			aif_buf_finish(&parts);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_cut_stays_different),
		cmocka_unit_test(long_texts_are_cut_to_the_terminal),
		cmocka_unit_test(long_texts_are_cut_without_a_terminal),
		cmocka_unit_test(a_stack_is_folded_under_its_line),
		cmocka_unit_test(parts_make_the_same_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
