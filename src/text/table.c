/* SPDX-License-Identifier: Apache-2.0 */
#include "text/table.h"

#include "base/name_sanitize.h"
#include "base/utf8.h"
#include "text/elide.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of a text column that are always shown, however narrow the terminal. */
#define LEAST_TEXT ((size_t)12)
/* Indent and least width of a column that goes on lines of its own. */
#define FOLDED_INDENT 12
#define FOLDED_LEAST  40

void aif_table_init(struct aif_table *t, const struct aif_table_column *columns, size_t width)
{
	*t = (struct aif_table){.columns = columns, .width = width};
}

void aif_table_finish(struct aif_table *t)
{
	free(t->cells);
	free(t->widths);
	aif_strset_finish(&t->text);
	*t = (struct aif_table){0};
}

void aif_table_number(struct aif_table *t, uint64_t value)
{
	if (aif_grow(&t->cells, &t->cells_cap, t->cells_len + 1, sizeof(value)) < 0)
		t->failed = true;
	else
		t->cells[t->cells_len++] = value;
}

void aif_table_text(struct aif_table *t, const char *text)
{
	uint32_t id = aif_strset_puts(&t->text, text);

	t->failed |= id == AIF_STR_NONE;
	aif_table_number(t, id);
}

/* Flag of a cell of AIF_TABLE_ID that is no number: the rest is a string of .text. */
#define NAMED (UINT64_C(1) << 63)

void aif_table_id(struct aif_table *t, uint64_t number, const char *name)
{
	uint32_t id = name ? aif_strset_puts(&t->text, name) : 0;

	t->failed |= id == AIF_STR_NONE;
	aif_table_number(t, name ? NAMED | id : number);
}

void aif_table_any(struct aif_table *t, char kind, const void *text, size_t len)
{
	struct aif_buf b = {0};
	uint32_t id;

	aif_buf_putc(&b, kind);
	aif_buf_append(&b, text, len);
	id = aif_buf_failed(&b) ? AIF_STR_NONE : aif_strset_put(&t->text, b.data, b.len);
	t->failed |= id == AIF_STR_NONE;
	aif_buf_finish(&b);
	aif_table_number(t, id);
}

void aif_table_hex(struct aif_buf *b, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	uint8_t *to = len ? aif_buf_reserve(b, 2 * len) : NULL;

	for (size_t i = 0; to && i < len; i++) {
		to[2 * i] = (uint8_t) "0123456789ABCDEF"[p[i] >> 4];
		to[2 * i + 1] = (uint8_t) "0123456789ABCDEF"[p[i] & 15];
	}
	b->len += to ? 2 * len : 0;
}

void aif_table_blob(struct aif_table *t, const void *bytes, size_t len)
{
	struct aif_buf hex = {0};

	aif_table_hex(&hex, bytes, len);
	t->failed |= aif_buf_failed(&hex);
	aif_table_any(t, 't', aif_buf_str(&hex), hex.len);
	aif_buf_finish(&hex);
}

int aif_table_column(const struct aif_table *t, const char *name)
{
	for (size_t i = 0; i < t->width; i++)
		if (!strcmp(t->columns[i].name, name))
			return (int)i;
	return -1;
}

struct order {
	const struct aif_table *table;
	int column;
	size_t row;
};

/* A cell of any type as a number, for ordering: text and no value come last. */
static double any_number(const struct aif_table *t, uint64_t cell)
{
	const char *s = aif_strset_get(&t->text, (uint32_t)cell, NULL);
	double v = *s == 'n' ? strtod(s + 1, NULL) : -HUGE_VAL;

	return isnan(v) ? -HUGE_VAL : v;
}

static int by_column(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	const struct aif_table *t = x->table;
	uint64_t u = t->cells[x->row * t->width + (size_t)x->column];
	uint64_t v = t->cells[y->row * t->width + (size_t)x->column];
	enum aif_table_type type = t->columns[x->column].type;
	int r = 0;

	if (type == AIF_TABLE_TEXT || (type == AIF_TABLE_ID && u & v & NAMED))
		r = strcmp(aif_strset_get(&t->text, (uint32_t)u, NULL),
			   aif_strset_get(&t->text, (uint32_t)v, NULL));
	else if (u != v && type == AIF_TABLE_ANY)
		r = (any_number(t, u) < any_number(t, v)) - (any_number(t, u) > any_number(t, v));
	else if (u != v && type == AIF_TABLE_CHANGE)
		r = (int64_t)u > (int64_t)v ? -1 : 1;
	else if (u != v) /* what is not known comes last: it is 0 here */
		r = u + 1 > v + 1 ? -1 : 1;
	return r ? r : x->row < y->row ? -1 : x->row > y->row;
}

