/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/timeline.h"
#include "text/json.h"

/* Inside the exporter of Trace Event Format: what its files share. */

/* An operator that the thread at hand is in. */
struct chrome_open {
	int64_t end;
	uint64_t number;
};

struct chrome {
	struct aif_timeline_walk t;
	struct aif_host_stacks full; /* with the frames that --detail leaves out */
	bool has_full;               /* else t.stacks has all of them */
	struct aif_buf names;        /* of kernels and of transfers, in quotes */
	size_t *names_at;            /* by kernel, then by kind, then the end of all */
	struct aif_buf counter;      /* the name of the counter at hand */
	struct chrome_open *open;    /* chrome_operators.c */
	size_t open_len, open_cap;
	uint64_t *operators; /* by launch: the number of the operator that it is in; 0: none */
	uint64_t next_operator;
	bool are_launches_small; /* their numbers are exact in doubles */
	bool is_first;
};

static inline void chrome_event_begin(struct chrome *c, const char *phase_to_pid, size_t len)
{
	if (c->is_first)
		c->is_first = false;
	else
		AIF_JSON_LIT(c->t.b, ",\n");
	aif_buf_append(c->t.b, phase_to_pid, len);
}
#define CHROME_EVENT(c, literal) chrome_event_begin(c, literal, sizeof(literal) - 1)

static inline void chrome_ids_put(struct chrome *c, uint32_t pid, uint32_t tid)
{
	aif_out_json_u64(c->t.b, pid);
	AIF_JSON_LIT(c->t.b, ",\"tid\":");
	aif_out_json_u64(c->t.b, tid);
}

static inline void chrome_time_put(struct chrome *c, int64_t at)
{
	AIF_JSON_LIT(c->t.b, ",\"ts\":");
	aif_out_json_decimal(c->t.b, at - c->t.events.start_ns, 3);
}

static inline void chrome_u64_put(struct chrome *c, const char *key, uint64_t v)
{
	aif_buf_puts(c->t.b, key);
	aif_out_json_u64(c->t.b, v);
}

static inline const char *chrome_runtime_of(const struct chrome *c, uint32_t device)
{
	return device == AIF_NONE ? "" : aif_profile_str(c->t.p, c->t.p->devices[device].runtime);
}

/* Slots of the sink: tracks, with what was not collected of each; a device's load, and its counters. */
int chrome_process_put(struct aif_timeline_walk *t, uint32_t process);
int chrome_thread_put(struct aif_timeline_walk *t, uint32_t thread);
int chrome_device_put(struct aif_timeline_walk *t, uint32_t device);
int chrome_gaps_put(struct aif_timeline_walk *t, uint32_t track, const struct aif_gap *gaps,
		    size_t n);
int chrome_track_put(struct aif_timeline_walk *t, uint32_t track);
int chrome_load_put(struct aif_timeline_walk *t, uint32_t device, enum aif_timeline_curve curve,
		    const struct aif_event_load_point *at);
int chrome_counter_put(struct aif_timeline_walk *t, uint32_t counter);
int chrome_counter_value_put(struct aif_timeline_walk *t, uint32_t counter, int64_t at, double v);

/* Numbers of operators. 0 or -ENOMEM; finished by the caller in any case. */
int chrome_operators_init(struct chrome *c);
void chrome_operators_finish(struct chrome *c);
/* A slot of the sink: a thread's operators and launches begin. */
int chrome_calls_put(struct aif_timeline_walk *t, uint32_t thread);
/* Returns the number of the innermost operator of the thread at that time, 0: it is in none. Times do not go back. */
uint64_t chrome_operator_at(struct chrome *c, int64_t start);
/* Begins an operator, and numbers it. 0 or -ENOMEM. */
int chrome_operator_begin(struct chrome *c, const struct aif_event_op *o, uint64_t *ret);

/* Writes allocations. 0 or -errno. */
int chrome_memory_put(struct chrome *c);

/* Appends the stack's numbers in the tables of frames: ,"sf":N and, with what --detail leaves out, ,"asf":N. 0 or
 * -ENOMEM. *ret_node: in c->t.stacks. */
int chrome_stack_put(struct chrome *c, uint32_t stack, uint32_t *ret_node);
/* The tables of frames, when all are known: aiflameStackFrames, stackFrames. */
void chrome_stacks_put(struct chrome *c);
/* Is it known how many launches were left out of what is exported? */
bool chrome_has_blocks(const struct aif_export *x);
/* aiflameBlocks, where there are any. 0 or -errno. */
int chrome_blocks_put(struct chrome *c);
