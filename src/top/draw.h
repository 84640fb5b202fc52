/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "top/keys.h"
#include "top/screen.h"
#include "top/text.h"

/* The live screen: what is shown, where the user is in it, what keys do. */

enum aif_top_mode {
	AIF_TOP_TABLE,
	AIF_TOP_TEXT,   /* lines: who launched a row, a listing, help */
	AIF_TOP_FILTER, /* the filter is being typed */
};

/* Requests of a key to the program. */
enum aif_top_action {
	AIF_TOP_NOTHING,
	AIF_TOP_REDRAW,
	AIF_TOP_ANALYSE, /* another view is shown */
	AIF_TOP_QUIT,
	AIF_TOP_SUSPEND,
	AIF_TOP_CALLERS, /* of the row at .selected */
	AIF_TOP_ANNOTATE,
	AIF_TOP_TROUBLE,
	AIF_TOP_FREEZE, /* .is_frozen has changed */
	AIF_TOP_SAVE,
};

/* Seconds of a device's history: its share of busy time for each second, the newest last. */
#define AIF_TOP_HISTORY 60

struct aif_top_ui {
	enum aif_top_mode mode;
	enum aif_top_view view;
	enum aif_top_sort sort;
	bool is_frozen;
	size_t selected,
		first; /* row of the table, of those that the filter keeps; the topmost that is shown */
	size_t shown;           /* rows that the filter keeps, at the last drawing */
	unsigned page;          /* rows on the screen, at the last drawing */
	struct aif_buf at_name; /* and the name, which stays selected when rows move */
	char filter[64];
	struct aif_buf text; /* AIF_TOP_TEXT: its lines */
	size_t text_first;
	char text_title[160];
	char message[1024]; /* at the bottom, until the next key */
	const char *ended;  /* why nothing comes any more; NULL: it goes on */
	struct aif_top_busy {
		uint8_t percent[AIF_TOP_HISTORY];
		size_t len;
	} * history; /* by device */
	size_t history_cap;
};

/* Notes how busy devices were, once a second. 0 or -ENOMEM. */
int aif_top_note_busy(struct aif_top_ui *ui, const struct aif_top_model *m);

/* Draws all of it; m NULL: nothing has come so far. 0 or -ENOMEM. */
int aif_top_draw(struct aif_top_ui *ui, const struct aif_top_model *m, const struct aif_profile *p,
		 const struct aif_top_info *info, struct aif_screen *s, unsigned columns,
		 unsigned rows);

enum aif_top_action aif_top_key(struct aif_top_ui *ui, enum aif_key key);

/* Returns the selected row, or NULL. */
const struct aif_top_row *aif_top_selected(const struct aif_top_ui *ui,
					   const struct aif_top_model *m);

/* Shows a text that can be scrolled; `text` is emptied. */
void aif_top_show(struct aif_top_ui *ui, const char *title, struct aif_buf *text);
void aif_top_ui_finish(struct aif_top_ui *ui);
