/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/clock.h"

#include <stdio.h>
#include <unistd.h>

/*
 * A line of progress on a terminal's standard error, drawn over itself: not before half a second has passed, since what is
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
