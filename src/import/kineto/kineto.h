/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/builder.h"
#include "import/import.h"
#include "import/kineto/backward.h"
#include "import/kineto/blocks.h"
#include "import/kineto/counts.h"
#include "import/kineto/device_faults.h"
#include "import/kineto/events.h"
#include "import/kineto/execs.h"
#include "import/kineto/flows.h"
#include "import/kineto/machine.h"
#include "import/kineto/memory.h"
#include "import/kineto/names.h"
#include "import/kineto/open_events.h"
#include "import/kineto/owners.h"
#include "import/kineto/spans.h"
#include "import/kineto/stackframes.h"
#include "import/kineto/threads.h"

/*
 * torch.profiler's traces (Kineto's Chrome JSON), and AIU's own dialect of it. Layout: pytorch/kineto
 * libkineto/src/output_json.cpp; IBM/aiu-trace-analyzer for AIU's.
 *
 * One pass over the text makes what is in spans.h: 32 bytes for each event of the host (events.c reads one,
 * collect.c keeps it). When a file is over, the spans of each thread are put in order, which gives the stacks
 * (stacks.c); device events find the call that launched them, and become rows (execs.c). Ranks of
 * one job are files whose clocks are compared at last (ranks.c).
 *
 * Chrome traces of other programs come this way, too: spans of categories that are not known (KINETO_OTHER), which
 * are dropped where one is known. So do unitrace's, whose arrows become numbers first (flows.c), and rows of other tools'
 * tables (tool_db.h).
 *
 * Times are ns, whole: `ts` and `dur` are decimal microseconds, and would lose ns as doubles.
 */

struct kineto_clock {
	int64_t base_ns; /* what is added to times, which makes them since 1970 */
	int64_t day_ts;  /* of an event of the day that most events are of */
	int64_t last_ts; /* when the last one ends */
	uint64_t votes;  /* for that day; 0: there was no event yet */
	bool has_far;    /* there are events of other days */
	bool has_base;
};

/* A file as it is read. Each part has its owner's header. */
struct kineto {
	struct aif_builder *b;
	const char *file;
	struct aif_json json;
	struct kineto_event event; /* the one at hand */

	struct kineto_names names;
	struct kineto_threads threads;
	struct kineto_machine machine;
	struct kineto_open_events open;
	struct kineto_stackframes stackframes;
	struct kineto_chains chains;
	struct kineto_backward backward;
	struct kineto_execs_by execs_by;
	struct kineto_owners owners;
	struct kineto_faults faults;
	struct kineto_memory memory;
	struct kineto_clock clock;
	struct kineto_counts counts;

	AIF_TABLE(kineto_span, spans);
	AIF_TABLE(kineto_op, ops);
	AIF_TABLE(kineto_call, calls);
	AIF_TABLE(kineto_exec, execs);
	AIF_TABLE(kineto_detail, details);
	AIF_TABLE(kineto_reading, readings);
	AIF_TABLE(kineto_untimed, untimed);
	AIF_TABLE(kineto_flow, flows);
	AIF_TABLE(kineto_block, blocks);
	uint32_t *order; /* of spans, by thread and time */

	bool is_failed; /* memory ran out */
	bool is_known;  /* it has a category that is known: others are not kept */
	bool is_spent; /* nothing ran on a device: threads' time is of the spans that they were in */
};

/* Appends a row to a table of *owner. 0 or -ENOMEM. */
#define KINETO_ADD(owner, table, row)                                               \
	(aif_grow(&(owner)->table, &(owner)->table##_cap, (owner)->table##_len + 1, \
		  sizeof(*(owner)->table)) < 0                                      \
		 ? -ENOMEM                                                          \
		 : ((owner)->table[(owner)->table##_len++] = (row), 0))

/* True if less than a day is between the times. */
bool kineto_is_same_day(int64_t a, int64_t b);
/* Ends what began and did not end. 0 or -ENOMEM. */
int kineto_collect_open(struct kineto *k);
/* Keeps k->event. 0 or -ENOMEM; what is wrong with it is counted. */
int kineto_collect(struct kineto *k);
/* Counts what the file has twice, or more often: .repeated. 0 or -ENOMEM. */
int kineto_duplicates(struct kineto *k);
/* Makes stacks of spans, and the rows of launches, operators and waits. 0 or -ENOMEM. */
int kineto_stacks(struct kineto *k);

/* Makes all rows, after the last event. 0 or -errno with *err. Then kineto_free(), in any case. */
int kineto_build(struct kineto *k, void **state, struct aif_err *err);
void kineto_free(struct kineto *k);
