/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/strip.h"

#include "analysis/power/power.h"
#include "analysis/utilization.h"
#include "base/human.h"
#include "text/svg_text.h"

#include <errno.h>

/* A file may say any end; cells are computed in double. */
#define LONGEST_NS (UINT64_C(1) << 62)

/* px: a row is its caption and its cells. */
enum { CAPTION = 12, CELLS_TOP = 17, CELLS = 12 };

static struct aif_strip_row *row_of(struct aif_strip *s, uint32_t device)
{
	for (size_t i = 0; i < s->len; i++)
		if (s->rows[i].device == device)
			return &s->rows[i];
	return NULL;
}

/* Processes share a device by turns: what each of them had adds up, at most to the whole cell. */
static void row_add(const struct aif_strip *s, struct aif_strip_row *row,
		    const struct aif_device_utilization *d)
{
	for (uint64_t i = 0; i < AIF_STRIP_CELLS; i++) {
		int64_t from = (int64_t)((double)s->ns * (double)i / AIF_STRIP_CELLS);
		int64_t to = (int64_t)((double)s->ns * (double)(i + 1) / AIF_STRIP_CELLS);
		uint64_t all = (uint64_t)(to - from);

		row->busy[i] = AIF_MIN(all, row->busy[i] + aif_spans_covered(&d->busy, from, to));
		row->unknown[i] = AIF_MIN(
			all, row->unknown[i] + aif_spans_covered(&d->not_collected, from, to));
	}
}

static int rows_make(const struct aif_profile *p, const struct aif_utilization *u,
		     struct aif_strip *s)
{
	bool *is_left_out = calloc(p->devices_len + 1, sizeof(*is_left_out));

	if (!is_left_out)
		return -ENOMEM;
	for (size_t i = 0; i < u->len; i++) {
		const struct aif_device_utilization *d = &u->devices[i];
		struct aif_strip_row *row = row_of(s, d->device);

		if (!row && s->len == AIF_STRIP_ROWS) {
			s->left_out += !is_left_out[d->device];
			is_left_out[d->device] = true;
			continue;
		}
		if (!row) {
			if (aif_grow(&s->rows, &s->cap, s->len + 1, sizeof(*s->rows)) < 0) {
				free(is_left_out);
				return -ENOMEM;
			}
			row = &s->rows[s->len++];
			*row = (struct aif_strip_row){.device = d->device};
		}
		row_add(s, row, d);
	}
	free(is_left_out);
	return 0;
}

static void rows_sum(struct aif_strip *s)
{
	for (size_t i = 0; i < s->len; i++) {
		struct aif_strip_row *row = &s->rows[i];

		row->known_ns = s->ns;
		for (size_t c = 0; c < AIF_STRIP_CELLS; c++) {
			row->busy_ns += row->busy[c];
			row->known_ns -= AIF_MIN(row->known_ns, row->unknown[c]);
		}
	}
}

/* Drops devices whose executions have no times: some drivers give none. */
static void rows_drop(struct aif_strip *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->len; i++)
		if (s->rows[i].busy_ns)
			s->rows[kept++] = s->rows[i];
	s->len = kept;
}

int aif_strip_make(const struct aif_profile *p, const struct aif_selection *sel,
		   struct aif_strip *ret)
{
	struct aif_selection all = sel ? *sel : (struct aif_selection){0};
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u = aif_facts_none();
	struct aif_counters c = {0};
	int r;

	*ret = (struct aif_strip){.ns = p->end_ns - p->start_ns};
	ret->from_ns = all.from_ns;
	if (p->traits.is_lengths)
		return 0;
	all.from_ns = all.to_ns = 0;
	r = aif_exec_timeline_get_unweighed(p, &all, &t);
	if (!r && t->execs_len)
		r = aif_utilization_get(p, t, &u);
	for (size_t i = 0; i < u->len && !r; i++)
		if (u->devices[i].to > 0)
			ret->ns = AIF_MAX(ret->ns, (uint64_t)u->devices[i].to);
	ret->ns = AIF_MIN(ret->ns, LONGEST_NS);
	ret->to_ns = sel && sel->to_ns ? AIF_MIN(sel->to_ns, ret->ns) : ret->ns;
	if (!r && ret->ns)
		r = rows_make(p, u, ret);
	if (!r)
		rows_sum(ret);
	rows_drop(ret);
	if (!r && ret->len)
		r = aif_counters_read(p, NULL, &c);
	for (size_t i = 0; i < ret->len && !r && c.len; i++)
		aif_power_cells(p, &c, ret->rows[i].device, ret->ns, AIF_STRIP_CELLS,
				ret->rows[i].power_w, ret->rows[i].clock_mhz, &ret->rows[i].most_w,
				&ret->rows[i].most_mhz);
	aif_counters_finish(&c);
	aif_facts_put(u);
	aif_facts_put(t);
	return r;
}

void aif_strip_finish(struct aif_strip *s)
{
	free(s->rows);
	*s = (struct aif_strip){0};
}

/* ---- SVG ------------------------------------------------------------------------------------- */

/* Percent of a cell, at least 1 of what is not nothing. */
static unsigned percent_of(uint64_t ns, double cell)
{
	return ns ? AIF_MIN(AIF_MAX((unsigned)((double)ns / cell * 100 + 0.5), 1), 100) : 0;
}

/* Appends cells as one path, in a box of AIF_STRIP_CELLS by 100, runs of equal height as one bar. `below` (NULL: nothing) is
 * what stands under them. */
