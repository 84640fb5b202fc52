/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/counters.h"
#include "export/event_ops.h"
#include "export/exporter.h"
#include "export/host_stacks.h"
#include "export/perfetto_fields.h"
#include "export/proto.h"
#include "export/track_ids.h"

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
/* Whose track it is: the upper half of a track's number. */
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
	const struct aif_export *x;
	const struct aif_profile *p;
	struct aif_out *out;
	struct aif_buf *b;
	struct aif_events events;
	struct aif_event_ops ops;
	struct aif_counters counters;
	struct aif_track_ids ids;
	struct aif_host_stacks stacks;
	struct aif_buf interned; /* entries that no packet has yet */
	struct aif_map known;    /* table << 32 | number: it is interned */
	size_t packet;
	uint64_t given; /* launches, operators, executions, samples, counters */
};

static inline void perfetto_packet_begin(struct perfetto *w)
{
	w->packet = aif_proto_begin(w->b, PACKET);
	aif_proto_u64(w->b, SEQUENCE_ID, SEQUENCE);
	aif_proto_u64(w->b, SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
}

static inline void perfetto_packet_end(struct perfetto *w)
{
	aif_proto_end(w->b, w->packet);
	aif_out_flush_if_full(w->out);
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
