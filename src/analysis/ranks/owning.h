/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/calls/host_calls.h"
#include "analysis/ranks/owners.h"

/* Segments of ranks in the making (owners.c, critical.c). */

/* Returns the index of an owner, which is added if it is new; AIF_NONE: there is no memory. */
uint32_t aif_rank_owner(struct aif_rank_owners *o, const struct aif_wait_row *row);
/* Adds a segment behind all others; none where it has no length. 0 or -ENOMEM. */
int aif_rank_put(struct aif_rank_segments *s, int64_t from, int64_t to, uint32_t owner);
/* Adds what of `more` lies where `s` has nothing. Both are disjoint and in order, and so is what becomes of `s`. 0 or -ENOMEM. */
int aif_rank_fill_in(struct aif_rank_segments *s, const struct aif_rank_segments *more);

/* Rows of idle time by course, and when each device was idle. */
struct aif_rank_idle_rows {
	const struct aif_idle_course_part **parts;
	size_t len;
	struct aif_rank_idle_times {
		struct aif_idle_time *at; /* in the order in which they were found */
		size_t len, cap;
	} * lanes; /* by device: one of idle->u->devices */
};
size_t aif_rank_idle_first(const struct aif_rank_idle_rows *rows, uint64_t course);
/* Returns the owner of a course's times on a device: one, or a mix; AIF_NONE: there is no memory, or the course has none there. */
uint32_t aif_rank_course_owner(struct aif_rank_owners *o, const struct aif_rank_idle_rows *rows,
			       uint64_t course, size_t device);

/* Makes .device of all ranks that use no device. 0 or -errno. */
int aif_rank_host_owners_make(struct aif_rank_owners *o, const struct aif_ranks *r,
			      const struct aif_host_calls *calls);

/* Makes a rank's .critical from its .device and from `idle_time`, the segments of its idle time alone. 0 or -ENOMEM. */
int aif_rank_critical_make(struct aif_rank_owners *o, const struct aif_idle_part *idle,
			   const struct aif_rank_idle_rows *rows,
			   const struct aif_host_calls *calls, size_t lane,
			   const struct aif_rank_segments *idle_time, struct aif_rank_did *ret);