int aif_table_sort(struct aif_table *t, int column)
{
	size_t rows = t->cells_len / t->width;
	struct order *order = malloc(AIF_MAX(rows, 1) * sizeof(*order));
	uint64_t *cells = malloc(AIF_MAX(t->cells_len, 1) * sizeof(*cells));

	if (!order || !cells) {
		free(order);
		free(cells);
		return -ENOMEM;
	}
	for (size_t i = 0; i < rows; i++)
		order[i] = (struct order){.table = t, .column = column, .row = i};
	qsort(order, rows, sizeof(*order), by_column);
	for (size_t i = 0; i < rows; i++)
		memcpy(cells + i * t->width, t->cells + order[i].row * t->width,
		       t->width * sizeof(*cells));
	free(order);
	free(t->cells);
	t->cells = cells;
	t->cells_cap = AIF_MAX(t->cells_len, 1);
	return 0;
}

static const char *cell_text(const struct aif_table *t, size_t i, size_t *len)
{
	return aif_strset_get(&t->text, (uint32_t)t->cells[i], len);
}

bool aif_table_has_no_value(const struct aif_table *t, size_t i)
{
	enum aif_table_type type = t->columns[i % t->width].type;

	return (type == AIF_TABLE_NS || type == AIF_TABLE_SHARE || type == AIF_TABLE_COUNT) &&
	       t->cells[i] == AIF_TABLE_NO_VALUE;
}

static void plain_cell(const struct aif_table *t, size_t i, struct aif_buf *b)
{
	const char *s;
	size_t len;

	if (aif_table_has_no_value(t, i)) {
		aif_buf_puts(b, t->is_torch ? "-" : "");
		return;
	}
	switch (t->columns[i % t->width].type) {
	case AIF_TABLE_TEXT:
		s = cell_text(t, i, &len);
		aif_name_sanitize(s, len, b);
		break;
	case AIF_TABLE_ANY:
		s = cell_text(t, i, &len);
		aif_name_sanitize(s + 1, len - 1, b);
		break;
	case AIF_TABLE_COUNT:
		aif_human_count(b, t->cells[i]);
		break;
	case AIF_TABLE_ID:
		if (t->cells[i] & NAMED) {
			s = cell_text(t, i, &len);
			aif_name_sanitize(s, len, b);
		} else {
			aif_buf_printf(b, "%" PRIu64, t->cells[i]);
		}
		break;
	case AIF_TABLE_AT:
		aif_buf_printf(b, "%" PRIu64 ".%06" PRIu64 " s", t->cells[i] / AIF_NS_PER_S,
			       t->cells[i] % AIF_NS_PER_S / 1000);
		break;
	case AIF_TABLE_NS:
		if (t->is_torch)
			aif_human_torch_ns(b, (double)t->cells[i]);
		else
			aif_human_ns(b, t->cells[i]);
		break;
	case AIF_TABLE_BYTES:
		aif_human_bytes(b, t->cells[i]);
		break;
	case AIF_TABLE_CHANGE:
		aif_human_torch_bytes(b, (int64_t)t->cells[i]);
		break;
	case AIF_TABLE_SHARE:
		(t->is_torch ? aif_human_torch_share : aif_human_share)(b, t->cells[i]);
		break;
	}
}

static bool is_number(const struct aif_table *t, size_t i)
{
	enum aif_table_type type = t->columns[i % t->width].type;
	size_t len;

	if (type == AIF_TABLE_ID)
		return !(t->cells[i] & NAMED);
	return type == AIF_TABLE_ANY ? cell_text(t, i, &len)[0] == 'n' : type != AIF_TABLE_TEXT;
}

static void pad(struct aif_buf *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		aif_buf_putc(out, ' ');
}

bool aif_table_is_hidden(const struct aif_table *t, size_t column)
{
	return column < 64 && (t->hidden >> column & 1);
}

/* The last of those that are shown. */
static size_t last_column(const struct aif_table *t)
{
	size_t last = t->width - 1;

	while (last && aif_table_is_hidden(t, last))
		last--;
	return last;
}

/* Returns the width of the first columns of a line, with the blanks between them. */
static size_t line_width(const struct aif_table *t, size_t columns)
{
	size_t all = 0;

	for (size_t c = 0; c < columns; c++)
		if (!aif_table_is_hidden(t, c))
			all += t->widths[c] + (all ? 2 : 0);
	return all;
}

