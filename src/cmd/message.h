/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"
#include "base/clock.h"

#include <stdio.h>
#include <unistd.h>

/* Lines on standard error: messages, and progress that is drawn over itself. */

/* Prints a line on standard error behind "aiflame: "; names in it are made safe for a terminal
 * (base/name_sanitize.h). */
void aif_message(const char *fmt, ...) AIF_PRINTF(1, 2);

/*
 * A line of progress of import and merge on a terminal's standard error, drawn over itself: not before half a second has passed, since what is
 * over by then needs none, and five times a second from then on.
 */
struct aif_redraw {
	bool is_on, is_drawn;
	uint64_t next_ns;
};

static inline struct aif_redraw aif_redraw_begin(bool is_wanted)
{
	return (struct aif_redraw){.is_on = is_wanted && isatty(STDERR_FILENO),
				   .next_ns = aif_now_ns() + AIF_NS_PER_S / 2};
}

/* Returns true if the line is to be drawn now. */
static inline bool aif_redraw_is_due(struct aif_redraw *r)
{
	uint64_t now = r->is_on ? aif_now_ns() : 0;

	if (!r->is_on || now < r->next_ns)
		return false;
	r->next_ns = now + AIF_NS_PER_S / 5;
	return r->is_drawn = true;
}

/* Takes the line away. */
static inline void aif_redraw_end(const struct aif_redraw *r)
{
	if (r->is_drawn)
		fputs("\r\033[K", stderr);
}

struct aif_record_progress;

/* The line on a terminal's standard error that shows how a recording goes on. */
struct aif_live_line {
	bool is_on, is_drawn;
	bool shares_terminal; /* the command's standard output is the terminal of the line */
};

/* Initializes the line: it is on where standard error is a terminal. */
void aif_live_line_init(struct aif_live_line *l, bool has_command);
/* Draws the line, or clears it when the recording is over; a progress() of struct
 * aif_record_observer. */
void aif_live_line_progress(void *line, const struct aif_record_progress *p);
