/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "flame/strip.h"
#include "text/out.h"
#include "names/tree.h"

/*
 * A flame graph as one SVG file that needs nothing else: complete as a picture, and in a browser
 * with zoom, search, tooltips and keyboard (viewer/flame.js is inside). At most 10,000 frames are
 * drawn, none narrower than 0.1 px: what is left out is said at the lower edge, and never changes a
 * width; the script finds it, and draws it where somebody zooms in (narrow.h).
 */
struct aif_palette_colour;

/* Colours and tooltips that say something else than what kind of frame it is. The tree has no frame too narrow to draw. */
struct aif_svg_look {
	const struct aif_palette_colour *colours; /* in order of the legend, at most 64 */
	size_t colours_len;
	size_t (*colour_of)(const void *arg, uint32_t node);
	/* Appends the lines of a tooltip behind the frame's name, each after a line end, as XML. */
	void (*tooltip)(const void *arg, uint32_t node, struct aif_buf *b);
	const void *arg;
	const char *total; /* at the lower edge, in place of the root's value */
};

struct aif_svg_opts {
	const char *title, *subtitle; /* any bytes; "" for none */
	const char *
		quality; /* behind the subtitle, or on a line of its own where there is no room; NULL for none */
	/* Unit of the values, "samples"; AIF_ENERGY_UNIT: uJ; NULL: ns. */
	const char *unit;
	const char *
		cxx; /* what the legend calls frames of C++; NULL: that. Traces have operators instead */
	const struct aif_strip *strip; /* above the frames, with its profile; NULL for none */
	const struct aif_profile *profile;
	uint64_t
		steps; /* widths stand for all of them, numbers for one in the mean; 0: numbers are whole */
	uint32_t width;                  /* px; 0: 1200, and in a browser as wide as the window */
	bool inverted;                   /* callers above callees */
	const struct aif_svg_look *look; /* NULL: colours by kind of frame */
};

/* The tree must be sealed. The same tree gives the same bytes. 0 or -ENOMEM; what goes wrong in
 * writing is told by the commit of `out`. */
int aif_svg_write(const struct aif_tree *t, const struct aif_svg_opts *o, struct aif_out *out);
