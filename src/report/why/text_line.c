/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for people: lines, wrapped to the terminal. */
#include "report/why/saying.h"

#include <string.h>

/* Columns of what a line is about, below which its next lines do not begin. */
#define INDENT 9

static size_t columns_of(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += (text[i] & 0xc0) != 0x80;
	return n;
}

/* Returns how much of `text` goes on a line of `room` columns: up to the last space in it, or else up to the next one. */
static size_t fitting(const char *text, size_t room)
{
	size_t len = strlen(text), last = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == ' ' && i > INDENT) {
			if (columns_of(text, i) > room)
				return last ? last : i;
			last = i;
		}
	}
	return columns_of(text, len) > room && last ? last : len;
}

void aif_why_say_function(struct saying *s, const struct aif_why_function *f)
{
	const char *at = place(s, s->w->owners[f->row].place);

	aif_buf_printf(&s->line, "%s%s", f->is_before ? "before " : "",
		       *at ? at : "place not known");
}

void aif_why_end_line(struct saying *s)
{
	const char *text = aif_buf_str(&s->line);
	size_t indent = *text == ' ' ? 2 * INDENT : INDENT;
	size_t n = s->columns > 3 * INDENT ? fitting(text, s->columns) : strlen(text);

	if (s->take) {
		s->take(s, text);
		aif_buf_clear(&s->line);
		return;
	}
	aif_buf_append(s->out, text, n);
	aif_buf_putc(s->out, '\n');
	for (text += n; *text; text += n) {
		text += strspn(text, " ");
		n = fitting(text, s->columns - indent);
		aif_buf_printf(s->out, "%*s%.*s\n", (int)indent, "", (int)n, text);
	}
	aif_buf_clear(&s->line);
}
