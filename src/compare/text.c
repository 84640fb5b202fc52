/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for people: as plain text, and as Markdown. */
#include "compare/words.h"

#include "text/elide.h"

#include <stdio.h>
#include <string.h>

/* Frames of a stack that Markdown shows: tables of a web page have no room for more. */
#define MOST_FRAMES 8
/* No last column is cut to fewer columns of a terminal. */
#define LEAST_LAST 40

enum { COLUMNS_MAX = 6 };

/* A table of texts, written with columns of equal width or as Markdown. */
struct grid {
	bool is_markdown;
	size_t line; /* columns of a terminal to which the last column is cut; 0: it is not */
	size_t columns, rows, cap;
	struct cells {
		struct aif_buf text[COLUMNS_MAX];
	} * row, spare; /* spare: takes the cells of rows that there was no memory for */
	bool failed;
};

/* Begins a row. Returns its cells. */
static struct aif_buf *grid_row(struct grid *g)
{
	if (aif_grow(&g->row, &g->cap, g->rows + 1, sizeof(*g->row)) < 0) {
		g->failed = true;
		return g->spare.text;
	}
	g->row[g->rows] = (struct cells){0};
	return g->row[g->rows++].text;
}

/* True if no row but the head has text in a column. */
static bool is_empty(const struct grid *g, size_t column)
{
	for (size_t r = 1; r < g->rows; r++)
		if (g->row[r].text[column].len)
			return false;
	return true;
}

/* Cuts the texts of the last column in the middle where a line has no room for them. Texts that differ still do. */
static int cut_last(struct grid *g, size_t beside)
{
	size_t last = g->columns - 1,
	       room = g->line > beside + LEAST_LAST ? g->line - beside : LEAST_LAST;
	struct aif_elider cuts = {0};
	int e = 0;

	for (size_t r = 1; r < g->rows && !e; r++)
		e = aif_elider_add(&cuts, aif_buf_str(&g->row[r].text[last]),
				   g->row[r].text[last].len);
	if (!e)
		e = aif_elider_make(&cuts, room);
	for (size_t r = 1; r < g->rows && !e; r++) {
		struct aif_buf *cell = &g->row[r].text[last], cut = {0};
		size_t len;
		const char *text = aif_elider_get(&cuts, aif_buf_str(cell), cell->len, &len);

		aif_buf_append(&cut, text, len);
		aif_buf_finish(cell);
		*cell = cut;
	}
	aif_elider_finish(&cuts);
	return e;
}

static void grid_print(struct grid *g, struct aif_buf *out)
{
	size_t width[COLUMNS_MAX] = {0}, beside = 0;

	for (size_t r = 0; r < g->rows; r++)
		for (size_t i = 0; i < g->columns; i++)
			width[i] =
				AIF_MAX(width[i], aif_elide_width(aif_buf_str(&g->row[r].text[i]),
								  g->row[r].text[i].len));
	for (size_t i = 0; i + 1 < g->columns; i++)
		beside += is_empty(g, i) ? 0 : width[i] + 2;
	if (g->line && beside + width[g->columns - 1] > g->line && cut_last(g, beside) < 0)
		g->failed = true;
	for (size_t r = 0; r < g->rows; r++) {
		aif_buf_puts(out, g->is_markdown ? "|" : "");
		for (size_t i = 0; i < g->columns; i++) {
			const struct aif_buf *cell = &g->row[r].text[i];
			size_t pad;

			if (is_empty(g, i))
				continue;
			if (g->is_markdown) {
				aif_buf_putc(out, ' ');
				aif_compare_markdown(cell->data, cell->len, out);
				aif_buf_puts(out, " |");
				continue;
			}
			aif_buf_append(out, cell->data, cell->len);
			pad = width[i] -
			      aif_elide_width(cell->data ? (char *)cell->data : "", cell->len);
			for (size_t n = 0; n < pad + 2 && i + 1 < g->columns; n++)
				aif_buf_putc(out, ' ');
		}
		while (out->len && out->data[out->len - 1] == ' ')
			out->len--;
		aif_buf_putc(out, '\n');
		if (g->is_markdown && !r) {
			aif_buf_puts(out, "|");
			for (size_t i = 0; i < g->columns; i++)
				aif_buf_puts(out, is_empty(g, i) ? "" : "---|");
			aif_buf_putc(out, '\n');
		}
	}
	for (size_t r = 0; r < g->rows; r++)
		for (size_t i = 0; i < COLUMNS_MAX; i++) {
			out->failed |= aif_buf_failed(&g->row[r].text[i]);
			aif_buf_finish(&g->row[r].text[i]);
		}
	for (size_t i = 0; i < COLUMNS_MAX; i++)
		aif_buf_finish(&g->spare.text[i]);
	out->failed |= g->failed;
	free(g->row);
}

