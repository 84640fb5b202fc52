/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/blame.h"
#include "analysis/idle/course.h"
#include "analysis/run_delay.h"

/*
 * Idle time of a part of a profile. Where nothing was left out, gaps are cut at the times that are asked for, so that busy
 * and idle time are as long as the part. Else it is the time from the first to the last execution that was launched
 * in it, with what captured launches stand for.
 */
struct aif_idle_part {
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u;
	struct aif_idle_blame blame;
	struct aif_idle_course course; /* when its idle time was; empty unless it was asked for */
	bool is_cut;      /* t and u have the whole run, of which the part is [from, to) */
	int64_t from, to; /* ns since the recording's start */
	struct aif_run_delay run_delay; /* waits for a CPU in the selected part */
	bool is_busy_machine;           /* .run_delay is long enough to be named */
	/* Is set where also a device is made of the machine's CPUs: what it starts late other programs kept from starting. */
	bool is_crowded;
};

/* Blames idle time of what `sel` (NULL: all) names. *ret is a fact, for aif_facts_put() (facts.h); after a failure one of
 * zeros, which has no .t. 0 or -errno. */
int aif_idle_part_get(const struct aif_profile *p, const struct aif_selection *sel,
		      const struct aif_idle_part **ret);
/* The same with .course. */
int aif_idle_part_get_course(const struct aif_profile *p, const struct aif_selection *sel,
			     const struct aif_idle_part **ret);

/* Returns what device d of .u did in the part, with estimates where launches were left out. */
struct aif_utilization_parts aif_idle_part_of(const struct aif_idle_part *i, size_t d);
/* Returns how much of an execution lies in the part. */
uint64_t aif_idle_part_ns(const struct aif_idle_part *i, const struct aif_timeline_exec *x);
/* True if some of an execution lies in the part; of one that took no time by its clock, if it began there. */
bool aif_idle_part_has(const struct aif_idle_part *i, const struct aif_timeline_exec *x);
