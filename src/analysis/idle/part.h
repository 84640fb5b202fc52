/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/blame.h"

/*
 * Idle time of a part of a profile. Where nothing was left out, gaps are cut at the times that are asked for, so that busy
 * and idle time are as long as the part. Else it is the time from the first to the last execution that was launched
 * in it, with what captured launches stand for.
 */
struct aif_idle_part {
	const struct aif_exec_timeline *t;
	struct aif_utilization u;
	struct aif_idle_blame blame;
	bool is_cut;      /* t and u have the whole run, of which the part is [from, to) */
	int64_t from, to; /* ns since the recording's start */
};

/* Reads what `sel` (NULL: all) names. *ret is finished by the caller in any case. 0 or -errno. */
int aif_idle_part_read(const struct aif_profile *p, const struct aif_selection *sel,
		       struct aif_idle_part *ret);
/* The same of all, with when its idle time was: *course, zeroed, is finished by the caller. */
int aif_idle_part_read_course(const struct aif_profile *p, struct aif_idle_course *course,
			      struct aif_idle_part *ret);
void aif_idle_part_finish(struct aif_idle_part *i);

/* Returns what device d of .u did in the part, with estimates where launches were left out. */
struct aif_utilization_parts aif_idle_part_of(const struct aif_idle_part *i, size_t d);
/* Returns how much of an execution lies in the part. */
uint64_t aif_idle_part_ns(const struct aif_idle_part *i, const struct aif_timeline_exec *x);
