/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/joint_calls.h"

#include "analysis/calls/host_calls.h"
#include "analysis/exec_timeline.h"
#include "analysis/facts.h"
#include "analysis/time.h"
#include "base/host_calls.h"
#include "base/map.h"
#include "base/sort.h"
#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	const struct aif_profile *p;
	const struct aif_timeline *timeline;
	struct aif_map communicators; /* number of the file -> from 0 */
	struct aif_map channels;      /* the same of messages; of both sides */
	struct aif_map kinds;         /* name -> enum what of its calls */
	struct aif_joint_calls *to;
	/* Waits, which have the number of an operation or of a message: of which is known when all rows are read. */
	struct wait {
		uint64_t id;
		struct aif_joint_call call;
	} * waits;
	size_t waits_len, waits_cap;
};

/* Marks a channel as that of a receive. */
#define RECEIVES UINT64_C(1)

enum what { OTHER, JOINT, MESSAGE };

/* Returns the number, from 0, of one of the file's. */
static int number_of(struct aif_map *numbers, uint64_t id, uint32_t *ret)
{
	uint64_t i;

	if (!aif_map_get(numbers, id, &i)) {
		i = numbers->len;
		if (aif_map_put(numbers, id, i) < 0)
			return -ENOMEM;
	}
	*ret = (uint32_t)i;
	return 0;
}

/* Returns what of an operation a call is, by its name. */
static enum aif_joint_part part_of(const char *name)
{
	return !strncmp(name, "MPI_I", strlen("MPI_I"))         ? AIF_JOINT_BEGIN
	       : !strncmp(name, "MPI_Wait", strlen("MPI_Wait")) ? AIF_JOINT_WAIT
								: AIF_JOINT_WHOLE;
}

static enum what what_of(const char *name)
{
	enum aif_host_call_kind kind;

	if (!aif_host_call_kind_of(name, &kind) || kind != AIF_HOST_CALL_COMMUNICATE)
		return OTHER;
	return strcasestr(name, "send") || strcasestr(name, "recv") || strcasestr(name, "probe")
		       ? MESSAGE
		       : JOINT;
}

/* Sets what a row is: each name is looked at once. 0 or -ENOMEM. */
static int classify(struct reading *r, const struct aif_op_row *row, uint64_t *ret)
{
	*ret = OTHER;
	if (row->kind != AIF_OP_RUNTIME || !row->id || row->sequence <= 0 ||
	    row->sequence > UINT32_MAX || row->thread == AIF_NONE || row->name == AIF_NONE ||
	    r->p->threads[row->thread].process == AIF_NONE) /* the last as of a damaged file */
		return 0;
	if (aif_map_get(&r->kinds, row->name, ret))
		return 0;
	*ret = what_of(aif_profile_str(r->p, row->name));
	return aif_map_put(&r->kinds, row->name, *ret);
}

static int add_joint(struct reading *r, uint64_t id, struct aif_joint_call c)
{
	struct aif_joint_calls *to = r->to;

	if (number_of(&r->communicators, id, &c.communicator) < 0 ||
	    aif_grow(&to->at, &to->cap, to->len + 1, sizeof(*to->at)) < 0)
		return -ENOMEM;
	to->at[to->len++] = c;
	return 0;
}

static int add_message(struct reading *r, uint64_t id, const struct aif_joint_call *c)
{
	struct aif_joint_calls *to = r->to;
	struct aif_message_call m = {.start = c->start,
				     .end = c->end,
				     .process = c->process,
				     .thread = c->thread,
				     .stack = c->stack,
				     .number = c->number,
				     .part = c->part,
				     .is_receive = id & RECEIVES};

	if (number_of(&r->channels, id & ~RECEIVES, &m.channel) < 0 ||
	    aif_grow(&to->messages, &to->messages_cap, to->messages_len + 1,
		     sizeof(*to->messages)) < 0)
		return -ENOMEM;
	to->messages[to->messages_len++] = m;
	return 0;
}

static int add_wait(struct reading *r, uint64_t id, const struct aif_joint_call *c)
{
	if (aif_grow(&r->waits, &r->waits_cap, r->waits_len + 1, sizeof(*r->waits)) < 0)
		return -ENOMEM;
	r->waits[r->waits_len++] = (struct wait){id, *c};
	return 0;
}

