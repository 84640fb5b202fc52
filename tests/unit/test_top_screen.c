/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of the live screen, what is sent of them, and keys. */
#include "top/keys.h"
#include "top/screen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *row_of(const struct aif_screen *s, unsigned row)
{
	static char text[1024];

	for (unsigned i = 0; i < s->columns; i++)
		text[i] = (char)s->cells[row * s->columns + i].c;
	text[s->columns] = '\0';
	return text;
}

static void test_texts_end_at_their_width(void **state)
{
	struct aif_screen s = {.is_utf8 = true};

	(void)state;
	assert_int_equal(aif_screen_begin(&s, 10, 2), 0);
	assert_int_equal(aif_screen_put(&s, 2, 0, 4, 0, "abcdefgh"), 4);
	assert_string_equal(row_of(&s, 0), "  abcd    ");
	assert_int_equal(aif_screen_put(&s, 8, 1, 100, 0, "abcdefgh"), 2);
	assert_string_equal(row_of(&s, 1), "        ab");
	/* A place beside the screen gets nothing. */
	assert_int_equal(aif_screen_put(&s, 10, 0, 4, 0, "x"), 0);
	assert_int_equal(aif_screen_put(&s, 0, 2, 4, 0, "x"), 0);
	/* A wide character that does not fit as a whole is left out. */
	assert_int_equal(aif_screen_begin(&s, 5, 1), 0);
	assert_int_equal(aif_screen_put(&s, 0, 0, 5, 0, "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2"), 4);
	assert_int_equal(s.cells[0].c, 0x6f22);
	assert_int_equal(s.cells[1].c, 0);
	assert_int_equal(s.cells[4].c, ' ');
	/* Combining ones take no column. */
	assert_int_equal(aif_screen_put(&s, 0, 0, 5, 0, "e\xcc\x81z"), 2);
	assert_int_equal(s.cells[1].c, 'z');
	aif_screen_finish(&s);
}

/* A terminal gets no control characters of names, whatever these are made of. */
static void terminals_get_no_control_characters_of_names(void **state)
{
	static const char *const texts[] = {
		"\033]0;title\007",
		"\033[2J\033[31m",
		"\302\233"
		"31m",
		"a\r\nb\tc\b\177",
		"\342\200\256 turned",
		"\377\376\200",
		"\033P+q\033\\",
		"\016\017",
	};
	struct aif_screen s = {.is_utf8 = true};
	struct aif_buf out = {0};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(texts); i++) {
		assert_int_equal(aif_screen_begin(&s, 60, 1), 0);
		s.is_known = false;
		aif_screen_put(&s, 0, 0, 60, 0, texts[i]);
		aif_screen_put_elided(&s, 30, 0, 12, 0, texts[i]);
		aif_buf_clear(&out);
		aif_screen_send(&s, &out);
		for (size_t k = 0; k < out.len; k++) {
			/* Only ESC of all control characters, and that in the screen's own sequences. */
			assert_true(out.data[k] >= 0x20 || out.data[k] == 033);
			assert_int_not_equal(out.data[k], 0x7f);
			if (out.data[k] == 033)
				assert_int_equal(out.data[k + 1], '[');
			/* C1 control characters and those that turn text around. */
			if (out.data[k] == 0xc2)
				assert_true(out.data[k + 1] >= 0xa0);
		}
		assert_null(memmem(out.data, out.len, "\342\200\256", 3));
		assert_null(memmem(out.data, out.len, "\033[31m", 5));
	}
	aif_buf_finish(&out);
	aif_screen_finish(&s);
}

static void test_only_differences_are_sent(void **state)
{
	struct aif_screen s = {.is_utf8 = true, .has_colours = true};
	struct aif_buf out = {0};

	(void)state;
	assert_int_equal(aif_screen_begin(&s, 80, 24), 0);
	aif_screen_put(&s, 0, 0, 80, AIF_CELL_GREEN, "one");
	aif_screen_send(&s, &out);
	assert_non_null(memmem(out.data, out.len, "\033[2J", 4));
	assert_non_null(memmem(out.data, out.len, ";32mone", 7));
	aif_buf_clear(&out);
	assert_int_equal(aif_screen_begin(&s, 80, 24), 0);
	aif_screen_put(&s, 0, 0, 80, AIF_CELL_GREEN, "onf");
	aif_screen_send(&s, &out);
	assert_string_equal(aif_buf_str(&out), "\033[?2026h\033[1;3H\033[0;32mf\033[0m\033[?2026l");
	aif_buf_clear(&out);
	/* Without colours and UTF-8. */
	s = (struct aif_screen){.cells = s.cells,
				.shown = s.shown,
				.cells_cap = s.cells_cap,
				.shown_cap = s.shown_cap};
	assert_int_equal(aif_screen_begin(&s, 2, 1), 0);
	aif_screen_put(&s, 0, 0, 2, AIF_CELL_GREEN | AIF_CELL_BOLD, "\xc3\xa4");
	aif_screen_send(&s, &out);
	assert_non_null(memmem(out.data, out.len, "\033[0;1m?", 7));
	aif_buf_finish(&out);
	aif_screen_finish(&s);
}

static void assert_key(const char *bytes, int want, size_t want_used)
{
	size_t used;

	assert_int_equal(aif_key_next((const uint8_t *)bytes, strlen(bytes), &used), want);
	assert_int_equal(used, want_used);
}

static void bytes_of_keys_are_read(void **state)
{
	(void)state;
	assert_key("", AIF_KEY_NONE, 0);
	assert_key("qx", 'q', 1);
	assert_key("\r", AIF_KEY_ENTER, 1);
	assert_key("\n", AIF_KEY_ENTER, 1);
	assert_key("\177", AIF_KEY_BACKSPACE, 1);
	assert_key("\b", AIF_KEY_BACKSPACE, 1);
	assert_key("\033", AIF_KEY_ESCAPE, 1);
	assert_key("\033x", AIF_KEY_ESCAPE, 1);
	assert_key("\033[Aq", AIF_KEY_UP, 3);
	assert_key("\033OB", AIF_KEY_DOWN, 3);
	assert_key("\033[5~", AIF_KEY_PAGE_UP, 4);
	assert_key("\033[6~x", AIF_KEY_PAGE_DOWN, 4);
	assert_key("\033[1;5C", AIF_KEY_RIGHT, 6);
	assert_key("\033[H", AIF_KEY_HOME, 3);
	assert_key("\033[4~", AIF_KEY_END, 4);
	assert_key("\033[200~", AIF_KEY_OTHER, 6);
	assert_key("\033[<0;1;1M", AIF_KEY_OTHER, 9);
	assert_key("\033[1;", AIF_KEY_OTHER, 4);
	assert_key("\xc3\xa4", AIF_KEY_OTHER, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_end_at_their_width),
		cmocka_unit_test(terminals_get_no_control_characters_of_names),
		cmocka_unit_test(test_only_differences_are_sent),
		cmocka_unit_test(bytes_of_keys_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
