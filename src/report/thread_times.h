/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "report/report_table.h"

/*
 * Time of threads, as far as it was seen:
 *
 *   cpu       by CPU samples
 *   waiting   in calls that wait for a device (analysis/calls/host_calls.h); where they are not recorded estimated
 *   calls     in calls that allocate, free, compile and load
 *   off_cpu   blocked, or waiting for a CPU (record --off-cpu); waiting for devices is a part of it
 */
struct aif_thread_times {
	uint64_t cpu, waiting, calls, off_cpu; /* ns */
	uint64_t launches, threads, children;  /* threads, children: of a process */
};

/* Adds to of[i] what thread i did, of what the report is of. 0 or -errno, with *err but for -ENOMEM. */
int aif_thread_times_add(struct aif_report *r, struct aif_thread_times *of, struct aif_err *err);
bool aif_thread_times_seen(const struct aif_thread_times *t);
