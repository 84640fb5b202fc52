/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/svg.h"

#include "text/elide.h"
#include "flame/layout.h"
#include "flame/narrow.h"
#include "flame/folded.h"
#include "flame/palette.h"
#include "text/svg_text.h"
#include "text/table.h"
#include "analysis/attribution.h"

#include <errno.h>
#include <string.h>

static const char css[] =
#include "flame.css.inc"
	;
static const char js[] =
#include "flame.js.inc"
	;

/* Chromium zooms 10,000 frames in 0.02 to 0.2 s on a slow machine, and its time grows with them. */
#define MAX_BOXES 10000
/* Rows of a recursion gone wrong: browsers draw no picture of 100,000 px. */
#define MAX_ROWS      1000
#define MIN_WIDTH_PX  0.1
#define MIN_HOLE_PX   3.0 /* a narrower hole between frames is not seen */
#define DEFAULT_WIDTH 1200
#define LEAST_WIDTH   300

/* px; flame.js knows PAD and CHAR from the file, the offset of the baseline by itself. */
enum {
	PAD = 12,
	ROW = 18,
	BOX = 17,
	BASELINE = 13,
	TITLE = 32,
	LINE = 20,
	SECOND = 17,
	BAR = 30,
	TOOLS = 370
};
#define CHAR_PX     7.24 /* 12 px of the widest usual monospaced font, DejaVu Sans Mono */
#define SANS_PX     6.6  /* a letter in the mean, 12 px */
#define SANS_BIG_PX 11.2 /* 20 px, bold */

/* Columns of a name that browsers show in a tooltip; names go to 20,000 bytes. */
#define NAME_COLUMNS 1000

struct picture {
	const struct aif_tree *tree;
	const struct aif_svg_opts *opts;
	struct aif_out *out;
	struct aif_flame_layout layout;
	uint64_t total, missing; /* missing: frames of which the file has the width alone */
	struct aif_flame_hole *holes;
	size_t holes_len;
	uint32_t rows;               /* of frames and holes */
	uint32_t width, height, top; /* top: of the uppermost row */
};

static size_t columns_of(double px, double column)
{
	return px < column ? 0 : (size_t)(px / column);
}

/* Returns the colours, of which a box has colour_of(). */
static const struct aif_palette_colour *colours_of(const struct picture *p, size_t *ret_len)
{
	if (!p->opts->look)
		return aif_palette(ret_len);
	*ret_len = p->opts->look->colours_len;
	return p->opts->look->colours;
}

static void style_put(const struct picture *p, struct aif_buf *b)
{
	const struct aif_palette_colour *colours;
	size_t len;

	colours = colours_of(p, &len);
	aif_buf_puts(b, "<style>\n");
	aif_buf_puts(b, css);
	for (size_t i = 0; i < len; i++) {
		for (unsigned shade = 0; shade < AIF_PALETTE_SHADES; shade++) {
			uint8_t rgb[3];

			aif_palette_rgb(&colours[i], shade, rgb);
			aif_buf_printf(b, ".%s%u rect{fill:#%02x%02x%02x}%s", colours[i].letter,
				       shade, rgb[0], rgb[1], rgb[2],
				       shade + 1 < AIF_PALETTE_SHADES ? " " : "\n");
		}
	}
	aif_buf_puts(b, "</style>\n");
}

static size_t colour_of(const struct picture *p, const struct aif_flame_box *box)
{
	uint32_t name = p->tree->nodes[box->node].name;
	size_t len;
	const char *text = aif_tree_text(p->tree, name, &len);

	if (p->opts->look)
		return p->opts->look->colour_of(p->opts->look->arg, box->node);
	return aif_palette_of(aif_tree_type_of(p->tree, name), text, len);
}

/* Width of a legend's word: sans-serif fonts agree well enough on which letters are narrow. */
static double word_px(const char *s)
{
	double px = 0;

	for (; *s; s++)
		px += strchr("filjt ,", *s) ? 3.9 : strchr("mwMW", *s) ? 10.5 : *s == 'r' ? 5 : 7.2;
	return px;
}

