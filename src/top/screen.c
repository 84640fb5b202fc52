/* SPDX-License-Identifier: Apache-2.0 */
#include "top/screen.h"

#include "base/name_sanitize.h"
#include "text/elide.h"

#include <errno.h>
#include <string.h>

#define COLUMNS_MAX 1000
#define ROWS_MAX    500

int aif_screen_begin(struct aif_screen *s, unsigned columns, unsigned rows)
{
	size_t n;

	columns = AIF_MAX(1U, AIF_MIN(columns, (unsigned)COLUMNS_MAX));
	rows = AIF_MAX(1U, AIF_MIN(rows, (unsigned)ROWS_MAX));
	n = (size_t)columns * rows;
	if (aif_grow(&s->cells, &s->cells_cap, n, sizeof(*s->cells)) < 0 ||
	    aif_grow(&s->shown, &s->shown_cap, n, sizeof(*s->shown)) < 0)
		return -ENOMEM;
	s->is_known = s->is_known && columns == s->columns && rows == s->rows;
	s->columns = columns;
	s->rows = rows;
	for (size_t i = 0; i < n; i++)
		s->cells[i] = (struct aif_cell){.c = ' '};
	return 0;
}

void aif_screen_finish(struct aif_screen *s)
{
	free(s->cells);
	free(s->shown);
	*s = (struct aif_screen){0};
}

/* East Asian wide characters and pictures (Unicode's EastAsianWidth.txt, W and F, in blocks); characters that combine. */
static const struct {
	uint32_t first, last;
	unsigned width;
} widths[] = {
	{0x300, 0x36f, 0},     {0x483, 0x489, 0},     {0x591, 0x5bd, 0},     {0x610, 0x61a, 0},
	{0x64b, 0x65f, 0},     {0x1100, 0x115f, 2},   {0x1ab0, 0x1aff, 0},   {0x1dc0, 0x1dff, 0},
	{0x200b, 0x200f, 0},   {0x20d0, 0x20ff, 0},   {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},
	{0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0},   {0xfe20, 0xfe2f, 0},
	{0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2},
	{0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1faff, 2}, {0x20000, 0x3fffd, 2}, {0xe0100, 0xe01ef, 0},
};

/* Returns the columns that a character takes: 0, 1 or 2. */
static unsigned width_of(uint32_t c)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(widths) && c >= widths[i].first; i++)
		if (c <= widths[i].last)
			return widths[i].width;
	return 1;
}

/* Takes a character of valid UTF-8. */
static uint32_t decode(const uint8_t **at, const uint8_t *end)
{
	uint32_t c = *(*at)++;
	unsigned more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;

	if (more)
		c &= 0x3fU >> more;
	while (more-- && *at < end)
		c = c << 6 | (*(*at)++ & 0x3f);
	return c;
}

static unsigned put_cells(struct aif_screen *s, unsigned column, unsigned row, unsigned width,
			  uint32_t attr, const struct aif_buf *text)
{
	const uint8_t *at = text->data, *end = at ? at + text->len : NULL;
	unsigned used = 0;

	if (row >= s->rows || column >= s->columns)
		return 0;
	width = AIF_MIN(width, s->columns - column);
	while (at && at < end) {
		uint32_t c = decode(&at, end);
		unsigned wide = width_of(c);
		struct aif_cell *cell = &s->cells[(size_t)row * s->columns + column + used];

		if (!wide)
			continue;
		if (used + wide > width)
			break;
		if (!s->is_utf8 && c >= 0x7f)
			c = '?';
		cell[0] = (struct aif_cell){c, attr};
		/* Without UTF-8 one '?' stands for a wide character, too. */
		if (wide == 2)
			cell[1] = (struct aif_cell){c == '?' ? ' ' : 0, attr};
		used += wide;
	}
	return used;
}

unsigned aif_screen_put(struct aif_screen *s, unsigned column, unsigned row, unsigned width,
			uint32_t attr, const char *text)
{
	struct aif_buf clean = {0};
	unsigned used;

	aif_name_sanitize(text, strlen(text), &clean);
	used = put_cells(s, column, row, width, attr, &clean);
	aif_buf_finish(&clean);
	return used;
}

