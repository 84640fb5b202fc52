/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/rank_items.h"

#include "base/map.h"

#include <errno.h>
#include <string.h>

/* ---- executions that communicate -------------------------------------------------------------- */

/* True for sends and receives: the trace does not say which rank is the peer. */
static bool is_of_two(const struct aif_profile *p, const struct aif_exec_timeline *t,
		      const struct aif_timeline_exec *x)
{
	uint32_t collective = aif_timeline_more_of(t, x)->collective;
	const char *operation =
		collective ? aif_profile_str(p, p->collectives[collective - 1].operation) : "";
	const char *kernel =
		aif_profile_str(p, p->kernels[aif_timeline_work_of(t, x)->kernel].name);

	if (*operation)
		return !strncasecmp(operation, "send", 4) || !strncasecmp(operation, "recv", 4) ||
		       !strncasecmp(operation, "coalesced", 9);
	return strcasestr(kernel, "sendrecv") != NULL;
}

static struct aif_rank_item item_of(const struct aif_profile *p, const struct aif_exec_timeline *t,
				    const struct aif_timeline_exec *x)
{
	const struct aif_timeline_more *more = aif_timeline_more_of(t, x);
	struct aif_rank_item i = {.sequence = more->sequence,
				  .start = x->start,
				  .end = x->end,
				  .weight = aif_timeline_weight_of(t, x),
				  .cycle = aif_timeline_cycle_of(t, x)};
	uint32_t communicator =
		more->collective ? p->collectives[more->collective - 1].communicator : AIF_NONE;

	i.by_kernel = communicator == AIF_NONE;
	i.group = i.by_kernel
			  ? (uint64_t)1 << 32 | p->kernels[aif_timeline_work_of(t, x)->kernel].name
			  : communicator;
	if (i.by_kernel)
		i.sequence = 0;
	return i;
}

int aif_rank_items_find(const struct aif_profile *p, const struct aif_exec_timeline *t,
			const struct aif_utilization *u, struct aif_ranks *ret,
			struct aif_rank_items *items)
{
	for (size_t k = 0; k < ret->ranks_len; k++) {
		const struct aif_device_utilization *d = ret->ranks[k].lane == AIF_RANK_NO_LANE
								 ? NULL
								 : &u->devices[ret->ranks[k].lane];

		for (size_t i = d ? d->first : 0; d && i < d->end; i++) {
			const struct aif_timeline_exec *x = &t->execs[u->order[i]];
			struct aif_rank_item item;

			if (u->classes[u->order[i]] != AIF_WORK_COMMUNICATION ||
			    aif_timeline_work_of(t, x)->kernel == AIF_NONE)
				continue;
			if (ret->ranks[k].is_apart || is_of_two(p, t, x)) {
				ret->unmatched++;
				continue;
			}
			if (aif_grow(&items->at, &items->cap, items->len + 1, sizeof(item)) < 0)
				return -ENOMEM;
			item = item_of(p, t, x);
			item.rank = (uint32_t)k;
			item.exec = u->order[i];
			items->at[items->len++] = item;
		}
	}
	return 0;
}

/* ---- calls that communicate --------------------------------------------------------------------- */

/* Returns the first of a process's ranks; AIF_NONE: it has none. */
static uint32_t rank_of(const struct aif_ranks *r, uint32_t process)
{
	for (uint32_t k = 0; k < r->ranks_len; k++)
		if (r->ranks[k].process == process)
			return k;
	return AIF_NONE;
}

/* True if a host has two processes of one number: there are several jobs, whose communicators have the same numbers. */
static bool are_several_jobs(const struct aif_profile *p, const struct aif_ranks *r)
{
	for (size_t k = 0; k < r->ranks_len; k++)
		for (size_t i = k + 1; i < r->ranks_len && r->ranks[i].number == r->ranks[k].number;
		     i++)
			if (r->ranks[k].number != AIF_NONE &&
			    r->ranks[i].process != r->ranks[k].process &&
			    p->processes[r->ranks[i].process].host ==
				    p->processes[r->ranks[k].process].host)
				return true;
	return false;
}