/* The colours that are in the picture, in as many rows as they need. Returns the y behind it. */
static uint32_t legend_put(const struct picture *p, struct aif_buf *b, uint32_t y)
{
	const struct aif_palette_colour *colours;
	uint64_t used = 0;
	double x = PAD;
	size_t len;

	colours = colours_of(p, &len);
	assert(len <= 64);
	for (size_t i = 1; i < p->layout.len; i++)
		used |= UINT64_C(1) << colour_of(p, &p->layout.boxes[i]);
	aif_buf_puts(b, "<g class=\"legend\">\n");
	for (size_t i = 0; i < len; i++) {
		const char *name = i == AIF_TREE_CXX && p->opts->cxx && !p->opts->look
					   ? p->opts->cxx
					   : colours[i].name;
		double width = 19 + word_px(name);

		if (!(used >> i & 1))
			continue;
		if (x + width > p->width - PAD && x > PAD) {
			x = PAD;
			y += LINE;
		}
		aif_buf_printf(
			b,
			"<g class=\"%s4\"><rect x=\"%.1f\" y=\"%u\" width=\"13\" height=\"13\" "
			"rx=\"3\"/><text x=\"%.1f\" y=\"%u\">%s</text></g>\n",
			colours[i].letter, x, y - 11, x + 19, y, name);
		x += width + 18;
	}
	aif_buf_puts(b, "</g>\n");
	return y;
}

/* Returns true if the subtitle and the quality need a line each: the quality, which a picture found
 * alone must show, is not cut for a long path's sake. */
static bool has_two_lines(const struct picture *p)
{
	const struct aif_svg_opts *o = p->opts;
	size_t room = columns_of((double)p->width - 2 * PAD, SANS_PX);

	return o->subtitle && *o->subtitle && o->quality && *o->quality &&
	       aif_elide_width(o->subtitle, strlen(o->subtitle)) + 2 +
			       aif_elide_width(o->quality, strlen(o->quality)) >
		       room;
}

/* Writes the subtitle. Its tooltip is all of it, of which the script shows as much as the window
 * has room for. */
static void subtitle_put(const struct picture *p, struct aif_buf *b)
{
	const char *first = p->opts->subtitle ? p->opts->subtitle : "",
		   *second = p->opts->quality ? p->opts->quality : "";
	bool two = has_two_lines(p);
	size_t room = columns_of((double)p->width - 2 * PAD, SANS_PX);
	struct aif_buf line = {0};

	aif_buf_puts(&line, first);
	if (!two && *second)
		aif_buf_printf(&line, "%s%s", *first ? "; " : "", second);
	aif_buf_puts(b, "<g><title id=\"told\">");
	aif_svg_text(b, aif_buf_str(&line), line.len, NAME_COLUMNS);
	if (two) {
		aif_buf_putc(b, '\n');
		aif_svg_text(b, second, strlen(second), NAME_COLUMNS);
	}
	aif_buf_printf(b,
		       "</title><text id=\"subtitle\" class=\"subtitle\" x=\"%d\" y=\"%u\" "
		       "data-char=\"%.1f\">",
		       PAD, TITLE + LINE, SANS_PX);
	aif_svg_text(b, aif_buf_str(&line), line.len, room);
	if (two) {
		aif_buf_printf(b,
			       "</text><text id=\"quality\" class=\"subtitle\" x=\"%d\" y=\"%u\">",
			       PAD, TITLE + LINE + SECOND);
		aif_svg_text(b, second, strlen(second), room);
	}
	aif_buf_puts(b, "</text></g>\n");
	b->failed |= aif_buf_failed(&line);
	aif_buf_finish(&line);
}

/* The size is known only when the legend's rows are: the head goes in front of them. */
static void head_put(struct picture *p, struct aif_buf *b)
{
	const struct aif_svg_opts *o = p->opts;
	const char *title = o->title && *o->title ? o->title : "Flame graph";
	uint32_t y = TITLE;
	struct aif_buf legend = {0};

	bool has_line = (o->subtitle && *o->subtitle) || (o->quality && *o->quality);

	y += has_line ? 2 * LINE + 3 : LINE + 6;
	y = legend_put(p, &legend, y + (has_two_lines(p) ? SECOND : 0));
	if (o->strip && o->strip->len) {
		aif_strip_put(o->strip, o->profile, PAD, y + 9, p->width - 2 * PAD,
			      columns_of((double)p->width - 2 * PAD, SANS_PX), &legend);
		y += (uint32_t)o->strip->len * AIF_STRIP_ROW_PX;
	}
	p->top = y + 17;
	p->height = p->top + p->rows * ROW + 8 + BAR;
	aif_buf_printf(b,
		       "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%u\" "
		       "height=\"%u\" viewBox=\"0 0 %u %u\" role=\"group\" "
		       "aria-labelledby=\"title subtitle%s\">\n<title>",
		       p->width, p->height, p->width, p->height,
		       has_two_lines(p) ? " quality" : "");
	aif_svg_text(b, title, strlen(title), NAME_COLUMNS);
	aif_buf_puts(b, "</title>\n<!-- made by aiflame " AIF_VERSION " -->\n");
	style_put(p, b);
	aif_buf_printf(b,
		       "<rect class=\"paper\" width=\"%u\" height=\"%u\"/>\n"
		       "<text id=\"title\" class=\"title\" x=\"%d\" y=\"%u\">",
		       p->width, p->height, PAD, TITLE);
	aif_svg_text(b, title, strlen(title),
		     columns_of((double)p->width - 2 * PAD - TOOLS, SANS_BIG_PX));
	aif_buf_puts(b, "</text>\n");
	subtitle_put(p, b);
	aif_buf_append(b, legend.data, legend.len);
	b->failed |= aif_buf_failed(&legend);
	aif_buf_finish(&legend);
}

