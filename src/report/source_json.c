/* SPDX-License-Identifier: Apache-2.0 */
#include "report/source_json.h"

#include "text/json.h"

#include <inttypes.h>

/* Lines shown on each side of one that has a weight. */
#define CONTEXT 4

struct writer {
	const struct aif_profile *p;
	struct aif_source_cursor cursor;
	struct aif_buf *json, cell;
	uint32_t rows;
};

static void put_cell(struct writer *w)
{
	w->json->failed |= aif_buf_failed(&w->cell);
	aif_out_json_string(w->json, (const char *)w->cell.data, w->cell.len);
	aif_buf_clear(&w->cell);
}

static void put_gap(struct writer *w)
{
	aif_buf_puts(w->json, w->rows++ ? ",[]" : "[]");
}

static void put_row(struct writer *w, const struct aif_source_line *s, uint64_t weight)
{
	aif_buf_puts(w->json, w->rows++ ? ",[" : "[");
	aif_source_place(w->p, s, &w->cell);
	put_cell(w);
	aif_buf_putc(w->json, ',');
	aif_source_put_text(w->p, s, &w->cursor, &w->cell);
	put_cell(w);
	aif_buf_printf(w->json, ",%" PRIu64 "]", weight);
}

/* Appends the lines [from, end) of the file of `s`, which have no weight. */
static void put_context(struct writer *w, const struct aif_source_line *s, uint32_t from,
			uint32_t end)
{
	struct aif_source_line at = *s;
	size_t len;

	for (at.line = AIF_MAX(from, 1U); at.line < end; at.line++)
		if (aif_source_text(w->p, &at, &w->cursor, &len))
			put_row(w, &at, 0);
}

void aif_source_json(const struct aif_profile *p, const struct aif_source_line *lines, size_t n,
		     uint32_t *ret_rows, struct aif_buf *json)
{
	struct writer w = {.p = p, .json = json};

	aif_buf_puts(json, "\"lines\":[");
	for (size_t i = 0; i < n; i++) {
		const struct aif_source_line *s = &lines[i], *next = s + 1;
		bool has_next = i + 1 < n && next->file == s->file;
		uint32_t before = i && s[-1].file == s->file ? s[-1].line : 0, end;

		if (!before || s->line - before > 2 * CONTEXT) {
			if (before)
				put_gap(&w);
			put_context(&w, s, s->line > CONTEXT ? s->line - CONTEXT : 1, s->line);
		}
		ret_rows[i] = w.rows;
		put_row(&w, s, s->weight);
		end = s->line > UINT32_MAX - CONTEXT - 1 ? s->line : s->line + CONTEXT + 1;
		if (has_next && next->line <= s->line)
			continue;
		if (has_next && next->line - s->line <= 2 * CONTEXT)
			end = next->line;
		put_context(&w, s, s->line + 1, end);
	}
	aif_buf_putc(json, ']');
	aif_buf_finish(&w.cell);
}
