/* SPDX-License-Identifier: Apache-2.0 */
#include "names/process_names.h"

#include "names/frame_labels.h"
#include "text/table.h"
#include "fixture_profile.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Ranks in containers; before the second one started a runtime it was a shell. */
static void fixture_ranks(struct aif_profile *p)
{
	static const struct {
		uint32_t pid;
		const char *command;
		uint32_t flags;
	} rows[] = {
		{1, "python3 (rank 0)", AIF_PROCESS_RUNTIME},
		{1, "sh", AIF_PROCESS_AGENT},
		{1, "python3 (rank 0)", AIF_PROCESS_RUNTIME},
		{1, "python3 (rank 1)", AIF_PROCESS_RUNTIME},
		{2, "python3 (rank 2)", AIF_PROCESS_RUNTIME},
		{3, "a", AIF_PROCESS_RUNTIME},
		{3, "a", AIF_PROCESS_RUNTIME},
	};

	*p = (struct aif_profile){0};
	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++)
		FIXTURE_ADD(p, processes, .pid = rows[i].pid,
			    .exe = aif_strset_puts(&p->strings, "/usr/bin/python3"),
			    .cmdline = aif_strset_puts(&p->strings, rows[i].command),
			    .host = AIF_NONE, .flags = rows[i].flags);
}

static void those_of_one_number_have_names(void **state)
{
	static const char *const names[] = {
		"python3 (rank 0)", NULL, "python3 (rank 0)", "python3 (rank 1)", NULL, NULL, NULL};
	struct aif_process_names n;
	struct aif_profile p;

	(void)state;
	fixture_ranks(&p);
	assert_int_equal(aif_process_names_init(&n, &p), 0);
	for (uint32_t i = 0; i < AIF_ARRAY_LEN(names); i++) {
		const char *name = aif_process_names_get(&n, i), *again = aif_process_name(&p, i);

		assert_string_equal(names[i] ? names[i] : "-", name ? name : "-");
		assert_string_equal(names[i] ? names[i] : "-", again ? again : "-");
	}
	assert_null(aif_process_names_get(&n, AIF_NONE));
	assert_null(aif_process_name(&p, AIF_NONE));
	aif_process_names_finish(&n);
	aif_profile_finish(&p);
}

static void threads_have_their_number_once(void **state)
{
	static const struct {
		uint32_t process, tid;
		const char *name, *note;
	} rows[] = {
		{4, 2, "python3", "[main thread python3 2]"},
		{4, 7, "", "[thread 7]"},
		{3, 7, "loader", "[python3 (rank 1), thread loader 7]"},
		{4, 25772, "thread 25772 (python)", "[thread 25772 (python)]"},
		{4, 25, "thread 257", "[thread 257 25]"},
	};
	struct aif_buf text = {0};
	struct aif_process_names n;
	struct aif_profile p;

	(void)state;
	fixture_ranks(&p);
	assert_int_equal(aif_process_names_init(&n, &p), 0);
	for (uint32_t i = 0; i < AIF_ARRAY_LEN(rows); i++) {
		FIXTURE_ADD(&p, threads, .process = rows[i].process, .tid = rows[i].tid,
			    .name = aif_strset_puts(&p.strings, rows[i].name));
		aif_buf_clear(&text);
		aif_thread_note(&n, i, &text);
		assert_string_equal(aif_buf_str(&text), rows[i].note);
	}
	aif_buf_clear(&text);
	aif_thread_note(&n, AIF_NONE, &text);
	assert_string_equal(aif_buf_str(&text), "[thread unknown]");
	aif_buf_finish(&text);
	aif_process_names_finish(&n);
	aif_profile_finish(&p);
}

static void many_threads_of_a_name_share_a_tower(void **state)
{
	static const char *const notes[] = {
		"[main thread worker 4]",
		"[100 threads worker of 4]",
		"[2 threads of 4]",
		"[thread other 900]",
	};
	uint32_t at[AIF_THREAD_TOWERS + 4], thread[] = {0, 1, 101, 103};
	struct aif_thread_groups g;
	struct aif_buf text = {0};
	struct aif_profile p;

	(void)state;
	p = (struct aif_profile){0};
	for (uint32_t pid = 4; pid <= 5; pid++)
		FIXTURE_ADD(&p, processes, .pid = pid, .exe = AIF_NONE, .cmdline = AIF_NONE);
	for (uint32_t i = 0; i < AIF_ARRAY_LEN(at); i++) {
		const char *name = i <= 100 ? "worker" : i <= 102 ? "" : "other";

		FIXTURE_ADD(&p, threads, .process = 0, .tid = i ? 797 + i : 4,
			    .name = aif_strset_puts(&p.strings, name));
		at[i] = i;
	}
	/* Gives each of few threads its own. */
	assert_int_equal(aif_thread_groups_init(&g, &p, at, AIF_THREAD_TOWERS), 0);
	aif_thread_groups_note(&g, 1, &text);
	assert_string_equal(aif_buf_str(&text), "[thread worker 798]");
	aif_thread_groups_finish(&g);
	assert_int_equal(aif_thread_groups_init(&g, &p, at, AIF_ARRAY_LEN(at)), 0);
	for (size_t i = 0; i < AIF_ARRAY_LEN(notes); i++) {
		aif_buf_clear(&text);
		aif_thread_groups_note(&g, thread[i], &text);
		assert_string_equal(aif_buf_str(&text), notes[i]);
	}
	aif_thread_groups_finish(&g);
	aif_buf_finish(&text);
	aif_profile_finish(&p);
}