/* Appends how many of something there are, in the mean of the steps. */
static void counted_put(const struct picture *p, struct aif_buf *b, uint64_t n, const char *noun)
{
	if (!p->opts->steps)
		aif_human_counted(b, n, noun);
	else
		aif_buf_printf(b, "%.3g %s%s", (double)n / (double)p->opts->steps, noun,
			       noun[strlen(noun) - 1] == 'h' ? "es" : "s");
}

static void value_put(const struct picture *p, struct aif_buf *b, uint64_t value)
{
	uint32_t scale = p->tree->scale;
	uint64_t steps = AIF_MAX(p->opts->steps, UINT64_C(1));

	if (!p->opts->unit) {
		aif_human_ns(b, value / scale / steps);
		return;
	}
	if (!strcmp(p->opts->unit, AIF_ENERGY_UNIT)) {
		aif_human_energy(b, (double)value / scale / (double)steps / 1e6);
		return;
	}
	if (!strcmp(p->opts->unit, AIF_BYTES_UNIT)) {
		aif_human_bytes(b, value / scale / steps);
		return;
	}
	if (steps > 1)
		aif_buf_printf(b, "%.4g", (double)value / scale / (double)steps);
	else if (value % scale)
		aif_folded_count(b, value, scale);
	else
		aif_human_count(b, value / scale);
	aif_buf_putc(b, ' ');
	aif_svg_text(b, p->opts->unit, strlen(p->opts->unit), NAME_COLUMNS);
}

static void share_put(struct aif_buf *b, uint64_t part, uint64_t all, const char *of)
{
	double percent = all ? 100.0 * (double)part / (double)all : 0;

	if (part && percent < 0.01)
		aif_buf_printf(b, " \u00b7 &lt; 0.01 %% of %s", of);
	else
		aif_buf_printf(b, " \u00b7 %.2f %% of %s", percent, of);
}

/* Appends what is known beside the width; nothing for trees without details. */
static void details_put(const struct picture *p, struct aif_buf *b, uint32_t node)
{
	const struct aif_tree_detail *d = p->tree->details ? &p->tree->details[node] : NULL;
	const char *between = "\n";

	if (!d)
		return;
	if (d->time_ns && (p->opts->unit || d->time_ns != p->tree->nodes[node].total)) {
		aif_buf_puts(b, between);
		aif_human_ns(b, d->time_ns / AIF_MAX(p->opts->steps, UINT64_C(1)));
		aif_buf_puts(b, " of durations");
		between = " \u00b7 ";
	}
	if (d->samples) {
		aif_buf_puts(b, between);
		counted_put(p, b, d->samples, "sample");
		between = " \u00b7 ";
	}
	if (d->launches) {
		aif_buf_puts(b, between);
		counted_put(p, b, d->launches, "launch");
		between = " \u00b7 ";
	}
	if (d->bytes) {
		aif_buf_puts(b, between);
		aif_human_bytes(b, d->bytes / AIF_MAX(p->opts->steps, UINT64_C(1)));
	}
}

static bool is_inside_kernel(unsigned type)
{
	switch (aif_tree_base_type(type)) {
	case AIF_TREE_LINE:
	case AIF_TREE_INSTRUCTION:
	case AIF_TREE_STALL:
		return true;
	default:
		return false;
	}
}

