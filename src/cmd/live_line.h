/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/record.h"

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
