/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "page/columns.h"

/*
 * Bars of lanes over time, at most as many as asked for. Where there are more events, neighbours of a lane that fit into one
 * length of time together become one bar, and the length is the shortest for which all bars have room; but not in the spans that
 * are to be kept whole. The rest has half of the room at least, however many those are. A bar of several events says how many
 * they are, how long they took, and which was the longest, so that sums over bars stay those of the events.
 */
struct aif_page_event {
	int64_t start, end; /* ns since the recording's start */
	uint32_t lane;
	uint32_t what;    /* what it is called and belongs to: a number of the caller's */
	uint64_t waited;  /* 1 + ns from its launch call to its start; 0: not known */
	uint32_t by;      /* 1 + number of the thread that launched it; 0: not known */
	uint64_t details; /* a number of the caller's */
};
struct aif_page_span {
	int64_t from, to;
};
struct aif_page_events {
	/* Events by lane, then start. One that begins before the last of its lane has ended counts from that end on. */
	struct aif_page_event (*at)(const void *arg, size_t i);
	/* The same with .start, .end and .lane alone, for the passes that count bars; NULL: at(). */
	struct aif_page_event (*span_at)(const void *arg, size_t i);
	const void *arg;
	size_t len;
	const struct aif_page_span *whole; /* spans by .from; they do not touch */
	size_t whole_len;
};
struct aif_page_bars {
	size_t bars, joined; /* how many; events in those that have several */
	uint64_t joined_ns;  /* the length of time that they fit into; 0: each event has a bar */
};

/*
 * Writes columns whose names begin with `prefix`, a number for each bar, in order: gap (from the end of the lane's bar before,
 * of the first from 0 on), dur, what; waited, by, details (of the longest event); where any has several events: n, busy (0: as
 * long as the bar). And bars: by lane, how many. 0 or -ENOMEM.
 */
int aif_page_bars_write(const struct aif_page_events *e, uint32_t lanes, size_t max,
			const char *prefix, struct aif_page_columns *c, struct aif_page_bars *ret);
