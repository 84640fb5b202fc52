/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/*
 * The cells of a terminal. A screen is drawn anew each time; what is sent is the difference from the screen before, in ECMA-48:
 * positions, attributes, characters. No text reaches the terminal but through cells, which hold printable characters only.
 */
enum aif_cell_attribute {
	AIF_CELL_BOLD = 1,
	AIF_CELL_REVERSE = 2,
	AIF_CELL_DIM = 4,
	AIF_CELL_GREEN = 1 << 4, /* colours: one of these */
	AIF_CELL_YELLOW = 2 << 4,
	AIF_CELL_RED = 3 << 4,
	AIF_CELL_CYAN = 4 << 4,
	AIF_CELL_COLOURS = 7 << 4,
};

struct aif_cell {
	uint32_t c;    /* a character; 0: the right half of a wide one */
	uint32_t attr; /* enum aif_cell_attribute */
};

struct aif_screen {
	unsigned columns, rows;
	struct aif_cell *cells, *shown; /* as drawn, and as the terminal has them */
	size_t cells_cap, shown_cap;
	bool is_known;    /* .shown is what the terminal has */
	bool has_colours; /* else none is sent */
	bool is_utf8;     /* else other characters than ASCII are sent as '?' */
};

/* Empties all cells; at least 1 by 1, at most 1000 by 500. 0 or -ENOMEM. */
int aif_screen_begin(struct aif_screen *s, unsigned columns, unsigned rows);
void aif_screen_finish(struct aif_screen *s);

/* Puts any bytes at a place, as far as they fit in `width` columns; returns the columns that were used. What is no printable
 * character is shown as aif_name_sanitize() has it. */
unsigned aif_screen_put(struct aif_screen *s, unsigned column, unsigned row, unsigned width,
			uint32_t attr, const char *text);
/* The same without the middle of a text that does not fit. */
unsigned aif_screen_put_elided(struct aif_screen *s, unsigned column, unsigned row, unsigned width,
			       uint32_t attr, const char *text);
/* Sets the attributes of a row's cells. */
void aif_screen_paint(struct aif_screen *s, unsigned row, uint32_t attr);

/* Appends what turns the terminal's screen into this one. */
void aif_screen_send(struct aif_screen *s, struct aif_buf *out);
