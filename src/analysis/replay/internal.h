/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/replay/replay.h"

/* Amounts that are gone and all, of a course or of launches with one stack. */
struct aif_replay_amount {
	double gone, all;
};

static inline const struct aif_timeline_exec *aif_replay_exec_of(const struct aif_replay *r,
								 size_t i)
{
	return &r->t->execs[r->of ? r->of[i] : r->first + i];
}

/* Returns the host's own time before an event. */
static inline uint64_t aif_replay_host_ns(const struct aif_replay *r, size_t event)
{
	uint64_t ns = r->events[event].host_ns;

	if (ns == AIF_REPLAY_LONG_HOST)
		aif_map_get(&r->long_hosts, event, &ns);
	return ns;
}

/* Returns how long an execution starts behind what it comes behind. */
static inline uint64_t aif_replay_delay_ns(const struct aif_replay *r, size_t exec)
{
	uint64_t ns = r->execs[exec].delay_ns;

	if (ns == AIF_REPLAY_LONG)
		aif_map_get(&r->long_delays, exec, &ns);
	return ns;
}

/* Returns how long an execution took. */
static inline uint64_t aif_replay_exec_ns(const struct aif_replay *r, size_t exec)
{
	uint64_t ns = r->execs[exec].ns;

	if (ns == UINT32_MAX)
		aif_map_get(&r->long_execs, exec, &ns);
	return ns;
}

/* Returns the host's own idle time before an event. */
static inline uint64_t aif_replay_idle_ns(const struct aif_replay *r, size_t event)
{
	uint64_t ns = r->idle[event];

	if (ns == UINT32_MAX)
		aif_map_get(&r->long_idle, event, &ns);
	return ns;
}

/* ---- read.c: the schedule --------------------------------------------------------------------- */

/* Has of events that which is asked for only until idle times have their places. */
struct aif_replay_moments {
	int64_t *at;    /* by event: the launch call began, the wait returned; they come in order */
	uint32_t *exec; /* by event: the first execution that it launched */
	int64_t end;    /* when the last execution ended */
};

/* Reads all but idle time. There are no events if launches are too few. 0 or -errno; *ret has memory for free() in any case. */
int aif_replay_read(struct aif_replay *r, const struct aif_queue *queue, int64_t from, int64_t to,
		    struct aif_replay_moments *ret);

/* ---- times.c: where idle times belong --------------------------------------------------------- */

/* Idle time by the place of its course: the host's own, and between calls and what they launched. */
struct aif_replay_gone {
	struct aif_replay_amount *host, *calls;
	bool is_host, is_calls; /* some is gone */
};
/* Sums rows, of which those are gone of which `is_gone` is true; NULL: none. 0 or -ENOMEM; finish it in any case. */
int aif_replay_gone_find(const struct aif_replay *r,
			 bool (*is_gone)(const void *arg, const struct aif_idle_row *row),
			 const void *arg, struct aif_replay_gone *ret);
void aif_replay_gone_finish(struct aif_replay_gone *g);

/* Finds the events to which each idle time belongs, and how much lies before each. 0 or -ENOMEM. */
int aif_replay_place_times(struct aif_replay *r, const struct aif_replay_moments *moments);

/* An idle time. Its course may have amounts of the host's own, of calls, or of both: each event is that of the latest time of
 * which there are. */
struct aif_replay_time {
	uint64_t ns;
	uint64_t place; /* index of its course */
	uint64_t
		host; /* the event that it lies before, of the host's own; .events_len: behind all */
	uint64_t call; /* 1 + the event whose call it lies behind; 0: it lies behind none */
};
/* Reads one time after another, from zeros in *offset and *t on. False: that was all. */
bool aif_replay_next_time(const struct aif_replay *r, size_t *offset, struct aif_replay_time *t);