static void grid_head(struct grid *g, const char *const *titles, size_t n)
{
	struct aif_buf *cells = grid_row(g);

	g->columns = n;
	for (size_t i = 0; i < n; i++)
		aif_buf_puts(&cells[i], titles[i]);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void put_metrics(const struct aif_comparison *c, bool is_markdown, struct aif_buf *out)
{
	static const char *const titles[] = {"", "A", "B", "change", "verdict"};
	struct grid g = {.is_markdown = is_markdown};
	bool any = false;

	for (unsigned m = 0; m < AIF_METRICS; m++)
		any |= c->has_metric[m];
	if (!any)
		return;
	aif_buf_putc(out, '\n');
	grid_head(&g, titles, AIF_ARRAY_LEN(titles));
	for (unsigned m = 0; m < AIF_METRICS; m++) {
		const struct aif_compared *of = &c->metric[m];
		struct aif_buf *cells;

		if (!c->has_metric[m])
			continue;
		cells = grid_row(&g);
		aif_buf_puts(&cells[0], aif_metric_name(m));
		aif_words_value(c, m, of->change.a, &cells[1]);
		aif_words_value(c, m, of->change.b, &cells[2]);
		aif_words_change(&of->change, &cells[3]);
		aif_words_verdict(c, m, &cells[4]);
	}
	grid_print(&g, out);
}

static void put_heading(bool is_markdown, const char *text, struct aif_buf *out)
{
	aif_buf_printf(out, is_markdown ? "\n### %s\n\n" : "\n%s\n", text);
}

static void put_findings(const struct aif_comparison *c, size_t most, size_t line, bool is_markdown,
			 struct aif_buf *out)
{
	static const char *const titles[] = {"change", "verdict", "how", "stack"};
	struct grid g = {.is_markdown = is_markdown, .line = line};
	size_t n = most ? AIF_MIN(most, c->findings_len) : c->findings_len;

	put_heading(is_markdown, "Stacks that changed", out);
	if (!n) {
		aif_buf_printf(out, "%s\n", aif_words_no_stacks(c));
		return;
	}
	grid_head(&g, titles, AIF_ARRAY_LEN(titles));
	for (size_t i = 0; i < n; i++) {
		const struct aif_finding *f = &c->findings[i];
		struct aif_buf *cells = grid_row(&g);

		aif_words_signed_ns(c, f->delta, &cells[0]);
		if (!f->is_change)
			aif_buf_puts(&cells[1], "moved");
		else if (c->decides)
			aif_buf_puts(&cells[1], aif_words_part(c, f->time.answer));
		aif_words_how(c, f, &cells[2]);
		aif_compare_stack(c, f->node, is_markdown ? MOST_FRAMES : 0, &cells[3]);
	}
	grid_print(&g, out);
	if (n < c->findings_len)
		aif_buf_printf(out, "and %zu more (--limit 0)\n", c->findings_len - n);
}

static void put_kernel_name(const struct aif_compared_kernel *k, struct aif_buf *b)
{
	if (k->a)
		aif_buf_puts(b, k->a);
	if (k->a && k->b && k->matched_by != AIF_PARTNER_SAME)
		aif_buf_printf(b, " -> %s (%s)", k->b,
			       k->matched_by == AIF_PARTNER_NAME ? "renamed" : "in its place");
	else if (!k->a)
		aif_buf_puts(b, k->b);
}

static void put_kernels(const struct aif_comparison *c, size_t most, size_t line, bool is_markdown,
			struct aif_buf *out)
{
	static const char *const titles[] = {"A", "B", "change", "verdict", "launches", "kernel"};
	struct grid g = {.is_markdown = is_markdown, .line = line};
	size_t n = most ? AIF_MIN(most, c->kernels_len) : c->kernels_len;

	if (!n)
		return;
	put_heading(is_markdown, "Kernels, the largest change first", out);
	grid_head(&g, titles, AIF_ARRAY_LEN(titles));
	for (size_t i = 0; i < n; i++) {
		const struct aif_compared_kernel *k = &c->kernels[i];
		struct aif_buf *cells = grid_row(&g);

		if (k->a)
			aif_words_ns(c, k->time.change.a, &cells[0]);
		if (k->b)
			aif_words_ns(c, k->time.change.b, &cells[1]);
		aif_words_change(&k->time.change, &cells[2]);
		if (c->decides)
			aif_buf_puts(&cells[3], aif_words_kernel(c, k));
		aif_words_value(c, AIF_METRIC_LAUNCHES, k->a_launches, &cells[4]);
		if (k->a_launches != k->b_launches) {
			aif_buf_puts(&cells[4], " -> ");
			aif_words_value(c, AIF_METRIC_LAUNCHES, k->b_launches, &cells[4]);
		}
		put_kernel_name(k, &cells[5]);
	}
	grid_print(&g, out);
	if (n < c->kernels_len)
		aif_buf_printf(out, "and %zu more (--limit 0)\n", c->kernels_len - n);
}

/* Puts why there is no verdict, but for what the summary has said. */
static void put_problems(const struct aif_comparison *c, struct aif_buf *out)
{
	const uint8_t *end = aif_words_summary_has_problem(c) && c->problems.len
				     ? memchr(c->problems.data, '\n', c->problems.len)
				     : NULL;
	size_t said = end ? (size_t)(end - c->problems.data) + 1 : 0;
	struct aif_buf rest = {.data = c->problems.data + said, .len = c->problems.len - said};

	if (c->problems.len)
		aif_words_lines(&rest, "no verdict: ", out);
}

/* Puts what the tables are of, and how sure they are. */
static void put_head(const struct aif_comparison *c, struct aif_buf *out)
{
	aif_words_summary(c, out);
	aif_buf_putc(out, '\n');
	aif_words_side(c->a, 'A', out);
	aif_buf_putc(out, '\n');
	aif_words_side(c->b, 'B', out);
	aif_buf_putc(out, '\n');
	aif_words_unit(c, out);
	if (c->decides)
		aif_buf_printf(out, "; changes with 95 %% intervals, margin %.3g %%",
			       100 * c->margin);
	aif_buf_putc(out, '\n');
	put_problems(c, out);
	aif_words_lines(&c->notes, "note: ", out);
}

static void put_tables(const struct aif_comparison *c, size_t most, size_t line, bool is_markdown,
		       struct aif_buf *out)
{
	put_metrics(c, is_markdown, out);
	put_findings(c, most, line, is_markdown, out);
	put_kernels(c, most, line, is_markdown, out);
}

void aif_comparison_text(const struct aif_comparison *c, size_t most, size_t columns,
			 struct aif_buf *out)
{
	put_head(c, out);
	put_tables(c, most, columns, false, out);
}

void aif_comparison_markdown(const struct aif_comparison *c, size_t most, struct aif_buf *out)
{
	struct aif_buf head = {0};

	aif_buf_puts(out, "## aiflame diff\n\n");
	put_head(c, &head);
	aif_compare_markdown_lines(&head, out);
	put_tables(c, most, 0, true, out);
	out->failed |= aif_buf_failed(&head);
	aif_buf_finish(&head);
}
