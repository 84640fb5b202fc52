/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Device work that cannot have been so, or is missing. A stream's work runs one after another: an execution that ends
 * behind all others of the trace, and has others of its stream inside of it, is cut where the first of these begins, as
 * Perfetto does. All else is kept and counted: an execution that ends long behind everything, overlaps on a stream,
 * executions of no time, executions without the call that launched them, calls without what they launched.
 */
struct kineto;

struct kineto_fault { /* how many, and the first of them, for info */
	uint64_t count;
	int64_t stream;
	uint32_t name;
};
struct kineto_faults {
	struct kineto_fault cut, late, overlap, no_time;
	uint64_t no_call, graphs, launches; /* the last two: calls without executions */
};

/* Finds what is wrong with the times of executions, and cuts them. 0 or -ENOMEM. */
int kineto_faults_find(struct kineto *k);
/* Counts a call that has launched nothing in the file, if its name says that it launches. */
void kineto_faults_call(struct kineto_faults *f, const char *name, size_t len);
/* Adds them to the profile's losses. */
void kineto_faults_report(struct kineto *k);