/* Unless a name is of two numbers: then it says less than they do. */
static void people_are_shown_ranks(void **state)
{
	static const char *const names[] = {"python3 (rank 0)",
					    NULL,
					    "python3 (rank 0)",
					    "python3 (rank 1)",
					    "python3 (rank 2)",
					    NULL,
					    NULL,
					    NULL};
	struct aif_process_names n;
	struct aif_profile p;

	(void)state;
	fixture_ranks(&p);
	FIXTURE_ADD(&p, processes, .pid = 4, .cmdline = aif_strset_puts(&p.strings, "a"),
		    .host = AIF_NONE, .flags = AIF_PROCESS_RUNTIME);
	FIXTURE_ADD(&p, meta, .key = aif_strset_puts(&p.strings, "imported.files"),
		    .value = aif_strset_puts(&p.strings, "4"));
	assert_int_equal(aif_process_names_init(&n, &p), 0);
	for (uint32_t i = 0; i < AIF_ARRAY_LEN(names); i++) {
		const char *name = aif_process_names_show(&n, i);

		assert_string_equal(names[i] ? names[i] : "-", name ? name : "-");
	}
	assert_null(aif_process_names_show(&n, AIF_NONE));
	assert_true(n.any_shown);
	aif_process_names_finish(&n);
	aif_profile_finish(&p);
}

static void what_no_launch_explains_stands_on_one(void **state)
{
	struct aif_buf text = {0};
	struct aif_profile p;

	(void)state;
	fixture_ranks(&p);
	aif_unmatched_owner(&p, 3, &text);
	assert_string_equal(aif_buf_str(&text), "[python3 (rank 1)]");
	aif_buf_clear(&text);
	aif_unmatched_owner(&p, 4, &text);
	assert_string_equal(aif_buf_str(&text), "[python3 2]");
	aif_buf_finish(&text);
	aif_profile_finish(&p);
}

static void tables_have_numbers_or_names(void **state)
{
	static const struct aif_table_column columns[] = {{"process", AIF_TABLE_ID},
							  {"kernel", AIF_TABLE_TEXT}};
	static const struct {
		enum aif_table_format format;
		const char *text;
	} cases[] = {
		{AIF_TABLE_PLAIN, "process    kernel\na, 0 of 2  x\nb \"1\" 2    y\n"},
		{AIF_TABLE_CSV, "process,kernel\n\"a, 0 of 2\",x\n\"b \"\"1\"\" 2\",y\n"},
		{AIF_TABLE_JSON, "[\n {\"process\": \"a, 0 of 2\", \"kernel\": \"x\"},\n"
				 " {\"process\": \"b \\\"1\\\" 2\", \"kernel\": \"y\"}\n]\n"},
	};
	struct aif_buf out = {0};
	struct aif_table t;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		aif_table_init(&t, columns, 2);
		aif_table_id(&t, 1, "b \"1\" 2");
		aif_table_text(&t, "y");
		aif_table_id(&t, 1, "a, 0 of 2");
		aif_table_text(&t, "x");
		assert_int_equal(aif_table_sort(&t, 0), 0);
		aif_buf_clear(&out);
		assert_int_equal(aif_table_print(&t, cases[i].format, 0, &out), 0);
		assert_string_equal(aif_buf_str(&out), cases[i].text);
		aif_table_finish(&t);
	}
	aif_table_init(&t, columns, 2);
	aif_table_id(&t, 4711, NULL);
	aif_table_text(&t, "x");
	aif_buf_clear(&out);
	assert_int_equal(aif_table_print(&t, AIF_TABLE_JSON, 0, &out), 0);
	assert_string_equal(aif_buf_str(&out), "[\n {\"process\": 4711, \"kernel\": \"x\"}\n]\n");
	aif_table_finish(&t);
	aif_buf_finish(&out);
}

static void times_are_for_people(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{999, "999 ns"},
		{5000000, "5.0 ms"},
		{UINT64_C(172799) * AIF_NS_PER_S, "172799.00 s"},
		{UINT64_C(3 * 86400) * AIF_NS_PER_S, "3.0 days"},
		{UINT64_C(1750000000) * AIF_NS_PER_S, "55.5 years"},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_buf text = {0};

		aif_human_ns(&text, cases[i].ns);
		assert_string_equal(aif_buf_str(&text), cases[i].text);
		aif_buf_finish(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_of_one_number_have_names),
		cmocka_unit_test(threads_have_their_number_once),
		cmocka_unit_test(many_threads_of_a_name_share_a_tower),
		cmocka_unit_test(people_are_shown_ranks),
		cmocka_unit_test(what_no_launch_explains_stands_on_one),
		cmocka_unit_test(tables_have_numbers_or_names),
		cmocka_unit_test(times_are_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
