/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stat/counters.h"

#include <sched.h>

/* Runs a command once and counts. Takes the rest from wait4(2)'s rusage, which has the command and those
 * of its children that were waited for. */
struct aif_stat_opts {
	char *const *argv; /* NULL-terminated */
	aif_stat_events events;
	uint32_t
		threads; /* 0, or CK_NUM_THREADS, OMP_NUM_THREADS and MKL_NUM_THREADS of the command */
	const cpu_set_t *cpus; /* NULL, or those that it may use */
	bool is_quiet;         /* standard output of the command goes nowhere */
};

enum aif_stat_usage {
	AIF_STAT_ELAPSED, /* s, by the wall clock */
	AIF_STAT_USER,    /* s */
	AIF_STAT_SYS,
	AIF_STAT_MAX_RSS, /* bytes, of the largest process */
	AIF_STAT_READ,    /* bytes from storage, of the command alone; NAN: not known */
	AIF_STAT_WRITTEN,
	AIF_STAT_VOLUNTARY, /* context switches */
	AIF_STAT_INVOLUNTARY,
	AIF_STAT_USAGES
};

struct aif_stat_run {
	struct aif_stat_value values[AIF_STAT_EVENTS];
	double usage[AIF_STAT_USAGES];
	int status; /* exit status: the command's, 128 + signal */
};

/* 0; -errno with *err if the command could not be started, ret->status is 126 or 127 then. SIGINT goes to the command
 * alone while it runs; it ends with its parent. */
int aif_stat_run_once(const struct aif_stat_opts *o, struct aif_stat_run *ret, struct aif_err *err);