static bool is_folded(const struct aif_table *t)
{
	return t->folds && t->columns_max >= FOLDED_LEAST &&
	       !aif_table_is_hidden(t, t->width - 1) && line_width(t, t->width) > t->columns_max;
}

/* Takes from the widest text until all of a line fits, or nothing is left to take. Numbers stay
 * whole. */
static void fit(const struct aif_table *t, const bool *is_text)
{
	size_t columns = t->width - is_folded(t), all = line_width(t, columns),
	       *shown = t->widths + t->width, over;

	memcpy(shown, t->widths, t->width * sizeof(*shown));
	if (t->first_max && is_text[0] && shown[0] > t->first_max) {
		all -= shown[0] - t->first_max;
		shown[0] = t->first_max;
	}
	for (size_t c = 0; t->text_max && c < last_column(t); c++)
		if (is_text[c] && !aif_table_is_hidden(t, c) && shown[c] > t->text_max) {
			all -= shown[c] - t->text_max;
			shown[c] = t->text_max;
		}
	over = t->columns_max && all > t->columns_max ? all - t->columns_max : 0;
	for (; over; over--) {
		size_t widest = t->width;

		for (size_t c = 0; c < columns; c++)
			if (is_text[c] && !aif_table_is_hidden(t, c) &&
			    (widest == t->width || shown[c] > shown[widest]))
				widest = c;
		if (widest == t->width || shown[widest] <= LEAST_TEXT)
			return;
		shown[widest]--;
	}
}

/* Under its line, indented. */
static void put_folded(const struct aif_table *t, const struct aif_buf *cell, struct aif_buf *out)
{
	size_t room = t->columns_max - FOLDED_INDENT, used = room, seam = strlen(t->folds);
	struct aif_buf rest = *cell;

	while (out->len && out->data[out->len - 1] == ' ')
		out->len--;
	while (rest.len) {
		const uint8_t *end = memmem(rest.data, rest.len, t->folds, seam);
		struct aif_buf piece = {.data = rest.data,
					.len = end ? (size_t)(end - rest.data) + seam - 1
						   : rest.len};
		size_t width = AIF_MIN(aif_elide_width(piece.data, piece.len), room);

		if (used + 1 + width > room) {
			aif_buf_putc(out, '\n');
			pad(out, FOLDED_INDENT);
			used = width;
		} else {
			aif_buf_putc(out, ' ');
			used += 1 + width;
		}
		aif_elide(piece.data, piece.len, room, out);
		/* The blank that a seam ends with is where it is broken. */
		rest.data += piece.len + (end != NULL);
		rest.len -= piece.len + (end != NULL);
	}
	aif_buf_putc(out, '\n');
}

/* cuts: what the column's texts are cut to, NULL: this is none of them. */
static void plain_put(const struct aif_table *t, size_t column, bool right,
		      const struct aif_buf *cell, const struct aif_elider *elider,
		      struct aif_buf *out)
{
	size_t width = t->widths[t->width + column], whole = aif_elide_width(cell->data, cell->len),
	       room = width - AIF_MIN(whole, width), len = 0;
	bool last = column == last_column(t);
	const char *text;

	if (aif_table_is_hidden(t, column))
		return;
	if (last && is_folded(t)) {
		put_folded(t, cell, out);
		return;
	}
	pad(out, right ? room : 0);
	if (elider && whole > width) {
		text = aif_elider_get(elider, cell->data, cell->len, &len);
		aif_buf_append(out, text, len);
		room = width - AIF_MIN(aif_elide_width(text, len), width);
	} else {
		aif_elide(cell->data, cell->len, width, out);
	}
	pad(out, right || last ? 0 : room);
	aif_buf_puts(out, last ? "\n" : "  ");
}

static bool is_cut(const struct aif_table *t, size_t column)
{
	return t->widths[t->width + column] < t->widths[column] &&
	       !aif_table_is_hidden(t, column) && !(column + 1 == t->width && is_folded(t));
}

/* Fills an elider for each column that is cut; others stay empty. */
static int make_cuts(const struct aif_table *t, size_t rows, struct aif_elider *elider)
{
	struct aif_buf cell = {0};
	int r = 0;

	for (size_t c = 0; c < t->width && r == 0; c++) {
		if (!is_cut(t, c))
			continue;
		for (size_t i = c; i < rows * t->width && r == 0; i += t->width) {
			aif_buf_clear(&cell);
			plain_cell(t, i, &cell);
			r = aif_elider_add(&elider[c], cell.data, cell.len);
		}
		if (r == 0)
			r = aif_elider_make(&elider[c], t->widths[t->width + c]);
	}
	aif_buf_finish(&cell);
	return r;
}

