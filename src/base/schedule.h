/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Choice of a loop's steps, as torch.profiler.schedule() makes it: `skip` steps are left out once, then in turns `wait` steps
 * are, `warmup` steps are recorded for nothing, and `active` steps are a cycle's; after `repeat` cycles none is recorded
 * (repeat 0: as long as there are steps). Steps count from 0. active 0: there is no schedule, all is recorded.
 */
struct aif_schedule {
	uint32_t wait, warmup, active, repeat, skip;
	uint32_t is_for_unmarked;    /* 1: what comes before the first step is recorded, too */
	uint32_t counts_from_attach; /* 1: step 0 is the first to begin once recorded */
};

enum aif_schedule_action { AIF_SCHEDULE_NONE, AIF_SCHEDULE_WARMUP, AIF_SCHEDULE_ACTIVE };

static inline uint64_t aif_schedule_turn(const struct aif_schedule *s)
{
	return (uint64_t)s->wait + s->warmup + s->active;
}

/* Returns true if neither this step nor a later one belongs to a cycle. */
static inline bool aif_schedule_is_over(const struct aif_schedule *s, uint64_t step)
{
	return s->repeat && step >= s->skip && (step - s->skip) / aif_schedule_turn(s) >= s->repeat;
}

static inline enum aif_schedule_action aif_schedule_action(const struct aif_schedule *s,
							   uint64_t step)
{
	uint64_t at;

	if (step < s->skip || aif_schedule_is_over(s, step))
		return AIF_SCHEDULE_NONE;
	at = (step - s->skip) % aif_schedule_turn(s);
	return at < s->wait                         ? AIF_SCHEDULE_NONE
	       : at < (uint64_t)s->wait + s->warmup ? AIF_SCHEDULE_WARMUP
						    : AIF_SCHEDULE_ACTIVE;
}

/* Returns the cycle in whose turn a step is, that is not one of those skipped. */
static inline uint64_t aif_schedule_cycle(const struct aif_schedule *s, uint64_t step)
{
	return (step - s->skip) / aif_schedule_turn(s);
}

/* Returns the first of the `active` steps of a cycle; cycles count from 0. */
static inline uint64_t aif_schedule_first(const struct aif_schedule *s, uint64_t cycle)
{
	return s->skip + cycle * aif_schedule_turn(s) + s->wait + s->warmup;
}

/* Returns true if recording has to be on while `begun` steps have begun: switching on takes a moment, so that without
 * a warm-up it begins one step early. */
static inline bool aif_schedule_is_on(const struct aif_schedule *s, uint64_t begun)
{
	if (!s->active || (!begun && s->is_for_unmarked))
		return true;
	return (begun && aif_schedule_action(s, begun - 1) != AIF_SCHEDULE_NONE) ||
	       aif_schedule_action(s, begun) == AIF_SCHEDULE_ACTIVE;
}
