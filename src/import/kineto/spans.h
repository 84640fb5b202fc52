/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/kineto/events.h"
#include "profile/model.h"

/* Results of reading a trace's events: spans of threads, and executions of devices. */

struct kineto_span { /* something that a host thread was in */
	int64_t start, end;
	uint32_t name; /* number by kineto_name() */
	uint32_t thread : 24, class : 8;
	uint32_t ref;    /* PYTHON: its id; OP, RANGE: index of .ops; CALL: of .calls; AIF_NONE */
	uint32_t frames; /* 1 + index of the stack (stackframes.h); 0: none */
};

struct kineto_op {
	uint64_t external;
	int64_t sequence;
	uint32_t shapes, types; /* strings of the profile, AIF_NONE */
	bool is_backward;
};

struct kineto_call {
	uint64_t correlation;
	/* Place in the program that made the call: a row of struct kineto_chains + 1; 0: not
	 * known. */
	uint32_t chain;
	bool has_correlation;
};

struct kineto_chain {
	uint32_t first, len; /* range of .frames, the innermost first */
};
struct kineto_chains { /* places of calls, of tools that report them */
	AIF_TABLE(kineto_chain, rows);
	uint32_t *frames; /* frames of the profile */
	size_t frames_len, frames_cap;
};

struct kineto_untimed { /* launch of a call without times, from aiflame's own export */
	int64_t device, stream;
	uint32_t call; /* index in .calls, ascending */
	uint32_t name;
	uint8_t kind; /* enum aif_launch_kind */
};

/* Readings of an AIU at an execution, of Flex (events.h). */
struct kineto_reading {
	uint64_t values[KINETO_READINGS];
	uint8_t has; /* bit i: values[i] is known */
};

/* Values that are zero for most executions. */
struct kineto_detail {
	uint64_t bytes;
	uint32_t graph, node, collective, sequence; /* same as in struct aif_exec_row */
	uint32_t readings;                          /* 1 + index of kineto.readings; 0: none */
};

/* Something that a device did. 80 bytes, as a row has, which takes its place: a trace has millions. */
struct kineto_exec {
	int64_t start, end;
	uint64_t correlation, external;
	uint32_t queue;  /* index of kineto_machine.queues */
	uint32_t owner;  /* the process whose numbers it has; AIF_NONE: none has them */
	uint32_t launch; /* 0: not yet known */
	uint32_t name;
	uint32_t registers, shared_bytes;
	uint32_t shape; /* shape of the profile, AIF_NONE */
	uint32_t next;  /* next execution with the same correlation, or AIF_NONE */
	uint32_t next_external;
	uint32_t detail; /* 1 + index of kineto.details; 0: none, all of it is 0 */
	uint8_t kind;    /* enum aif_launch_kind */
	bool has_correlation, has_external, has_call;
};
