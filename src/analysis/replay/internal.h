/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/replay/replay.h"

/* Amounts that are gone and all, of a course or of launches with one stack. */
struct aif_replay_amount {
	double gone, all;
};

static inline const struct aif_timeline_exec *aif_replay_exec_of(const struct aif_replay *r,
								 size_t i)
{
	return &r->t->execs[r->of ? r->of[i] : r->first + i];
}

/* Returns the launch of an execution. */
static inline const struct aif_timeline_launch *aif_replay_launch_of(const struct aif_replay *r,
								     size_t exec)
{
	return &r->t->launches[aif_replay_exec_of(r, exec)->launch];
}

/* Returns the recorded moment: the launch call began, the wait returned. */
static inline int64_t aif_replay_time_of(const struct aif_replay *r,
					 const struct aif_replay_event *e)
{
	return e->is_wait ? r->waits[e->of].end : aif_replay_launch_of(r, e->of)->at;
}

/* Returns the end of the executions that an event launched, of which e->of is the first; of a wait, of none. */
static inline uint32_t aif_replay_end_of(const struct aif_replay *r,
					 const struct aif_replay_event *e)
{
	uint32_t k = e->of;

	if (e->is_wait)
		return k;
	while (!r->execs[k].is_last)
		k++;
	return k + 1;
}
