/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <sys/types.h>

/*
 * Counters of one process and all that it starts, by perf_event_open(2): inherited, switched on by exec. Events of the
 * hardware are counted in user space only, which perf_event_paranoid 2 allows; those of the software in the OS kernel,
 * too, which needs 1 or less, or CAP_PERFMON: without it the caller has rusage.
 *
 * Values are scaled by the time for which the event was counted: value x enabled / running.
 */
#define AIF_STAT_EVENT(id, name, set, type, config, group) AIF_STAT_##id,
enum aif_stat_event {
#include "stat/events.def"
	AIF_STAT_EVENTS
};
#undef AIF_STAT_EVENT

enum aif_stat_set {
	AIF_STAT_SET_BASE = 1,
	AIF_STAT_SET_CACHE = 2,
	AIF_STAT_SET_TLB = 4,
	AIF_STAT_SET_ALL = 7, /* but topdown, which few CPUs have */
	AIF_STAT_SET_TOPDOWN = 8,
};

/* A set of events, a bit each. */
typedef uint64_t aif_stat_events;
static_assert(AIF_STAT_EVENTS <= 64, "bits of aif_stat_events");

const char *aif_stat_event_name(enum aif_stat_event e);
bool aif_stat_event_is_software(enum aif_stat_event e);
/* The events of `sets`, enum aif_stat_set. */
aif_stat_events aif_stat_events_of(unsigned sets);
/* Adds events named in a list with commas, or sets (base, cache, tlb, topdown), to *ret. 0; -EINVAL with *err. */
int aif_stat_events_parse(const char *list, aif_stat_events *ret, struct aif_err *err);

/* Count of an event in a run. */
struct aif_stat_value {
	bool is_known;
	int error;    /* a positive errno: why it is not known; 0: never asked for */
	double value; /* scaled; of task-clock ns */
	uint64_t enabled_ns, running_ns; /* of perf; 0: the value is rusage's */
	bool is_share; /* these say which part of the time it was counted; how long that was is not known */
};

struct aif_stat_counters {
	aif_stat_events asked;
	int fd[AIF_STAT_EVENTS]; /* -1: not open */
	int error[AIF_STAT_EVENTS];
};

/* Opens counters on a process that will call exec. Events that cannot be had are noted in .error. */
void aif_stat_counters_open(struct aif_stat_counters *c, aif_stat_events asked, pid_t pid);
/* Reads what they counted, into values[AIF_STAT_EVENTS], and closes them. */
void aif_stat_counters_read(struct aif_stat_counters *c, struct aif_stat_value *values);

/* Returns why an event cannot be had, and what to do about it; errno as in .error. */
const char *aif_stat_reason(int error);
const char *aif_stat_fix(int error);