/* Returns the group of a call. Of several jobs each has a launcher of its own, on each host. */
static uint64_t group_of(const struct aif_profile *p, const struct aif_joint_call *c,
			 bool by_launcher)
{
	uint64_t launcher = by_launcher ? p->processes[c->process].ppid : 0;

	return UINT64_C(1) << 63 | launcher << 32 | c->communicator;
}

/* Returns what counts as a part of a call of a rank without a device: the calls before it. */
static uint64_t before_of(const struct aif_rank *r, const struct aif_joint_call *c)
{
	return r->thread == c->thread ? c->before_ns : 0;
}

/* Marks the groups of calls in which a rank with a device takes part: its calls before are not counted, so no rank's are. */
static int mark_with_devices(const struct aif_profile *p, const struct aif_ranks *r,
			     bool by_launcher, struct aif_map *ret)
{
	uint32_t rank = AIF_NONE;
	int e = 0;

	for (size_t i = 0; i < r->calls.len && !e; i++) {
		const struct aif_joint_call *c = &r->calls.at[i];

		if (!i || c->process != c[-1].process)
			rank = rank_of(r, c->process);
		if (rank != AIF_NONE && r->ranks[rank].lane != AIF_RANK_NO_LANE)
			e = aif_map_put(ret, group_of(p, c, by_launcher), 1);
	}
	return e;
}

/* Operations that a process has begun, and waits for later. */
struct begun {
	struct aif_map items; /* communicator and number -> index of its item */
	uint32_t process;
};

/* Adds a call, or takes it for the wait of an operation that was begun before. */
static int add_call(struct aif_rank_items *items, struct begun *begun,
		    const struct aif_joint_call *c, struct aif_rank_item item)
{
	uint64_t key = (uint64_t)c->communicator << 32 | c->number, i;

	if (begun->process != c->process)
		aif_map_finish(&begun->items);
	begun->process = c->process;
	if (c->part == AIF_JOINT_WAIT) {
		/* The begin may not have been recorded. */
		if (aif_map_get(&begun->items, key, &i)) {
			items->at[i].waits_from = c->start;
			items->at[i].end = c->end;
		}
		return 0;
	}
	if (aif_grow(&items->at, &items->cap, items->len + 1, sizeof(item)) < 0 ||
	    (c->part == AIF_JOINT_BEGIN && aif_map_put(&begun->items, key, items->len) < 0))
		return -ENOMEM;
	items->at[items->len++] = item;
	return 0;
}

int aif_rank_items_find_calls(const struct aif_profile *p, struct aif_ranks *ret,
			      struct aif_rank_items *items)
{
	bool by_launcher = are_several_jobs(p, ret);
	struct begun begun = {.process = AIF_NONE};
	struct aif_map with_devices = {0};
	uint32_t rank = AIF_NONE;
	int e = mark_with_devices(p, ret, by_launcher, &with_devices);

	for (size_t i = 0; i < ret->calls.len && !e; i++) {
		const struct aif_joint_call *c = &ret->calls.at[i];
		bool is_begin = c->part == AIF_JOINT_BEGIN;
		uint64_t group, with;

		if (!i || c->process != c[-1].process)
			rank = rank_of(ret, c->process);
		if (rank == AIF_NONE)
			continue;
		group = group_of(p, c, by_launcher);
		if (ret->ranks[rank].is_apart)
			ret->unmatched++;
		else
			e = add_call(items, &begun, c,
				     (struct aif_rank_item){
					     .group = group,
					     .rank = rank,
					     .sequence = c->number,
					     .exec = AIF_NONE,
					     .start = c->start,
					     .end = c->end,
					     .waits_from = is_begin ? AIF_RANK_NO_WAIT : c->start,
					     .is_split = is_begin,
					     .before = aif_map_get(&with_devices, group, &with)
							       ? 0
							       : before_of(&ret->ranks[rank], c),
					     .weight = AIF_WEIGHT_ONE,
					     .cycle = AIF_NONE});
	}
	aif_map_finish(&begun.items);
	aif_map_finish(&with_devices);
	return e;
}