static const char *title(const struct aif_table *t, size_t column)
{
	return t->titles ? t->titles[column] : t->columns[column].name;
}

static int print_plain(struct aif_table *t, size_t rows, struct aif_buf *out)
{
	bool is_first = !t->widths, *is_text = calloc(t->width, sizeof(*is_text));
	struct aif_elider *elider = calloc(t->width, sizeof(*elider));
	struct aif_buf cell = {0};
	size_t line = 0;
	int r;

	if (is_first)
		t->widths = calloc(2 * t->width, sizeof(*t->widths));
	if (!t->widths || !is_text || !elider) {
		free(is_text);
		free(elider);
		return -ENOMEM;
	}
	for (size_t c = 0; c < t->width; c++) {
		enum aif_table_type type = t->columns[c].type;

		/* Columns that may hold numbers are text as long as no cell is a number. */
		is_text[c] =
			type == AIF_TABLE_TEXT || type == AIF_TABLE_ANY || type == AIF_TABLE_ID;
		if (is_first)
			t->widths[c] = strlen(title(t, c));
	}
	for (size_t i = 0; i < rows * t->width; i++) {
		size_t *width = &t->widths[i % t->width];

		aif_buf_clear(&cell);
		plain_cell(t, i, &cell);
		*width = AIF_MAX(*width, aif_elide_width(cell.data, cell.len));
		is_text[i % t->width] &= !is_number(t, i);
	}
	fit(t, is_text);
	free(is_text);
	r = make_cuts(t, rows, elider);
	for (size_t c = 0; c < t->width && is_first && r == 0; c++) {
		enum aif_table_type type = t->columns[c].type;
		bool is_named = type == AIF_TABLE_ID && rows && t->cells[c] & NAMED;

		aif_buf_clear(&cell);
		aif_buf_puts(&cell, title(t, c));
		plain_put(t, c, type != AIF_TABLE_TEXT && type != AIF_TABLE_ANY && !is_named, &cell,
			  NULL, out);
	}
	for (size_t i = 0; i < rows * t->width && r == 0; i++) {
		size_t c = i % t->width;

		aif_buf_clear(&cell);
		plain_cell(t, i, &cell);
		if (!c)
			line = out->len;
		plain_put(t, c, is_number(t, i), &cell, is_cut(t, c) ? &elider[c] : NULL, out);
		if (c + 1 == t->width)
			aif_name_break_orders(out, line);
	}
	for (size_t c = 0; c < t->width; c++)
		aif_elider_finish(&elider[c]);
	free(elider);
	aif_buf_finish(&cell);
	return r;
}

void aif_table_csv_text(struct aif_buf *b, const char *s, size_t len)
{
	const char *end = s + len, *quote;

	if (!memchr(s, ',', len) && !memchr(s, '"', len) && !memchr(s, '\n', len) &&
	    !memchr(s, '\r', len)) {
		aif_utf8_put(b, s, len);
		return;
	}
	aif_buf_putc(b, '"');
	for (; (quote = memchr(s, '"', (size_t)(end - s))) != NULL; s = quote + 1) {
		aif_utf8_put(b, s, (size_t)(quote - s));
		aif_buf_puts(b, "\"\"");
	}
	aif_utf8_put(b, s, (size_t)(end - s));
	aif_buf_putc(b, '"');
}

static void json_text(struct aif_buf *b, const char *text, size_t len)
{
	const uint8_t *s = (const uint8_t *)text;

	aif_buf_putc(b, '"');
	for (size_t i = 0; i < len;) {
		uint32_t code;
		size_t n = aif_utf8_char(s + i, len - i, &code);

		if (!n)
			aif_buf_puts(b, "\\ufffd");
		else if (s[i] == '"' || s[i] == '\\')
			aif_buf_printf(b, "\\%c", s[i]);
		else if (s[i] < ' ')
			aif_buf_printf(b, "\\u%04x", s[i]);
		else
			aif_buf_append(b, s + i, n);
		i += n ? n : 1;
	}
	aif_buf_putc(b, '"');
}

/* SQLite's "Inf" and "-Inf"; it has no other number that begins so. */
static bool is_infinite(const char *number, size_t len)
{
	return memchr(number, 'I', len) != NULL;
}

