/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/hash.h"
#include "import/perf_text.h"
#include "profile/model.h"

/* The events of a perf file, of which one becomes a profile's CPU samples, and what a sample of it stands for. */
enum aif_perf_event_kind {
	AIF_PERF_CLOCK, /* a period is ns */
	AIF_PERF_TIME, /* cycles and the like: a period is no time; without one, samples come as time goes on */
	AIF_PERF_COUNT, /* page faults, switches, instructions, tracepoints: it counts, and is no time */
};
struct aif_perf_event {
	uint32_t name; /* see aif_perf_event_name() */
	enum aif_perf_event_kind kind;
	uint64_t samples;   /* the caller's */
	bool is_weightless; /* samples, not of one that counts, do not say their period */
};
struct aif_perf_events {
	struct aif_strset names; /* the number of a name is its event's */
	struct aif_perf_event *list;
	size_t len, cap;
};

void aif_perf_events_finish(struct aif_perf_events *e);
/* Finds or adds an event; its number. 0 or -ENOMEM. */
int aif_perf_event(struct aif_perf_events *e, struct aif_perf_text name, uint32_t *ret);
/* Not empty. Valid until the next one is added. */
const char *aif_perf_event_name(const struct aif_perf_events *e, const struct aif_perf_event *of);

/* The one of that name; NULL: a clock, else one that goes with time, else one that counts; of several, that with the most
 * samples. NULL: there is none. */
const struct aif_perf_event *aif_perf_events_choose(struct aif_perf_events *e, const char *name);
/* "page-faults (120), context-switches (9)", all but `kept`, and how many samples they have. */
uint64_t aif_perf_events_others(const struct aif_perf_events *e, const struct aif_perf_event *kept,
				struct aif_buf *out);

/* Returns what a sample stands for, in ns or in the unit that its event counts; 0: by_gap.
 * count_ns: the user's value, or 0. */
uint64_t aif_perf_event_weight(const struct aif_perf_event *of, bool has_period, uint64_t period,
			       uint64_t count_ns);
/* Do its samples not say it? */
bool aif_perf_event_by_gap(const struct aif_perf_event *of);
/* True if periods are numbers of events, and no time. */
bool aif_perf_event_counts(const struct aif_perf_event *of);
