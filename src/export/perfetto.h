/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/perfetto_fields.h"
#include "export/timeline.h"
#include "text/proto.h"

/* Inside the exporter of Perfetto's trace: packets, and what they name by number. */

/* Numbers of interned categories and names of arguments. */
enum {
	CATEGORY_LAUNCH = 1,
	CATEGORY_KERNEL,
	CATEGORY_COPY,
	CATEGORY_OPERATOR,
	CATEGORY_RANGE,
	CATEGORY_PYTHON,
	CATEGORY_CALL,
	CATEGORY_GAP,
	CATEGORY_COUNT
};
enum {
	ARG_LAUNCH = 1,
	ARG_BYTES,
	ARG_GRID,
	ARG_BLOCK,
	ARG_REGISTERS,
	ARG_SHARED,
	ARG_GRAPH,
	ARG_NODE,
	ARG_SHAPES,
	ARG_COUNT
};
/* The number of a name that is in no table of the profile, whose numbers are below. */
#define GAP_NAME (UINT64_C(1) << 33)
/* Kinds of tracks: the upper half of a track's number. */
enum {
	OF_PROCESS = 1,
	OF_THREAD,
	OF_DEVICE,
	OF_STREAM,
	OF_RUNNING,
	OF_QUEUED,
	OF_COUNTER,
	OF_GAPS
};

struct perfetto {
	struct aif_timeline_walk t;
	struct aif_buf interned; /* entries that no packet has yet */
	struct aif_map known;    /* table << 32 | number: it is interned */
	size_t packet;
	/* Render stages: how many there are, kernels that are interned; the last one's track + 1, its queue and context. */
	uint64_t stages, kernels;
	uint32_t stage_track;
	uint64_t queue, context;
	/* The GPU's counter that is written; its last value, and when. */
	struct perfetto_counter {
		uint32_t counter;
		bool is_open;
		int64_t at;
		double value;
	} counter;
};

static inline void perfetto_packet_begin(struct perfetto *w)
{
	w->packet = aif_proto_begin(w->t.b, PACKET);
	aif_proto_u64(w->t.b, SEQUENCE_ID, SEQUENCE);
	aif_proto_u64(w->t.b, SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
}

static inline void perfetto_packet_end(struct perfetto *w)
{
	aif_proto_end(w->t.b, w->packet);
	aif_out_flush_if_full(w->t.out);
}

/* The time of an event, as packets have it. */
static inline uint64_t perfetto_stamp(const struct perfetto *w, int64_t at)
{
	uint64_t start = w->t.p->start_ns;

	return at < 0 && (uint64_t)-at > start ? 0 : start + (uint64_t)at;
}

/* Writes what was interned, before a packet that needs it. */
void perfetto_interned_flush(struct perfetto *w);

/* Names of categories and arguments, and those that no table of the profile has. */
void perfetto_constants(struct perfetto *w);
/* The number of a string of the profile as the name of an event. */
uint64_t perfetto_string(struct perfetto *w, uint32_t string);
/* The number of a name of the stacks' tree in a table of names. */
uint64_t perfetto_name(struct perfetto *w, unsigned table, uint32_t name);
/* The stack that ends at a node; its number is the node's. 0 or -ENOMEM. */
int perfetto_callstack(struct perfetto *w, uint32_t node);

/* Writes an execution as a render stage of its device's GPU; its name is interned, in the stacks' tree and in EVENT_NAMES. */
void perfetto_stage(struct perfetto *w, const struct aif_event_exec *x, uint32_t name,
		    uint64_t name_iid);

/* Write a counter's value, and its last one's end, as those of a GPU: of perfetto_gpu_counters.c. */
void perfetto_gpu_counter_value(struct perfetto *w, uint32_t counter, int64_t at, double v);
void perfetto_gpu_counter_end(struct perfetto *w);
