/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "export/exporter.h"
#include "analysis/gaps.h"
#include "analysis/time.h"

/*
 * A profile's launches and executions with times mapped, as the formats that show a time line need them: launches
 * by thread, executions by track. Executions of one stream may overlap (out-of-order queues, programmatic
 * launches), which no viewer's track can show: what does not fit behind the others of its stream is given another lane
 * of it, so that those of a track never overlap. All of it is in memory, about 130 bytes for a launch with its
 * execution.
 */

struct aif_event_launch {
	int64_t time; /* ns since the recording's start: the call began; its end is not recorded */
	int64_t first_start; /* start of the first execution that is exported; INT64_MAX: none */
	uint64_t launch, bytes;
	uint32_t thread, kind, kernel, device, stream, stack, shape;
	bool is_kept; /* false: it is not to be exported, and here only for what it launched */
};
struct aif_event_exec {
	int64_t start; /* ns since the recording's start */
	uint64_t dur;  /* ns */
	uint64_t launch, bytes;
	uint32_t by; /* index of the launch; AIF_NONE: not known */
	uint32_t track, kind, kernel, graph, node, registers, shared_bytes;
	uint32_t capture; /* the stack that made the graph's node; AIF_NONE: none is known */
};
struct aif_event_track {
	uint32_t process, device, stream; /* AIF_NONE: not known */
	uint32_t lane;                    /* number among the stream's lanes, from 0 */
	bool is_of_several;               /* the device has tracks of other processes, too */
	size_t first, len;                /* executions */
};

struct aif_events {
	const struct aif_profile *p;
	struct aif_event_launch *launches; /* sorted by thread, then time */
	size_t launches_len, launches_cap;
	struct aif_event_exec *execs; /* sorted by track, then start */
	size_t execs_len, execs_cap;
	struct aif_event_track *tracks; /* sorted by device, process, stream, lane */
	size_t tracks_len, tracks_cap;
	/* Times in which nothing was captured in a process: pauses, and where the overhead budget left launches out.
	 * Within the time that was asked for, of the processes that were. Such time of a device is not known to be
	 * idle. */
	struct aif_gaps gaps;
	int64_t start_ns; /* no event is earlier: 0, or before the recording's start */
	int64_t end_ns;   /* no event is later */
};

/* 0 or -errno with *err; finished by the caller in any case. */
int aif_events_init(struct aif_events *e, const struct aif_export *x, struct aif_err *err);
void aif_events_finish(struct aif_events *e);

/* Is it the first of its device's? */
static inline bool aif_event_track_is_first(const struct aif_events *e, size_t track)
{
	return !track || e->tracks[track].device != e->tracks[track - 1].device;
}

/* Is it the first of its device's and process's? What the process's gaps left out of the device is shown beside it. */
static inline bool aif_event_track_has_gaps(const struct aif_events *e, size_t track)
{
	return aif_event_track_is_first(e, track) ||
	       e->tracks[track].process != e->tracks[track - 1].process;
}
/* A process's, by start; they do not touch. NULL: none. */
const struct aif_gap *aif_event_gaps(const struct aif_events *e, uint32_t process, size_t *ret_len);
#define AIF_EVENT_GAP "not collected"
/* Appends the name of the track of a process's gaps: AIF_EVENT_GAP, "not collected of 1234". */
void aif_event_gaps_name(const struct aif_profile *p, const struct aif_event_track *t,
			 struct aif_buf *out);

/* aif_cpu_part() of what is asked for. *ret_process: its process, or AIF_NONE. */
bool aif_event_cpu_part(const struct aif_export *x, const struct aif_cpu_row *row,
			struct aif_cpu_row *ret, uint32_t *ret_process);

/* The tracks of a device are next to each other: *ret_end is the one behind the last. Equal to the result: it has none.
 * O(log n). */
size_t aif_event_device_tracks(const struct aif_events *e, uint32_t device, size_t *ret_end);

/* Sets the grid of a launch in groups: its work items by those of a group, rounded up. */
void aif_event_groups(const struct aif_shape *s, uint32_t groups[3]);
/* "stream 7", "stream 7 of 1234 (2)": its process's number where streams are of several, then the lane. A stream may have
 * as many tracks as executions: of other tracks this looks at none. */
void aif_event_track_name(const struct aif_profile *p, const struct aif_event_track *t,
			  struct aif_buf *out);

/*
 * A device's load over time, in equal intervals: how many executions ran in it on average, in hundredths, and how many
 * launches had been made and not yet started when it ended. Time in the gaps of any of the device's processes is of no
 * interval; there the load is not known. What is drawn are points, which hold until the next one.
 */
struct aif_event_load {
	uint64_t interval_ns;
	size_t len;
	uint64_t *running, *queued;
	struct aif_event_load_point {
		int64_t at; /* ns since the recording's start */
		uint64_t running, queued;
		bool is_known;
	} * points;
	size_t points_len, points_cap;
};
#define AIF_EVENT_LOAD_POINTS 4096
/* 0 or -ENOMEM. */
int aif_event_load_init(struct aif_event_load *l, const struct aif_events *e, uint32_t device);
void aif_event_load_finish(struct aif_event_load *l);
