/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides' stacks as one flame graph, red where B takes longer and blue where it takes less. */
#include "compare/words.h"

#include "flame/palette.h"
#include "flame/svg.h"
#include "text/svg_text.h"

#include <errno.h>
#include <string.h>

/* Columns of a text in a tooltip. */
#define MOST_COLUMNS 1000

/* Black text has a contrast of at least 4.5 on each; red and blue are told apart by people who do not tell red from green. */
static const struct aif_palette_colour verdicts[AIF_LOOKS] = {
	[AIF_LOOK_SAME] = {"the same", "u", {238, 234, 222}, {246, 243, 234}},
	[AIF_LOOK_UNKNOWN] = {"cannot tell", "q", {196, 196, 196}, {208, 208, 208}},
	[AIF_LOOK_UP] = {"more time", "h", {240, 124, 104}, {248, 148, 128}},
	[AIF_LOOK_DOWN] = {"less time", "d", {124, 170, 240}, {150, 188, 246}},
	[AIF_LOOK_NEW] = {"only in B", "w", {232, 92, 84}, {240, 108, 98}},
	[AIF_LOOK_GONE] = {"only in A", "e", {98, 146, 230}, {112, 158, 238}},
};
/* The same of differences that nobody knows to be more than chance. */
static const struct aif_palette_colour differences[AIF_LOOKS] = {
	[AIF_LOOK_SAME] = {"less than the margin", "u", {238, 234, 222}, {246, 243, 234}},
	[AIF_LOOK_UNKNOWN] = {"little time", "q", {196, 196, 196}, {208, 208, 208}},
	[AIF_LOOK_UP] = {"more in B", "h", {246, 178, 162}, {250, 194, 180}},
	[AIF_LOOK_DOWN] = {"less in B", "d", {176, 204, 246}, {190, 214, 250}},
	[AIF_LOOK_NEW] = {"only in B", "w", {240, 144, 128}, {244, 154, 138}},
	[AIF_LOOK_GONE] = {"only in A", "e", {146, 182, 240}, {156, 190, 244}},
};

const struct aif_palette_colour *aif_compare_colours(bool decides)
{
	return decides ? verdicts : differences;
}

static const struct aif_palette_colour *colours_of(const struct aif_comparison *c)
{
	return aif_compare_colours(c->decides);
}

static size_t look_of(const void *arg, uint32_t node)
{
	return ((const struct aif_comparison *)arg)->looks[node];
}

static void put_tooltip(const void *arg, uint32_t node, struct aif_buf *b)
{
	const struct aif_comparison *c = arg;
	const double *mean = c->means[node];
	struct aif_buf line = {0};

	aif_buf_puts(&line, "A ");
	aif_words_ns(c, mean[0], &line);
	aif_buf_puts(&line, ", B ");
	aif_words_ns(c, mean[1], &line);
	aif_buf_printf(&line, " a %s: ", aif_compare_unit_name(c));
	aif_words_signed_ns(c, mean[1] - mean[0], &line);
	if (mean[0] > 0 && mean[1] > 0)
		aif_buf_printf(&line, " (%+.1f %%)", 100 * (mean[1] / mean[0] - 1));
	aif_buf_putc(b, '\n');
	aif_svg_text(b, aif_buf_str(&line), line.len, MOST_COLUMNS);
	aif_buf_printf(b, "\n%s", colours_of(c)[c->looks[node]].name);
	b->failed |= aif_buf_failed(&line);
	aif_buf_finish(&line);
}

int aif_comparison_svg(const struct aif_comparison *c, const char *title, uint32_t width,
		       struct aif_out *out)
{
	struct aif_svg_look look = {.colours = colours_of(c),
				    .colours_len = AIF_LOOKS,
				    .colour_of = look_of,
				    .tooltip = put_tooltip,
				    .arg = c};
	struct aif_buf sides = {0}, quality = {0}, total = {0};
	struct aif_svg_opts o = {
		.title = title ? title : "Differential flame graph", .width = width, .look = &look};
	int r;

	aif_buf_printf(&sides, "A: %s (%zu), B: %s (%zu)", c->a->name, c->a->len, c->b->name,
		       c->b->len);
	if (c->problems.len) {
		const char *why = aif_buf_str((struct aif_buf *)&c->problems);

		aif_buf_puts(&quality, "no verdict: ");
		aif_buf_append(&quality, why, strcspn(why, ":\n"));
		aif_buf_puts(&quality, "; ");
	}
	aif_words_unit(c, &quality);
	aif_buf_puts(&quality, "; frames are as wide as where they take more");
	if (c->a->len > 1 || c->b->len > 1)
		aif_buf_puts(&quality, "; arithmetic means, which add up (tables: geometric)");
	aif_buf_puts(&total, "A ");
	aif_words_ns(c, c->means[0][0], &total);
	aif_buf_puts(&total, ", B ");
	aif_words_ns(c, c->means[0][1], &total);
	aif_buf_printf(&total, " a %s", aif_compare_unit_name(c));
	look.total = aif_buf_str(&total);
	o.subtitle = aif_buf_str(&sides);
	o.quality = aif_buf_str(&quality);
	r = aif_svg_write(&c->tree, &o, out);
	if (!r && (aif_buf_failed(&sides) || aif_buf_failed(&quality) || aif_buf_failed(&total)))
		r = -ENOMEM;
	aif_buf_finish(&sides);
	aif_buf_finish(&quality);
	aif_buf_finish(&total);
	return r;
}
