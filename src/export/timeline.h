/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/counters.h"
#include "export/event_ops.h"
#include "export/exporter.h"
#include "export/track_ids.h"
#include "names/host_stacks.h"

/*
 * A time line as formats show one: processes and threads, devices and their tracks, executions, calls with the operators
 * around them, curves, CPU samples, and when nothing was collected. aif_timeline_write() loads all of it and walks it; an
 * exporter is a sink that formats what it is handed.
 *
 * Formats differ in their order: one has all executions behind all calls, another has a track whole before the next. So a
 * sink names the parts that it takes in passes, each of which walks devices, counters, then threads. What stands in one
 * pass comes together for each device, track and thread.
 */
enum aif_timeline_part {
	AIF_TIMELINE_HOST = 1,      /* .process, .thread: of all that the profile knows */
	AIF_TIMELINE_DEVICES = 2,   /* .device, .track, .gaps and their ends */
	AIF_TIMELINE_LOAD = 4,      /* .load, .load_point */
	AIF_TIMELINE_EXECS = 8,     /* .exec */
	AIF_TIMELINE_COUNTERS = 16, /* .counter, .counter_value */
	AIF_TIMELINE_LAUNCHES = 32, /* .launch */
	AIF_TIMELINE_OPS = 64,      /* .op */
	AIF_TIMELINE_CPU = 128,     /* .cpu: by thread, then time */
};
enum { AIF_TIMELINE_PASSES = 8 };

enum aif_timeline_curve { AIF_TIMELINE_RUNNING, AIF_TIMELINE_QUEUED };

/* The walk, and what sinks may read of it: the first member of a sink's own struct. */
struct aif_timeline_walk {
	const struct aif_export *x;
	const struct aif_profile *p;
	struct aif_out *out;
	struct aif_buf *b;
	struct aif_events events;
	struct aif_event_ops ops;
	struct aif_counters counters;
	struct aif_track_ids ids;
	struct aif_host_stacks stacks;
	uint64_t written; /* launches, operators, executions, samples, counters */

	/* The walk's own. */
	const struct aif_timeline_sink *sink;
	struct aif_cpu_row *cpus; /* by thread, then time */
	size_t cpus_len, cpus_cap;
	int64_t *ends; /* of the operators that are open */
	size_t depth, ends_cap;
	uint32_t *
		exec_names; /* by kernel, then kind: name + 1 in the stacks' tree; 0: not known yet */
};

/* Each slot may be NULL. All are handed the walk and return 0 or -errno, those that write an event also 1: it is none of
 * this format's. Tracks, launches and counters are indexes of the walk's. */
struct aif_timeline_sink {
	unsigned passes[AIF_TIMELINE_PASSES]; /* parts of each; the first 0 ends them */
	/* Calls of a thread lie in each other: an operator ends with the one around it. Else it ends when it did. */
	bool is_nested;
	/* Does the format stand for launches that were left out, of what is exported, where there are executions? NULL: no. */
	bool (*has_left_out)(const struct aif_export *x);

	int (*begin)(struct aif_timeline_walk *t);
	int (*pass_begin)(struct aif_timeline_walk *t, unsigned parts);
	int (*pass_end)(struct aif_timeline_walk *t, unsigned parts);
	int (*end)(struct aif_timeline_walk *t); /* where any event was written */

	int (*process)(struct aif_timeline_walk *t, uint32_t process);
	int (*thread)(struct aif_timeline_walk *t, uint32_t thread);

	/* A device before its tracks, or before its counters where it ran nothing and has no end. */
	int (*device)(struct aif_timeline_walk *t, uint32_t device);
	int (*device_end)(struct aif_timeline_walk *t, uint32_t device);
	int (*load)(struct aif_timeline_walk *t, uint32_t device);
	int (*load_point)(struct aif_timeline_walk *t, uint32_t device,
			  enum aif_timeline_curve curve, const struct aif_event_load_point *at);
	/* Times in which nothing was captured of the track's process; n is not 0. Called before the first track of its
	 * device and process. */
	int (*gaps)(struct aif_timeline_walk *t, uint32_t track, const struct aif_gap *gaps,
		    size_t n);
	int (*track)(struct aif_timeline_walk *t, uint32_t track);
	int (*track_end)(struct aif_timeline_walk *t, uint32_t track);
	int (*exec)(struct aif_timeline_walk *t, const struct aif_event_exec *x);

	int (*counter)(struct aif_timeline_walk *t, uint32_t counter);
	int (*counter_value)(struct aif_timeline_walk *t, uint32_t counter, int64_t at, double v);

	/* A thread's CPU samples, then its calls in the order of their times, the outer one first. */
	int (*calls)(struct aif_timeline_walk *t, uint32_t thread);
	int (*calls_end)(struct aif_timeline_walk *t, uint32_t thread);
	int (*cpu)(struct aif_timeline_walk *t, const struct aif_cpu_row *row, uint32_t process,
		   int64_t at);
	/* A launch whose call is not known; `end` is where it can be drawn to. */
	int (*launch)(struct aif_timeline_walk *t, uint32_t launch, int64_t end);
	int (*op)(struct aif_timeline_walk *t, const struct aif_event_op *o, int64_t end);
	int (*op_end)(struct aif_timeline_walk *t, uint32_t thread, int64_t at); /* if nested */
};

/* Writes what is exported to `out`, whose error is sticky. *t, zeroes, is finished by the caller in any case. 0 or -errno
 * with *err. */
int aif_timeline_write(struct aif_timeline_walk *t, const struct aif_timeline_sink *sink,
		       const struct aif_export *x, struct aif_out *out, struct aif_err *err);
void aif_timeline_finish(struct aif_timeline_walk *t);

/* The node of the stack that an execution is of: its launch's, of a graph's node its graph and what made it. 0 only when
 * memory runs out. */
uint32_t aif_timeline_exec_node(struct aif_timeline_walk *t, const struct aif_event_exec *x);

/* Names in t->stacks.tree: of a launch whose stack ends at `node`, of an execution. 0 or -ENOMEM. */
int aif_timeline_launch_name(struct aif_timeline_walk *t, const struct aif_event_launch *l,
			     uint32_t node, uint32_t *ret);
int aif_timeline_exec_name(struct aif_timeline_walk *t, const struct aif_event_exec *x,
			   uint32_t *ret);
