/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/perf_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MAX 16

struct seen {
	struct aif_perf_map_want wants[MAX];
	char names[MAX][64];
	bool whole;
};

/* Feeds `text` in pieces of `piece` bytes and notes what each address is called. */
static void read_map(struct seen *s, const uint64_t *addresses, size_t n, const char *text,
		     size_t len, size_t piece)
{
	struct aif_perf_map *m = malloc(sizeof(*m));

	assert_non_null(m);
	memset(s, 0, sizeof(*s));
	for (size_t i = 0; i < n; i++)
		s->wants[i].address = addresses[i];
	aif_perf_map_init(m, s->wants, n);
	s->whole = true;
	for (size_t at = 0; at < len && s->whole; at += piece)
		s->whole = aif_perf_map_feed(m, text + at, AIF_MIN(piece, len - at));
	aif_perf_map_end(m);
	for (size_t i = 0; i < n; i++)
		if (s->wants[i].name_len)
			memcpy(s->names[i], m->names.data + s->wants[i].name,
			       AIF_MIN(s->wants[i].name_len, sizeof(s->names[i]) - 1));
	aif_perf_map_finish(m);
	free(m);
}

static void test_names(void **state)
{
	static const char text[] = "7f0000001000 40 LazyCompile:*f /a b.js:1:2\n"
				   "0x7f0000002000 0x10 with prefix\n"
				   "7F0000003000 1 UPPER\n"
				   "7f0000001020 10 nested\n"
				   "7f0000004000 10 without end";
	static const uint64_t addresses[] = {0x7f0000000fff, 0x7f0000001000, 0x7f0000001020,
					     0x7f000000103f, 0x7f0000001040, 0x7f000000200f,
					     0x7f0000003000, 0x7f0000004008};
	static const char *const names[] = {"",       "LazyCompile:*f /a b.js:1:2",
					    "nested", "LazyCompile:*f /a b.js:1:2",
					    "",       "with prefix",
					    "UPPER",  "without end"};
	struct seen s;

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece += 3) {
		read_map(&s, addresses, AIF_ARRAY_LEN(addresses), text, sizeof(text) - 1, piece);
		assert_true(s.whole);
		for (size_t i = 0; i < AIF_ARRAY_LEN(addresses); i++)
			assert_string_equal(s.names[i], names[i]);
	}
}

/* Code came to lie where other code was: the file is in the order of time. */
static void test_the_latest_line_counts(void **state)
{
	static const char text[] =
		"1000 100 first\n2000 100 other\n1080 100 second\n1000 10 third\n";
	static const uint64_t addresses[] = {0x1000, 0x1010, 0x1080, 0x1100, 0x2000};
	static const char *const names[] = {"third", "first", "second", "second", "other"};
	struct seen s;

	(void)state;
	read_map(&s, addresses, AIF_ARRAY_LEN(addresses), text, sizeof(text) - 1, 7);
	for (size_t i = 0; i < AIF_ARRAY_LEN(addresses); i++)
		assert_string_equal(s.names[i], names[i]);
}

static void test_what_is_no_line(void **state)
{
	static const char text[] = "\n\n \nnonsense\n1000\n1000 \n1000 10\n1000 10 \n"
				   "10000000000001000 10 too long\n-1000 10 negative\n"
				   "1000 0 empty\n 1000 10 blank before\n"
				   "ffffffffffffff00 200 beyond the end\n1000 10\0ok\n1000 1g x\n";
	static const uint64_t addresses[] = {0, 0x1000, UINT64_MAX};
	struct seen s;

	(void)state;
	read_map(&s, addresses, AIF_ARRAY_LEN(addresses), text, sizeof(text) - 1, 5);
	assert_true(s.whole);
	for (size_t i = 0; i < AIF_ARRAY_LEN(addresses); i++)
		assert_string_equal(s.names[i], "");
}

static void test_long_lines_are_cut(void **state)
{
	const uint64_t address = 0x1000;
	size_t len = 3 * AIF_PERF_MAP_LINE;
	char *text = malloc(len);
	struct seen s;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', len);
	memcpy(text, "1000 10 ", 8);
	memcpy(text + len - 16, "\n1000 10 after.\n", 16);
	read_map(&s, &address, 1, text, len - 15, 1000);
	assert_int_equal(s.wants[0].name_len, AIF_PERF_MAP_LINE - 8);
	read_map(&s, &address, 1, text, len, 1000);
	assert_string_equal(s.names[0], "after.");
	free(text);
}

/* Lines that each name everything ask for more than any compiler would. */
static void test_work_is_bounded(void **state)
{
	enum { WANTS = 100000, LINES = 2000 };
	struct aif_perf_map_want *wants = calloc(WANTS, sizeof(*wants));
	struct aif_perf_map *m = malloc(sizeof(*m));
	unsigned lines = 0;

	(void)state;
	assert_true(wants && m);
	for (size_t i = 0; i < WANTS; i++)
		wants[i].address = 4096 + i;
	aif_perf_map_init(m, wants, WANTS);
	while (lines < LINES && aif_perf_map_feed(m, "0 ffffffff everything\n", 22))
		lines++;
	assert_in_range(lines, 500, LINES - 1);
	assert_int_equal(wants[0].name_len, 10);
	aif_perf_map_finish(m);
	free(m);
	free(wants);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_the_latest_line_counts),
		cmocka_unit_test(test_what_is_no_line),
		cmocka_unit_test(test_long_lines_are_cut),
		cmocka_unit_test(test_work_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
