/* SPDX-License-Identifier: Apache-2.0 */
#include "export/query_print.h"
#include "export/report.h"
#include "export/summary.h"
#include "fixture_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

/* Stack 1 of the fixture: main, which called outer, into which inner was inlined. Two executions of
 * 60 ns each share 20 ns of the device's 100. */
static void fixture_attribution(struct aif_attribution *a)
{
	a->rows = calloc(2, sizeof(*a->rows));
	assert_non_null(a->rows);
	a->rows_len = 2;
	for (uint32_t i = 0; i < 2; i++)
		a->rows[i] = (struct aif_attribution_row){.kind = AIF_LAUNCH_KERNEL,
							  .kernel = i,
							  .stack = 1,
							  .frame = AIF_NONE,
							  .reason = AIF_NONE,
							  .wall_ns = 50,
							  .time_ns = 60,
							  .launches = 1};
	a->conservation.busy_ns = 100;
}

static char *report(enum aif_report_kind kind)
{
	struct aif_report_opts o = {.kind = kind, .format = AIF_TABLE_CSV};
	struct aif_attribution a = {0};
	struct aif_profile p = {0};
	struct aif_buf out = {0};
	struct aif_err err = {0};
	char *text;

	fixture_profile(&p);
	fixture_attribution(&a);
	assert_int_equal(aif_report_write(&p, &a, &o, &out, &err), 0);
	text = strdup(aif_buf_str(&out));
	aif_buf_finish(&out);
	aif_attribution_finish(&a);
	aif_profile_finish(&p);
	return text;
}

static void a_share_stands_beside_what_it_is_of(void **state)
{
	char *text = report(AIF_REPORT_KERNELS);

	(void)state;
	assert_string_equal(text, "wall_share,wall,time,error,launches,average,samples,kernel\n"
				  "0.500000,50,60,0,1,60,0,kernel_0\n"
				  "0.500000,50,60,0,1,60,0,kernel_1\n");
	free(text);
}

static void callers_of_inlined_functions_are_in_the_stack(void **state)
{
	char *text = report(AIF_REPORT_STACKS);

	(void)state;
	assert_non_null(strstr(text, "wall_share,wall,time,error,launches,kernel,stack\n"));
	assert_non_null(strstr(text, ",kernel_0,inner < outer < main\n"));
	free(text);
}

static char *summary(const char *path)
{
	struct aif_attribution a = {0};
	struct aif_profile p = {0};
	struct aif_buf out = {0};
	char *text;

	fixture_profile(&p);
	fixture_attribution(&a);
	aif_summary_write(&p, &a, path, &out);
	text = strdup(aif_buf_str(&out));
	aif_buf_finish(&out);
	aif_attribution_finish(&a);
	aif_profile_finish(&p);
	return text;
}

static void the_next_commands_name_the_file(void **state)
{
	static const char *const paths[][2] = {
		{"aiflame.data", "next: aiflame flame, aiflame report --kernels, aiflame info\n"},
		{"/x/r-1.data", "next: aiflame flame /x/r-1.data, aiflame report --kernels "
				"/x/r-1.data, aiflame info /x/r-1.data\n"},
		{"it's $1.data", "next: aiflame flame 'it'\\''s $1.data', "},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(paths); i++) {
		char *text = summary(paths[i][0]);

		if (!strstr(text, paths[i][1]))
			fail_msg("not in it: %s\n%s", paths[i][1], text);
		free(text);
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
		cmocka_unit_test(a_share_stands_beside_what_it_is_of),
		cmocka_unit_test(callers_of_inlined_functions_are_in_the_stack),
		cmocka_unit_test(the_next_commands_name_the_file),
		cmocka_unit_test(parts_make_the_same_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
