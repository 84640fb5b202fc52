/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/counters.h"
#include "export/event_ops.h"
#include "export/exporter.h"
#include "export/host_stacks.h"
#include "export/json.h"
#include "export/track_ids.h"

/* Inside the exporter of Trace Event Format: what its files share. */

struct chrome {
	const struct aif_export *x;
	const struct aif_profile *p;
	struct aif_out *out;
	struct aif_buf *b;
	struct aif_events events;
	struct aif_event_ops ops;
	struct aif_counters counters;
	struct aif_track_ids ids;
	struct aif_host_stacks stacks, full; /* full: with the frames that --detail leaves out */
	bool has_full;                       /* else `stacks` has all of them */
	struct aif_timeline *timeline;
	struct aif_buf names;    /* of kernels and of transfers, in quotes */
	size_t *names_at;        /* by kernel, then by kind, then the end of all */
	bool are_launches_small; /* their numbers are exact in doubles */
	bool is_first;
	uint64_t given; /* launches, operators, executions, samples, counters */
};

static inline void chrome_event_begin(struct chrome *c, const char *phase_to_pid, size_t len)
{
	if (c->is_first)
		c->is_first = false;
	else
		AIF_JSON_LIT(c->b, ",\n");
	aif_buf_append(c->b, phase_to_pid, len);
}
#define CHROME_EVENT(c, literal) chrome_event_begin(c, literal, sizeof(literal) - 1)

static inline void chrome_ids_put(struct chrome *c, uint32_t pid, uint32_t tid)
{
	aif_out_json_u64(c->b, pid);
	AIF_JSON_LIT(c->b, ",\"tid\":");
	aif_out_json_u64(c->b, tid);
}

static inline void chrome_time_put(struct chrome *c, int64_t at)
{
	AIF_JSON_LIT(c->b, ",\"ts\":");
	aif_out_json_decimal(c->b, at - c->events.start_ns, 3);
}

static inline void chrome_u64_put(struct chrome *c, const char *key, uint64_t v)
{
	aif_buf_puts(c->b, key);
	aif_out_json_u64(c->b, v);
}

static inline const char *chrome_runtime_of(const struct chrome *c, uint32_t device)
{
	return device == AIF_NONE ? "" : aif_profile_str(c->p, c->p->devices[device].runtime);
}

/* What names a track, and where it stands. `recorded`: what of *name, which is finished, is the process's or thread's own
 * name, which import reads, as it does `number`, where the track could not have it; NULL: it is neither. */
void chrome_meta_put(struct chrome *c, const char *what, uint32_t pid, uint32_t tid,
		     struct aif_buf *name, const char *recorded, uint32_t number);
void chrome_order_put(struct chrome *c, const char *what, uint32_t pid, uint32_t tid,
		      uint64_t index);
void chrome_host_tracks(struct chrome *c);
void chrome_device_tracks(struct chrome *c); /* with what was not collected of each */

/* Curves: a device's load, and its counters. 0 or -ENOMEM. */
int chrome_load_put(struct chrome *c);
void chrome_counters_put(struct chrome *c);

/* Where a stack is among the frames: ,"sf":N and, with what --detail leaves out, ,"asf":N. 0 or -ENOMEM. *ret_node: in
 * c->stacks. */
int chrome_stack_put(struct chrome *c, uint32_t stack, uint32_t *ret_node);
/* The tables of frames, when all are known: aiflameStackFrames, stackFrames. */
void chrome_stacks_put(struct chrome *c);
/* False: of what is asked for it is not known how many launches were left out. */
bool chrome_has_blocks(const struct aif_export *x);
/* aiflameBlocks, where there are any. 0 or -errno. */
int chrome_blocks_put(struct chrome *c);