/* The tooltip. Its first lines are names (*ret_names of them), which the search looks at. */
static void title_put(const struct picture *p, struct aif_buf *b, const struct aif_flame_box *box,
		      const char *text, size_t len, unsigned *ret_names)
{
	const struct aif_tree *t = p->tree;
	const struct aif_tree_node *node = &t->nodes[box->node];
	const struct aif_tree_detail *d = t->details ? &t->details[box->node] : NULL;
	unsigned type = aif_tree_type_of(t, node->name), grades = d ? d->grades : 0;
	const char *between = " \u00b7 ";
	size_t colours;

	*ret_names = 1;
	aif_svg_text(b, text, len, NAME_COLUMNS);
	if (d && d->full != AIF_STR_NONE) {
		const char *full = aif_strset_get(&t->full, d->full, &len);

		aif_buf_putc(b, '\n');
		aif_svg_text(b, full, len, NAME_COLUMNS);
		++*ret_names;
	}
	if (p->opts->look) {
		p->opts->look->tooltip(p->opts->look->arg, box->node, b);
		return;
	}
	aif_buf_putc(b, '\n');
	value_put(p, b, node->total);
	share_put(b, node->total, p->total, "all");
	if (box->node)
		share_put(b, node->total, t->nodes[node->parent].total, "its caller");
	details_put(p, b, box->node);
	if (!box->node)
		return;
	aif_buf_putc(b, '\n');
	aif_buf_puts(b, colours_of(p, &colours)[colour_of(p, box)].name);
	if (type & AIF_TREE_INLINED)
		aif_buf_puts(b, ", inlined");
	/* Executions are measured, what lies inside of a kernel is a share of its samples; that
	 * such were shared between executions says nothing of the executions themselves. */
	if (is_inside_kernel(type)) {
		aif_buf_puts(b, grades ? " \u00b7 by samples" : "");
		between = ", ";
		grades &= ~(1u << AIF_GRADE_EXACT);
	} else if (grades >> AIF_GRADE_APPORTIONED & 1) {
		grades &= ~(1u << AIF_GRADE_APPORTIONED);
		grades |= 1u << AIF_GRADE_EXACT;
	}
	for (unsigned g = 0; g <= AIF_GRADE_UNMATCHED; g++) {
		if (!(grades >> g & 1))
			continue;
		aif_buf_puts(b, between);
		aif_buf_puts(b, aif_grade_name((enum aif_grade)g));
		between = ", ";
	}
}

static uint32_t row_y(const struct picture *p, uint32_t depth)
{
	return p->top + (p->opts->inverted ? depth : p->rows - 1 - depth) * ROW;
}

static double px_per_value(const struct picture *p)
{
	return ((double)p->width - 2 * PAD) / (double)p->total;
}

static int holes_find(struct picture *p)
{
	int r;

	p->rows = p->layout.depth;
	if (!p->total)
		return 0;
	r = aif_flame_holes(p->tree, &p->layout, (uint64_t)(MIN_HOLE_PX / px_per_value(p)),
			    &p->holes, &p->holes_len);
	for (size_t i = 0; i < p->holes_len; i++)
		p->rows = AIF_MAX(p->rows, p->holes[i].depth + 1);
	return r;
}

/* Marks where frames are too narrow to draw. The script draws its own marks. */
static void holes_put(const struct picture *p, struct aif_buf *b)
{
	double scale = px_per_value(p);

	aif_buf_puts(
		b, "<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
		   "<path d=\"M-1 7L7-1M-1 1L1-1M5 7L7 5\"/></pattern>\n<g id=\"holes\">\n");
	for (size_t i = 0; i < p->holes_len; i++) {
		const struct aif_flame_hole *hole = &p->holes[i];

		aif_buf_puts(b, "<g><title>");
		aif_human_counted(b, hole->frames, "frame");
		aif_buf_puts(b, " too narrow to draw\n");
		value_put(p, b, hole->value);
		share_put(b, hole->value, p->total, "all");
		aif_buf_printf(b,
			       "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" "
			       "rx=\"2\" fill=\"url(#hatch)\"/></g>\n",
			       PAD + scale * (double)hole->start, row_y(p, hole->depth),
			       scale * (double)hole->value - 0.5, BOX);
	}
	aif_buf_puts(b, "</g>\n");
}

static void box_put(const struct picture *p, struct aif_buf *b, struct aif_buf *title,
		    const struct aif_flame_box *box)
{
	const struct aif_tree_node *node = &p->tree->nodes[box->node];
	double all = (double)p->total, room = (double)p->width - 2 * PAD;
	double x = PAD + room * (double)box->start / all, w = room * (double)node->total / all;
	uint32_t y = row_y(p, box->depth);
	size_t len, colours, columns = columns_of(w - 6, CHAR_PX);
	const char *text = aif_tree_text(p->tree, node->name, &len);
	unsigned names;

	aif_buf_clear(title);
	title_put(p, title, box, text, len, &names);
	b->failed |= aif_buf_failed(title);
	aif_buf_printf(b, "<g class=\"%s%u\" data-v=\"%u %.0f %.0f %u\"><title>",
		       colours_of(p, &colours)[colour_of(p, box)].letter,
		       aif_palette_shade(text, len), box->depth, 1e9 * (double)box->start / all,
		       1e9 * (double)node->total / all, names);
	aif_buf_append(b, title->data, title->len);
	aif_buf_printf(b,
		       "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" rx=\"2\"/>",
		       x, y, w < 2 ? AIF_MAX(w, MIN_WIDTH_PX) : w - 0.5, BOX);
	if (columns >= 3) {
		aif_buf_printf(b, "<text x=\"%.1f\" y=\"%u\">", x + 4, y + BASELINE);
		aif_svg_text(b, text, len, columns);
		aif_buf_puts(b, "</text>");
	}
	aif_buf_puts(b, "</g>\n");
}

