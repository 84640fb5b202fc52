/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "profile/model.h"

/* "[memory]" events of torch's allocators (profile_memory=True): one for each block allocated or released. */
struct kineto;
struct kineto_nesting;

struct kineto_allocation {
	int64_t at, bytes;            /* bytes < 0: a release */
	uint64_t address;             /* 0: not known */
	size_t order;                 /* in the file: events of one time stay as they came */
	uint64_t allocated, reserved; /* of all, afterwards; AIF_MEMORY_UNKNOWN */
	int64_t device;               /* -1: the host's memory */
	uint32_t thread;
};

struct kineto_memory {
	AIF_TABLE(kineto_allocation, rows);
	size_t next; /* the first one without a row of the profile */
};

/* Is the event one of these? */
bool kineto_is_memory(const struct kineto *k);
/* Keeps k->event. 0 or -ENOMEM. */
int kineto_memory_collect(struct kineto *k);
/* Puts events in order of thread and time, before stacks are made. */
void kineto_memory_sort(struct kineto *k);
/* Makes the row of the next event, in what its thread is in (is_inside), or in nothing. 0 or -ENOMEM. */
int kineto_memory_row(struct kineto_nesting *w, bool is_inside);
/* Numbers the devices of the rows from `first` on, when those that worked are known: torch and its tracer may number
 * them differently. */
void kineto_memory_devices(struct kineto *k, size_t first);
/* Makes rows of memory of the executions from `first` on that allocate and release, where the file has no "[memory]" events:
 * of an AIU. 0 or -ENOMEM. */
int kineto_memory_of_execs(struct kineto *k, size_t first);
void kineto_memory_finish(struct kineto_memory *m);