unsigned aif_screen_put_elided(struct aif_screen *s, unsigned column, unsigned row, unsigned width,
			       uint32_t attr, const char *text)
{
	struct aif_buf clean = {0}, cut = {0};
	unsigned used;

	aif_name_sanitize(text, strlen(text), &clean);
	if (width >= AIF_ELIDE_LEAST && s->is_utf8) {
		aif_elide(clean.data, clean.len, width, &cut);
		used = put_cells(s, column, row, width, attr, &cut);
	} else {
		used = put_cells(s, column, row, width, attr, &clean);
	}
	aif_buf_finish(&clean);
	aif_buf_finish(&cut);
	return used;
}

void aif_screen_paint(struct aif_screen *s, unsigned row, uint32_t attr)
{
	for (unsigned i = 0; row < s->rows && i < s->columns; i++)
		s->cells[(size_t)row * s->columns + i].attr = attr;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void put_attributes(const struct aif_screen *s, uint32_t attr, struct aif_buf *out)
{
	static const char *const colours[] = {"", ";32", ";33", ";31", ";36", "", "", ""};

	aif_buf_puts(out, "\033[0");
	if (attr & AIF_CELL_BOLD)
		aif_buf_puts(out, ";1");
	if (attr & AIF_CELL_DIM && s->has_colours)
		aif_buf_puts(out, ";2");
	if (attr & AIF_CELL_REVERSE)
		aif_buf_puts(out, ";7");
	if (s->has_colours)
		aif_buf_puts(out, colours[(attr & AIF_CELL_COLOURS) >> 4]);
	aif_buf_putc(out, 'm');
}

static void encode(uint32_t c, struct aif_buf *out)
{
	uint8_t b[4];
	size_t n;

	if (c < 0x80) {
		b[0] = (uint8_t)c;
		n = 1;
	} else if (c < 0x800) {
		b[0] = (uint8_t)(0xc0 | c >> 6);
		n = 2;
	} else if (c < 0x10000) {
		b[0] = (uint8_t)(0xe0 | c >> 12);
		n = 3;
	} else {
		b[0] = (uint8_t)(0xf0 | c >> 18);
		n = 4;
	}
	for (size_t i = 1; i < n; i++)
		b[i] = (uint8_t)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
	aif_buf_append(out, b, n);
}

static bool differs(const struct aif_screen *s, size_t i)
{
	return !s->is_known || s->cells[i].c != s->shown[i].c ||
	       s->cells[i].attr != s->shown[i].attr;
}

void aif_screen_send(struct aif_screen *s, struct aif_buf *out)
{
	size_t n = (size_t)s->columns * s->rows, at = SIZE_MAX; /* at: of the cursor */
	uint32_t attr = UINT32_MAX;

	/* Synchronised: terminals that know it show the whole at once. */
	aif_buf_puts(out, "\033[?2026h");
	if (!s->is_known)
		aif_buf_puts(out, "\033[0m\033[2J");
	for (size_t i = 0; i < n; i++) {
		size_t from = i;

		if (!differs(s, i))
			continue;
		/* A wide character is sent as a whole. */
		if (!s->cells[i].c && i % s->columns)
			from = i - 1;
		if (from != at)
			aif_buf_printf(out, "\033[%zu;%zuH", from / s->columns + 1,
				       from % s->columns + 1);
		for (size_t k = from; k <= i; k++) {
			if (s->cells[k].attr != attr && s->cells[k].c)
				put_attributes(s, attr = s->cells[k].attr, out);
			if (s->cells[k].c)
				encode(s->cells[k].c, out);
		}
		at = i + 1;
		/* Terminals differ, behind the last column, in where the cursor is; a wide character moved it by two. */
		if (at % s->columns == 0 || width_of(s->cells[i].c) == 2)
			at = SIZE_MAX;
	}
	aif_buf_puts(out, "\033[0m\033[?2026l");
	memcpy(s->shown, s->cells, n * sizeof(*s->cells));
	s->is_known = true;
}