static void tail_put(const struct picture *p, struct aif_buf *b)
{
	uint32_t y = p->height - BAR;

	aif_buf_printf(b,
		       "<g id=\"bar\" class=\"bar\"><rect y=\"%u\" width=\"%u\" height=\"%d\"/>"
		       "<rect class=\"edge\" y=\"%u\" width=\"%u\" height=\"1\"/>\n"
		       "<text id=\"details\" x=\"%d\" y=\"%u\" aria-live=\"polite\"/>"
		       "<text id=\"matched\" x=\"%u\" y=\"%u\" aria-live=\"polite\"/>"
		       "<text id=\"note\" class=\"note\" x=\"%u\" y=\"%u\">",
		       y, p->width, BAR, y, p->width, PAD, y + 20, p->width - PAD, y + 20,
		       p->width - PAD, y + 20);
	if (p->opts->look) {
		aif_svg_text(b, p->opts->look->total, strlen(p->opts->look->total), NAME_COLUMNS);
	} else {
		aif_buf_puts(b, "all ");
		value_put(p, b, p->total);
		if (p->opts->steps)
			aif_buf_puts(b, " a step");
	}
	if (p->layout.left_out) {
		aif_buf_puts(b, " \u00b7 ");
		aif_human_counted(b, p->layout.left_out, "frame");
		aif_buf_puts(b, p->layout.depth < MAX_ROWS ? " too narrow to draw"
							   : " too narrow or too deep to draw");
	}
	if (p->missing) {
		aif_buf_puts(b, ", of which this file has ");
		aif_human_count(b, p->layout.left_out - p->missing);
	}
	aif_buf_puts(b, "</text></g>\n<script><![CDATA[\n");
	aif_buf_puts(b, js);
	aif_buf_puts(b, "]]></script>\n</svg>\n");
}

int aif_svg_write(const struct aif_tree *t, const struct aif_svg_opts *o, struct aif_out *out)
{
	struct picture p = {.tree = t, .opts = o, .out = out, .total = t->nodes[0].total};
	struct aif_buf *b = aif_out_buf(out), title = {0};
	double room;
	int r;

	assert(t->sealed);
	p.width = o->width ? AIF_MAX(o->width, LEAST_WIDTH) : DEFAULT_WIDTH;
	room = (double)p.width - 2 * PAD;
	r = aif_flame_layout(t, (uint64_t)((double)p.total * MIN_WIDTH_PX / room), MAX_BOXES,
			     MAX_ROWS, &p.layout);
	if (r < 0)
		return r;
	r = holes_find(&p);
	head_put(&p, b);
	holes_put(&p, b);
	aif_buf_printf(
		b,
		"<g id=\"frames\" data-pad=\"%d\" data-char=\"%.2f\" data-fluid=\"%d\" "
		"data-inverted=\"%d\" data-row=\"%d\" data-rows=\"%u\" data-max=\"%d\" data-min=\"%.1f\" "
		"data-total=\"%.9g\" data-unit=\"",
		PAD, CHAR_PX, !o->width, o->inverted, ROW, p.rows, MAX_BOXES, MIN_WIDTH_PX,
		(double)p.total / t->scale / (double)AIF_MAX(o->steps, UINT64_C(1)));
	aif_svg_text(b, o->unit ? o->unit : "ns", o->unit ? strlen(o->unit) : 2, NAME_COLUMNS);
	aif_buf_puts(b, "\">\n");
	for (size_t i = 0; i < p.layout.len; i++) {
		box_put(&p, b, &title, &p.layout.boxes[i]);
		aif_out_flush_if_full(out);
	}
	aif_buf_puts(b, "</g>\n");
	if (r == 0 && !o->look)
		r = aif_flame_narrow_put(t, &p.layout, MAX_ROWS, out, &p.missing);
	tail_put(&p, b);
	aif_buf_finish(&title);
	free(p.holes);
	aif_flame_layout_finish(&p.layout);
	return aif_buf_failed(b) ? -ENOMEM : r;
}