/* For programs as it is; on a terminal it is people who read it. */
static void raw_text(const struct aif_table *t, const char *s, size_t len, struct aif_buf *out,
		     void (*text)(struct aif_buf *, const char *, size_t))
{
	struct aif_buf clean = {0};

	if (!t->columns_max) {
		text(out, s, len);
		return;
	}
	aif_name_sanitize(s, len, &clean);
	out->failed |= aif_buf_failed(&clean);
	text(out, aif_buf_str(&clean), clean.len);
	aif_buf_finish(&clean);
}

static void raw_cell(const struct aif_table *t, size_t i, struct aif_buf *out,
		     void (*text)(struct aif_buf *, const char *, size_t))
{
	const char *s;
	size_t len;

	if (aif_table_has_no_value(t, i)) {
		if (text == json_text)
			aif_buf_puts(out, "null");
		return;
	}
	switch (t->columns[i % t->width].type) {
	case AIF_TABLE_TEXT:
		s = cell_text(t, i, &len);
		raw_text(t, s, len, out, text);
		break;
	case AIF_TABLE_ANY:
		s = cell_text(t, i, &len);
		if (*s == 't')
			raw_text(t, s + 1, len - 1, out, text);
		else if (text == json_text && (*s == '0' || is_infinite(s + 1, len - 1)))
			aif_buf_puts(out, "null"); /* JSON has no word for it */
		else if (*s == 'n')
			aif_buf_append(out, s + 1, len - 1);
		break;
	case AIF_TABLE_CHANGE:
		aif_buf_printf(out, "%" PRId64, (int64_t)t->cells[i]);
		break;
	case AIF_TABLE_SHARE:
		aif_buf_printf(out, "%.6f", (double)t->cells[i] / 1e6);
		break;
	case AIF_TABLE_ID:
		if (t->cells[i] & NAMED) {
			s = cell_text(t, i, &len);
			raw_text(t, s, len, out, text);
			break;
		}
		aif_buf_printf(out, "%" PRIu64, t->cells[i]);
		break;
	default:
		aif_buf_printf(out, "%" PRIu64, t->cells[i]);
	}
}

static void print_csv(const struct aif_table *t, size_t rows, struct aif_buf *out)
{
	for (size_t c = 0; c < t->width && !t->rows_printed; c++) {
		aif_table_csv_text(out, t->columns[c].name, strlen(t->columns[c].name));
		aif_buf_putc(out, c + 1 < t->width ? ',' : '\n');
	}
	for (size_t i = 0; i < rows * t->width; i++) {
		raw_cell(t, i, out, aif_table_csv_text);
		aif_buf_putc(out, (i + 1) % t->width ? ',' : '\n');
	}
}

static void print_json(const struct aif_table *t, size_t rows, bool is_last, struct aif_buf *out)
{
	aif_buf_puts(out, t->rows_printed ? "" : "[");
	for (size_t i = 0; i < rows * t->width; i++) {
		aif_buf_puts(out, i % t->width ? ", " : i || t->rows_printed ? ",\n {" : "\n {");
		json_text(out, t->columns[i % t->width].name,
			  strlen(t->columns[i % t->width].name));
		aif_buf_puts(out, ": ");
		raw_cell(t, i, out, json_text);
		if ((i + 1) % t->width == 0)
			aif_buf_putc(out, '}');
	}
	aif_buf_puts(out, is_last ? "\n]\n" : "");
}

static int print_rows(struct aif_table *t, enum aif_table_format format, size_t rows, bool is_last,
		      struct aif_buf *out)
{
	int r = 0;

	if (t->failed)
		return -ENOMEM;
	if (format == AIF_TABLE_CSV)
		print_csv(t, rows, out);
	else if (format == AIF_TABLE_JSON)
		print_json(t, rows, is_last, out);
	else
		r = print_plain(t, rows, out);
	t->rows_printed += rows;
	return r ? r : aif_buf_failed(out) ? -ENOMEM : 0;
}

int aif_table_print(struct aif_table *t, enum aif_table_format format, size_t limit,
		    struct aif_buf *out)
{
	size_t rows = t->cells_len / t->width;

	return print_rows(t, format, limit ? AIF_MIN(rows, limit) : rows, true, out);
}

int aif_table_print_part(struct aif_table *t, enum aif_table_format format, bool is_last,
			 struct aif_buf *out)
{
	int r = print_rows(t, format, t->cells_len / t->width, is_last, out);

	t->cells_len = 0;
	aif_strset_finish(&t->text);
	return r;
}

void aif_table_describe_damaged(uint64_t chunks, struct aif_buf *out)
{
	aif_human_counted(out, chunks, "damaged chunk");
	aif_buf_puts(out, chunks == 1 ? " is not in it\n" : " are not in it\n");
}