static int take_waits(struct reading *r)
{
	uint64_t channel;
	int e = 0;

	for (size_t i = 0; i < r->waits_len && !e; i++) {
		const struct wait *w = &r->waits[i];

		e = aif_map_get(&r->channels, w->id & ~RECEIVES, &channel)
			    ? add_message(r, w->id, &w->call)
			    : add_joint(r, w->id, w->call);
	}
	return e;
}

static int take(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct reading *r = arg;
	int e = 0;

	for (size_t i = 0; i < n && !e; i++) {
		const struct aif_op_row *row = &rows[i];
		uint64_t what;
		struct aif_joint_call c = {.number = (uint32_t)row->sequence,
					   .thread = row->thread,
					   .stack = row->stack};

		e = classify(r, row, &what);
		if (e || what == OTHER)
			continue;
		c.part = part_of(aif_profile_str(r->p, row->name));
		c.process = r->p->threads[row->thread].process;
		c.start = aif_time_clamp(
			aif_timeline_map(r->timeline, row->clock, c.process, row->start, NULL));
		c.end = aif_time_clamp(
			aif_timeline_map(r->timeline, row->clock, c.process, row->end, NULL));
		if (c.end <= c.start)
			continue;
		e = c.part == AIF_JOINT_WAIT ? add_wait(r, row->id, &c)
		    : what == MESSAGE        ? add_message(r, row->id, &c)
					     : add_joint(r, row->id, c);
	}
	return e;
}

static int by_process_start(const void *a, const void *b)
{
	const struct aif_joint_call *x = a, *y = b;

	return AIF_ORDER(x->process, y->process) ?: AIF_ORDER(x->start, y->start)
	       ?: AIF_ORDER(x->thread, y->thread);
}

static int by_channel_number(const void *a, const void *b)
{
	const struct aif_message_call *x = a, *y = b;

	return AIF_ORDER(x->channel, y->channel) ?: AIF_ORDER(x->number, y->number)
	       ?: AIF_ORDER(x->is_receive, y->is_receive) ?: AIF_ORDER(x->start, y->start);
}

int aif_joint_calls_read(const struct aif_profile *p, struct aif_joint_calls *ret)
{
	struct reading r = {.p = p, .to = ret};
	uint64_t damaged = 0;
	int e;

	*ret = (struct aif_joint_calls){0};
	if (!*aif_profile_meta(p, "calls"))
		return 0;
	e = aif_timeline_get(p, &r.timeline);
	if (!e)
		e = aif_profile_ops(p, take, &r, &damaged);
	if (!e)
		e = take_waits(&r);
	if (!e && ret->len)
		aif_sort(ret->at, ret->len, sizeof(*ret->at), by_process_start);
	if (!e && ret->messages_len)
		aif_sort(ret->messages, ret->messages_len, sizeof(*ret->messages),
			 by_channel_number);
	aif_facts_put(r.timeline);
	aif_map_finish(&r.communicators);
	aif_map_finish(&r.channels);
	aif_map_finish(&r.kinds);
	free(r.waits);
	return e;
}

int aif_joint_calls_add_before(const struct aif_profile *p, const struct aif_host_calls *all,
			       struct aif_joint_calls *c)
{
	/* Keeps the end of each thread's last joint call. Calls of a process are by time, whatever the thread. */
	int64_t *since = malloc((p->threads_len + 1) * sizeof(*since));

	if (!since)
		return -ENOMEM;
	for (size_t i = 0; i < p->threads_len; i++)
		since[i] = INT64_MIN;
	for (size_t i = 0; i < c->len; i++) {
		struct aif_joint_call *to = &c->at[i];

		for (size_t k = aif_host_calls_first(all, to->thread, since[to->thread]);
		     k < all->len && all->at[k].thread == to->thread && all->at[k].end <= to->start;
		     k++)
			if (all->at[k].kind == AIF_HOST_CALL_COMMUNICATE)
				to->before_ns += (uint64_t)(all->at[k].end - all->at[k].start);
		since[to->thread] = to->end;
	}
	free(since);
	return 0;
}

void aif_joint_calls_finish(struct aif_joint_calls *c)
{
	free(c->at);
	free(c->messages);
	*c = (struct aif_joint_calls){0};
}