static void cells_put(const struct aif_strip *s, const uint64_t *cells, const uint64_t *below,
		      const char *class, struct aif_buf *b)
{
	double cell = (double)s->ns / AIF_STRIP_CELLS;
	unsigned high = 0, from = 0;
	size_t start = 0;
	bool has = false;

	for (size_t i = 0; i <= AIF_STRIP_CELLS; i++) {
		unsigned under = 0, next = 0;

		if (i < AIF_STRIP_CELLS) {
			next = percent_of(cells[i], cell);
			under = next && below ? percent_of(below[i], cell) : 0;
			next = AIF_MIN(next, 100 - under);
		}
		if (next == high && under == from && i < AIF_STRIP_CELLS)
			continue;
		if (high)
			aif_buf_printf(b, "%sM%zu %uh%zuv-%uh-%zuz", has ? "" : "<path d=\"", start,
				       100 - from, i - start, high, i - start);
		has |= high > 0;
		start = i;
		high = next;
		from = under;
	}
	if (has)
		aif_buf_printf(b, "\" class=\"%s\"/>", class);
}

/* Appends a line of values over the cells from the first reading on, `most` at the top; a step where it changes by a percent. */
static void line_put(const double *values, double most, const char *stroke, const char *dashes,
		     struct aif_buf *b)
{
	unsigned before = 0;
	size_t first = 0;

	while (first < AIF_STRIP_CELLS && !(values[first] > 0))
		first++;
	if (!(most > 0) || first == AIF_STRIP_CELLS)
		return;
	aif_buf_puts(b, "<path fill=\"none\" d=\"");
	for (size_t i = first; i < AIF_STRIP_CELLS; i++) {
		double share = values[i] / most;
		unsigned y = 100 - (unsigned)(AIF_MIN(AIF_MAX(share, 0.0), 1.0) * 100 + 0.5);

		if (i == first)
			aif_buf_printf(b, "M%zu %u", i, y);
		else if (y != before)
			aif_buf_printf(b, "H%zuV%u", i, y);
		before = y;
	}
	aif_buf_printf(b, "H%d\" stroke=\"%s\"%s vector-effect=\"non-scaling-stroke\"/>",
		       AIF_STRIP_CELLS, stroke, dashes);
}

static void faded_put(uint64_t from_ns, uint64_t to_ns, uint64_t ns, struct aif_buf *b)
{
	double scale = AIF_STRIP_CELLS / (double)ns;

	if (from_ns < to_ns)
		aif_buf_printf(b,
			       "<rect class=\"faded\" x=\"%.2f\" width=\"%.2f\" height=\"100\"/>",
			       scale * (double)from_ns, scale * (double)(to_ns - from_ns));
}

static void caption_put(const struct aif_strip *s, const struct aif_profile *p, size_t i,
			size_t columns, struct aif_buf *b)
{
	const struct aif_strip_row *row = &s->rows[i];
	struct aif_buf said = {0};

	aif_buf_printf(&said, "%s: busy %.1f %% of ",
		       aif_profile_str(p, p->devices[row->device].name),
		       row->known_ns ? 100.0 * (double)row->busy_ns / (double)row->known_ns : 0.0);
	aif_human_ns(&said, row->known_ns);
	if (row->known_ns < s->ns) {
		aif_buf_puts(&said, ", grey: ");
		aif_human_ns(&said, s->ns - row->known_ns);
		aif_buf_puts(&said, " not collected");
	}
	if (row->most_w > 0)
		aif_buf_printf(&said, "; orange: power, of %.0f W", row->most_w);
	if (row->most_mhz > 0)
		aif_buf_printf(&said, "; blue: SM clock, of %.0f MHz", row->most_mhz);
	if (i + 1 == s->len && s->left_out)
		aif_buf_printf(&said, " (and %zu more devices)", s->left_out);
	aif_svg_text(b, aif_buf_str(&said), said.len, columns);
	b->failed |= aif_buf_failed(&said);
	aif_buf_finish(&said);
}

void aif_strip_put(const struct aif_strip *s, const struct aif_profile *p, uint32_t x, uint32_t y,
		   uint32_t width, size_t columns, struct aif_buf *b)
{
	for (size_t i = 0; i < s->len; i++, y += AIF_STRIP_ROW_PX) {
		aif_buf_puts(b, "<g class=\"strip\"><title>");
		caption_put(s, p, i, SIZE_MAX, b);
		aif_buf_puts(b, "\nHow much the device worked, from the recording's start to its "
				"end");
		if (s->from_ns || s->to_ns < s->ns)
			aif_buf_puts(b, "; faded: what this picture does not show");
		aif_buf_printf(b, "</title><text class=\"subtitle\" x=\"%u\" y=\"%u\">", x,
			       y + CAPTION);
		caption_put(s, p, i, columns, b);
		aif_buf_printf(
			b,
			"</text><svg class=\"wide\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%d\" "
			"viewBox=\"0 0 %d 100\" preserveAspectRatio=\"none\">"
			"<rect class=\"idle\" width=\"%d\" height=\"100\"/>",
			x, y + CELLS_TOP, width, CELLS, AIF_STRIP_CELLS, AIF_STRIP_CELLS);
		cells_put(s, s->rows[i].unknown, s->rows[i].busy, "unknown", b);
		cells_put(s, s->rows[i].busy, NULL, "busy", b);
		line_put(s->rows[i].clock_mhz, s->rows[i].most_mhz, "#1864ab",
			 " stroke-dasharray=\"3 2\"", b);
		line_put(s->rows[i].power_w, s->rows[i].most_w, "#d9480f", "", b);
		faded_put(0, s->from_ns, s->ns, b);
		faded_put(s->to_ns, s->ns, s->ns, b);
		aif_buf_puts(b, "</svg></g>\n");
	}
}
