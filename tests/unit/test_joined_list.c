/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/joined_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Returns what is printed on standard error of the list; the caller's. */
static char *printed(const struct aif_joined_list *l, bool all)
{
	const size_t size = 1u << 20;
	char *text = calloc(1, size);
	int saved = dup(STDERR_FILENO);
	FILE *f = tmpfile();

	assert_non_null(text);
	assert_non_null(f);
	assert_true(saved >= 0 && dup2(fileno(f), STDERR_FILENO) >= 0);
	aif_joined_list_print(l, all);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(f);
	assert_true(fread(text, 1, size - 1, f) < size - 1);
	fclose(f);
	return text;
}

static void add(struct aif_joined_list *l, int pid, uid_t uid, const char *name, const char *why)
{
	aif_joined_list_add(
		l, &(struct aif_record_joined){.pid = pid,
					       .uid = uid,
					       .name = name,
					       .times = {.stops = 1, .longest = {.ns = 1500000}},
					       .why = why});
}

static void the_last_word_on_a_process_counts(void **state)
{
	struct aif_joined_list l = {0};
	char *text;

	(void)state;
	add(&l, 7, geteuid(), "one", "process 7: is stopped");
	add(&l, 8, geteuid(), "two", "");
	add(&l, 7, geteuid(), "one", "");
	add(&l, 8, geteuid(), NULL, "process 8: has ended");
	text = printed(&l, false);
	assert_string_equal(text, "aiflame: joined 1 process that nobody had prepared\n"
				  "         process 7, one: a thread stood still for 1.5 ms\n"
				  "aiflame: left 1 process alone\n"
				  "         process 8: has ended\n");
	free(text);
	aif_joined_list_finish(&l);
}

static void it_says_whose_the_processes_of_others_are(void **state)
{
	const uid_t nobodys = 3999999999u;
	struct aif_joined_list l = {0};
	struct aif_buf out = {0};
	char *text;

	(void)state;
	add(&l, 7, nobodys, "one", "");
	add(&l, 8, nobodys, "two", "process 8: is stopped: for a while");
	text = printed(&l, false);
	assert_string_equal(
		text,
		"aiflame: joined 1 process that nobody had prepared\n"
		"         process 7, one, of user 3999999999: a thread stood still for 1.5 ms\n"
		"aiflame: left 1 process alone\n"
		"         process 8, of user 3999999999: is stopped: for a while\n");
	free(text);
	aif_joined_list_finish(&l);
	aif_joined_text(
		&out, &(struct aif_record_joined){.pid = 9,
						  .uid = nobodys,
						  .times = {.stops = 1, .longest = {.ns = 1500000}},
						  .why = ""});
	assert_string_equal(aif_buf_str(&out),
			    "process 9, of user 3999999999: the agent was put into it; a thread of "
			    "it stood still for 1.5 ms at most");
	aif_buf_finish(&out);
}

static void a_stop_that_waited_for_a_processor_says_how_long(void **state)
{
	struct aif_inject_times t = {.stops = 2,
				     .longest = {.ns = 12340000, .waited_ns = 11000000}};
	struct aif_buf out = {0};

	(void)state;
	aif_joined_times_text(&out, &t);
	assert_string_equal(aif_buf_str(&out),
			    "the agent was put into it; a thread of it stood still for 12.3 ms at "
			    "most, 11.0 ms of which it waited for a processor");
	aif_buf_finish(&out);
	t.was_there = true;
	t.longest.waited_ns = 40000;
	aif_joined_times_text(&out, &t);
	assert_string_equal(
		aif_buf_str(&out),
		"the agent in it was woken; a thread of it stood still for 12.3 ms at most");
	aif_buf_finish(&out);
}

static void more_processes_than_it_has_rows_for_are_counted(void **state)
{
	enum { MORE = 5, ALL = AIF_JOINED_ROWS_MAX + MORE };
	struct aif_joined_list l = {0};
	char *text, line[64];

	(void)state;
	for (int i = 1; i <= ALL; i++)
		add(&l, i, geteuid(), "one", "");
	/* Changes the row of one, and adds one that has no place. */
	add(&l, 1, geteuid(), "one", "process 1: is stopped");
	add(&l, ALL + 1, geteuid(), "one", "process 2: is stopped");
	assert_int_equal(l.len, AIF_JOINED_ROWS_MAX);
	text = printed(&l, true);
	snprintf(line, sizeof(line), "joined %d processes", ALL - 1);
	assert_non_null(strstr(text, line));
	snprintf(line, sizeof(line), "and %d more: the list ends after %d\n", MORE,
		 AIF_JOINED_ROWS_MAX);
	assert_non_null(strstr(text, line));
	assert_non_null(strstr(text, "left 2 processes alone\n         process 1: is stopped\n"));
	free(text);
	text = printed(&l, false);
	assert_non_null(strstr(text, "         and 4089 more, which -v names\n"));
	free(text);
	aif_joined_list_finish(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_word_on_a_process_counts),
		cmocka_unit_test(it_says_whose_the_processes_of_others_are),
		cmocka_unit_test(a_stop_that_waited_for_a_processor_says_how_long),
		cmocka_unit_test(more_processes_than_it_has_rows_for_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
