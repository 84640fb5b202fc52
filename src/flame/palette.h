/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/tree.h"

/* The `ai` palette: one colour for each kind of frame, stall reasons by class, some shades of each
 * so that neighbours can be told apart. A name has the same shade in all pictures. */

#define AIF_PALETTE_SHADES 8

struct aif_palette_colour {
	const char *name; /* for the legend and tooltips; the letter says the same without colour */
	char letter[3];   /* unique: also the colour's class in CSS */
	uint8_t low[3], high[3]; /* RGB of the first and last shade */
};

/* All colours, in order of the legend. */
const struct aif_palette_colour *aif_palette(size_t *ret_len);

/* The colour of a frame: an index into aif_palette(). */
size_t aif_palette_of(unsigned type, const char *text, size_t len);

unsigned aif_palette_shade(const char *text, size_t len);
void aif_palette_rgb(const struct aif_palette_colour *c, unsigned shade, uint8_t ret_rgb[3]);
