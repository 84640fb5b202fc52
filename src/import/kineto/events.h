/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "text/json_reader.h"

/* One event of a trace, as the file or a tool's table has it. */

enum kineto_class {
	KINETO_NOT_KEPT,
	KINETO_OP,
	KINETO_PYTHON,
	KINETO_RANGE,
	KINETO_CALL,
	KINETO_KERNEL,
	KINETO_COPY,
	KINETO_FILL,
	KINETO_COMMUNICATION,
	KINETO_OVERHEAD,
	KINETO_BLANK, /* what aiflame's export draws where nothing was captured: blocks.h has it */
	KINETO_OTHER, /* a span of a category that is not known: of another program's trace */
};

/* A pid or tid: a number, or a name ("Spans"). What merges the traces of several ranks puts "[rank] " before pids. */
struct kineto_id {
	int64_t number;
	uint32_t group; /* hash of what is in brackets; 0: nothing */
	bool is_name;
};
static inline bool kineto_id_is(struct kineto_id a, struct kineto_id b)
{
	return a.number == b.number && a.is_name == b.is_name && a.group == b.group;
}

#define KINETO_READINGS 6

/* Buffers are kept from one event to the next. */
struct kineto_event {
	char ph;
	uint8_t class; /* enum kineto_class */
	bool has_ts, has_dur, has_thread_dur, has_correlation, has_external, has_device, has_stream;
	bool is_function; /* of the list that torch 1.x writes without categories */
	bool is_bad;      /* something of it has the wrong type, or no number has room for it */
	struct kineto_id pid, tid;
	int64_t ts, dur, thread_dur;
	uint64_t correlation, external, bytes;
	uint64_t address, allocated, reserved; /* of "[memory]" */
	int64_t device_type;
	bool has_allocated, has_reserved;
	uint64_t forward_thread; /* of a node of a backward; 0 */
	uint64_t id, flow;       /* id: of args, unitrace's number of a kernel; flow: of an arrow */
	bool has_detail; /* .text is of what the span was, as clang says it, and no name of a thread */
	bool is_recorded; /* .text is a name as it was before aiflame's export put a number behind it */
	/* The number that its process or thread had before, if it was changed. */
	uint64_t recorded_id;
	bool has_recorded_id, has_id, has_flow;
	bool is_sum; /* clang's, of what else is there: no span of its own */
	int64_t device, stream, sequence;
	uint32_t python; /* 0 = none */
	uint32_t frames; /* `sf`: its stack among stackFrames; 0: none */
	uint32_t slot;   /* has_slot: where its span has its place, since its "B" */
	bool has_slot;
	uint32_t full; /* `asf`: among aiflameStackFrames, which have more */
	uint32_t graph, node, registers, shared_bytes;
	uint32_t chain; /* as struct kineto_call has it */
	/* Kind of launch of a call that launched something without times, in aiflame's own export. */
	uint32_t launched;
	bool has_launched;
	uint32_t grid[3], block[3];
	/* Flex's readings of an AIU: TS1 to TS5, its counter of cycles, and Power, what it has drawn so far. Bit i of has_readings:
	 * readings[i] is known. */
	uint64_t readings[KINETO_READINGS];
	uint8_t has_readings;
	struct aif_buf name, cat, shapes, types;
	struct aif_buf task_type; /* args' "Task Type": kernels and copies of Ascend NPUs have it */
	struct aif_buf rank;      /* in brackets before the pid */
	struct aif_buf text;      /* args' "name" or "labels" of a metadata event */
	/* An operation between ranks: its name, its communicator's name and ranks, the type of its elements, and how many it gives. */
	struct aif_buf collective, group, group_ranks, type;
	uint32_t group_size;
	uint64_t elements, order; /* order: its number among those of the communicator */
	bool has_order;
};

/* Is this a first key of an event? To find one after an error. */
bool kineto_is_first(const uint8_t *key, size_t len);
/* Reads what is left of the event whose OBJECT was the last token. False: the text is wrong there (json.why). */
bool kineto_event_read(struct aif_json *j, struct kineto_event *e);
/* Empties the event; its buffers stay. */
void kineto_event_clear(struct kineto_event *e);
/* Sets .class by the event's category. */
void kineto_classify(struct kineto_event *e);
