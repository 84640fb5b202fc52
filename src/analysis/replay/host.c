/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the host's time that rows of the blame have, by event. */
#include "analysis/replay/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Sums what is gone by event: of the host's own time, and of launch calls. */
static void sum_times(const struct aif_replay *r, const struct aif_replay_gone *gone,
		      double *of_event, float *calls)
{
	struct aif_replay_time x = {0};
	size_t offset = 0;

	memset(of_event, 0, (r->events_len + 1) * sizeof(*of_event));
	memset(calls, 0, (r->events_len + 1) * sizeof(*calls));
	if (!gone->is_host && !gone->is_calls)
		return;
	while (aif_replay_next_time(r, &offset, &x)) {
		const struct aif_replay_amount *a = &gone->host[x.place],
					       *b = &gone->calls[x.place];
		double ns = (double)x.ns;

		if (a->gone > 0 && x.host < r->events_len)
			of_event[x.host] += ns * a->gone / a->all;
		if (b->gone > 0 && x.call)
			calls[x.call - 1] += (float)(ns * b->gone / b->all);
	}
}

/* Sets *ret_any to the sum of all events, and of_stack to sums by stack. */
static void sum_stacks(const struct aif_replay *r, const double *of_event,
		       struct aif_replay_amount *of_stack, struct aif_replay_amount *ret_any)
{
	for (size_t i = 0; i < r->events_len; i++) {
		struct aif_replay_amount *a;
		double idle;

		if (!r->idle[i])
			continue;
		idle = (double)aif_replay_idle_ns(r, i);
		a = &of_stack[r->stacks[i]];
		a->all += idle;
		a->gone += of_event[i];
		ret_any->all += idle;
		ret_any->gone += of_event[i];
	}
}

/* Returns the part that stays of amounts, `other` if there are none. */
static float part_of(const struct aif_replay_amount *a, float other)
{
	return a->all > 0 ? (float)(1 - a->gone / a->all) : other;
}

/* Sets *ret to the part that stays of each event's host time: as of its own idle time, else as of that of events with its stack,
 * else as of all. 0 or -ENOMEM. */
static int find_parts(const struct aif_replay *r, const double *of_event, float *ret)
{
	size_t stacks = r->p->stacks_len + 2;
	struct aif_replay_amount *of_stack = calloc(stacks, sizeof(*of_stack)), any = {0, 0};
	float *parts = malloc(stacks * sizeof(*parts));

	if (!of_stack || !parts) {
		free(of_stack);
		free(parts);
		return -ENOMEM;
	}
	sum_stacks(r, of_event, of_stack, &any);
	for (size_t i = 0; i < stacks; i++)
		parts[i] = part_of(&of_stack[i], part_of(&any, 1));
	for (size_t i = 0; i < r->events_len; i++) {
		struct aif_replay_amount own = {of_event[i], (double)aif_replay_idle_ns(r, i)};

		if (!r->idle[i])
			ret[i] = parts[r->stacks[i]];
		else
			ret[i] = own.gone > 0 ? part_of(&own, 1) : 1;
	}
	free(of_stack);
	free(parts);
	return 0;
}

int aif_replay_host_without(struct aif_replay *r,
			    bool (*is_gone)(const void *arg, const struct aif_idle_row *row),
			    const void *arg, float *ret, float *ret_calls)
{
	struct aif_replay_gone gone;
	double *of_event = r->sums;
	int e = aif_replay_gone_find(r, is_gone, arg, &gone);

	if (!e)
		sum_times(r, &gone, of_event, ret_calls);
	if (!e && gone.is_host)
		e = find_parts(r, of_event, ret);
	for (size_t i = 0; i < r->events_len && !gone.is_host; i++)
		ret[i] = 1;
	aif_replay_gone_finish(&gone);
	return e;
}
