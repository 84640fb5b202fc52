/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/level_zero/samples.h"

struct aif_level_zero;
struct aif_thread;
struct aif_ze_command;
struct aif_ze_context;
struct aif_ze_counters;
struct aif_ze_event;
struct aif_ze_list;
struct aif_ze_query_pool;

/* Begins what --counters says of a group whose values are measured around each kernel: "query:ComputeBasic". */
#define AIF_ZE_QUERY_PREFIX "query:"

/*
 * Metric queries: the values of a metric group between two places of a command list, one before and one behind a kernel.
 * A kernel's query is begun in the prologue of its launch and ended in the epilogue, so that on the list nothing else of
 * the application's lies between; the end signals an event of the agent's. Whoever finds that the kernel has ended
 * (pending.c) also reads the query, without waiting: a query that is not over yet is looked at the next time.
 *
 * Queries are of pools, one for each context and device, made with its first kernel. A launch that finds no query in its
 * pool has no values, and is counted.
 */
/* A pool's queries are as many as kernels may have one at a time, on lists or under way. */
#define AIF_ZE_QUERIES     1024
#define AIF_ZE_QUERY_POOLS 16

struct aif_ze_query {
	_Atomic uint32_t next; /* in a stack: index + 1, 0 = end */
	void *handle;
	struct aif_ze_event *event; /* that its end signals */
	struct aif_ze_query_pool *pool;
	bool pending; /* the device may be about to write it */
};

/* True if counters are to be measured around kernels in this session, not over time. */
bool aif_ze_queries_wanted(void);
/* Around the call that appends a kernel to a list; begin: it may run into no query. */
void aif_ze_query_begin(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_command *c,
			struct aif_ze_list *list);
void aif_ze_query_end(struct aif_level_zero *l0, struct aif_ze_command *c, void *list);
/* A list with it is executed. */
void aif_ze_query_executed(struct aif_ze_command *c);
/* False: the device has not written it yet. */
bool aif_ze_query_is_over(struct aif_level_zero *l0, const struct aif_ze_command *c);
/* Under `lock`: writes the values of an execution that has ended; t NULL: nobody records. */
void aif_ze_query_report(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_command *c);
/* Gives back a command's query, unless the device may still write it. */
void aif_ze_query_free(struct aif_level_zero *l0, struct aif_ze_command *c);
bool aif_ze_query_is_of(const struct aif_ze_command *c, const struct aif_ze_context *context);
/* Under `lock`: destroys the pools of a context, of which no command has a query any more; stops measuring. */
void aif_ze_queries_destroy(struct aif_level_zero *l0, const struct aif_ze_context *context);
void aif_ze_queries_stop(struct aif_level_zero *l0);
