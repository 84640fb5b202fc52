/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/between.h"
#include "analysis/ebpf_launches.h"
#include "analysis/ranks/owning.h"

#include <errno.h>

/*
 * The host's part in what kept a device. Launches of a rank are a chain, in the order of their calls; a wait of the launching thread for
 * the device breaks it: what comes next the host could not have done before. Each link, the time from one call to the
 * next, is owned by whatever idle time is blamed on that the later call ended; where it ended none, by that between the same two
 * stacks elsewhere; else by the place between them. Links behind a chain's last awaited launch kept nothing.
 */

#define COURSES (UINT64_C(1) << 62) /* greater numbers are no brackets' (idle/course.h) */
struct link {
	int64_t from, to;
	uint32_t launch, before; /* its launch; the same thread's launch before, AIF_NONE: none */
	bool is_behind_wait;     /* begins a chain */
	bool is_awaited;
};

struct chains {
	struct aif_rank_owners *o;
	const struct aif_idle_part *idle;
	const struct aif_rank_idle_rows *rows;
	const struct aif_host_calls *calls;
	size_t lane;
	uint32_t *launches; /* by call */
	size_t launches_len;
	struct link *links; /* in order */
	size_t links_len, links_cap;
	struct aif_map awaited;   /* by launch */
	struct aif_map course_at; /* of idle time, by when it ends */
	struct aif_map course_of; /* the same, by the stacks of both launches */
	struct aif_rank_segments *to;
};

/* ---- launches that the device was idle for ------------------------------------------------------ */

/* Work that communicates keeps no other from running: a device that does nothing else waits for its host, too. */
static int find_awaited(struct chains *c, struct aif_rank_did *ret)
{
	const struct aif_device_utilization *d = &c->idle->u->devices[c->lane];
	int64_t end = INT64_MAX, end_of_all = INT64_MAX, latest = INT64_MIN;

	for (size_t i = d->first; i < d->end; i++) {
		uint32_t exec = c->idle->u->order[i];
		const struct aif_timeline_exec *x = &c->idle->t->execs[exec];
		bool communicates = c->idle->u->classes[exec] == AIF_WORK_COMMUNICATION;
		int64_t idle_from = communicates ? end_of_all : end;

		if (i == d->first)
			end = end_of_all = x->end;
		else if (x->launch != AIF_NONE && x->start > idle_from &&
			 c->idle->t->launches[x->launch].at > idle_from) {
			latest = AIF_MAX(latest, c->idle->t->launches[x->launch].at);
			if (aif_grow(&ret->awaited, &ret->awaited_cap, ret->awaited_len + 1,
				     sizeof(*ret->awaited)) < 0 ||
			    aif_map_put(&c->awaited, x->launch, 1) < 0)
				return -ENOMEM;
			ret->awaited[ret->awaited_len++] =
				(struct aif_rank_awaited){x->start, latest};
		}
		end_of_all = AIF_MAX(end_of_all, x->end);
		if (!communicates)
			end = AIF_MAX(end, x->end);
	}
	return 0;
}

/* ---- chains ------------------------------------------------------------------------------------- */

static int by_call(const void *a, const void *b, void *arg)
{
	const struct aif_timeline_launch *l = arg, *x = &l[*(const uint32_t *)a],
					 *y = &l[*(const uint32_t *)b];

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int sort_launches(struct chains *c)
{
	const struct aif_device_utilization *d = &c->idle->u->devices[c->lane];
	size_t n = 0;

	c->launches = malloc((d->end - d->first + 1) * sizeof(*c->launches));
	if (!c->launches)
		return -ENOMEM;
	for (size_t i = d->first; i < d->end; i++) {
		uint32_t launch = c->idle->t->execs[c->idle->u->order[i]].launch;

		if (launch != AIF_NONE && aif_timeline_thread_of(c->idle->t, launch) != AIF_NONE)
			c->launches[n++] = launch;
	}
	qsort_r(c->launches, n, sizeof(*c->launches), by_call, c->idle->t->launches);
	/* A graph is one launch of many executions. */
	for (size_t i = 0; i < n; i++)
		if (!i || c->launches[i] != c->launches[i - 1])
			c->launches[c->launches_len++] = c->launches[i];
	return 0;
}

/* Returns the end of a thread's last wait in [from, to) during whose beginning the device was busy; `from`: there is none. */
static int64_t waited_until(const struct chains *c, uint32_t thread, int64_t from, int64_t to)
{
	const struct aif_spans *busy = &c->idle->u->devices[c->lane].busy;

	for (size_t i = aif_host_calls_first(c->calls, thread, from);
	     i < c->calls->len && c->calls->at[i].thread == thread && c->calls->at[i].start < to;
	     i++) {
		const struct aif_host_call *k = &c->calls->at[i];

		if (aif_host_call_waits(k->kind) && k->start >= from - AIF_IDLE_LAUNCH_NS &&
		    aif_spans_covered(busy, k->start, k->end))
			from = AIF_MIN(k->end, to);
	}
	return from;
}

static int make_links(struct chains *c)
{
	const struct aif_timeline_launch *l = c->idle->t->launches;
	struct aif_map before = {0};
	uint64_t last, any;
	int r = 0;

	for (size_t i = 0; i < c->launches_len && !r; i++) {
		const struct aif_timeline_launch *to = &l[c->launches[i]],
						 *from = i ? &l[c->launches[i - 1]] : to;
		uint32_t thread = aif_timeline_call_of(c->idle->t, to)->thread,
			 other = aif_timeline_call_of(c->idle->t, from)->thread;
		struct link k = {.to = to->at, .launch = c->launches[i], .before = AIF_NONE};

		if (aif_map_get(&before, thread, &last))
			k.before = (uint32_t)last;
		k.from = waited_until(c, thread, from->at, to->at);
		if (other != thread)
			k.from = AIF_MAX(k.from, waited_until(c, other, from->at, to->at));
		k.is_behind_wait = !i || k.from > from->at;
		k.is_awaited = aif_map_get(&c->awaited, k.launch, &any);
		if (aif_grow(&c->links, &c->links_cap, c->links_len + 1, sizeof(k)) < 0 ||
		    aif_map_put(&before, thread, k.launch) < 0)
			r = -ENOMEM;
		else
			c->links[c->links_len++] = k;
	}
	aif_map_finish(&before);
	return r;
}

/* ---- owners ------------------------------------------------------------------------------------- */

static uint64_t stacks_key(const struct chains *c, const struct link *k)
{
	const struct aif_timeline_launch *l = c->idle->t->launches;

	return (uint64_t)(k->before == AIF_NONE ? AIF_NONE : l[k->before].stack) << 32 |
	       l[k->launch].stack;
}

static int find_courses(struct chains *c)
{
	const struct aif_rank_idle_times *times = &c->rows->lanes[c->lane];
	uint64_t course;

	for (size_t i = 0; i < times->len; i++)
		if (times->at[i].course < COURSES &&
		    aif_map_put(&c->course_at, (uint64_t)times->at[i].to, times->at[i].course) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < c->links_len; i++)
		if (aif_map_get(&c->course_at, (uint64_t)c->links[i].to, &course) &&
		    aif_map_put(&c->course_of, stacks_key(c, &c->links[i]), course) < 0)
			return -ENOMEM;
	return 0;
}

static int put_link(struct chains *c, const struct link *k)
{
	const struct aif_timeline_launch *l = c->idle->t->launches;
	struct aif_wait_row row = {
		.kind = AIF_WAIT_IDLE, .cause = AIF_IDLE_CAUSE_HOST, .kernel = AIF_NONE};
	uint64_t course;

	if (k->from >= k->to)
		return 0;
	if (aif_map_get(&c->course_at, (uint64_t)k->to, &course) ||
	    aif_map_get(&c->course_of, stacks_key(c, k), &course))
		return aif_rank_put(c->to, k->from, k->to,
				    aif_rank_course_owner(c->o, c->rows, course, c->lane));
	row.stack = aif_idle_place(
		c->o->p, AIF_NONE,
		k->before == AIF_NONE ? AIF_NONE : aif_stack_of_call(c->o->p, l[k->before].stack),
		aif_stack_of_call(c->o->p, l[k->launch].stack), &row.is_before);
	return aif_rank_put(c->to, k->from, k->to, aif_rank_owner(c->o, &row));
}

/* Adds the links of each chain up to its last awaited launch. */
static int put_links(struct chains *c)
{
	int r = 0;

	for (size_t from = 0, to; from < c->links_len && !r; from = to) {
		size_t last = from;

		for (to = from; to < c->links_len && (to == from || !c->links[to].is_behind_wait);
		     to++)
			if (c->links[to].is_awaited)
				last = to + 1;
		for (size_t i = from; i < last && !r; i++)
			r = put_link(c, &c->links[i]);
	}
	return r;
}

/* ---- both ---------------------------------------------------------------------------------------- */

/* A device starts what was launched while its host goes on: such idle time is the host's, except for the last launch of a chain. */
static bool is_own(const struct aif_rank_owners *o, uint32_t owner)
{
	enum aif_idle_cause cause =
		owner & AIF_RANK_MIX ? AIF_IDLE_CAUSE_HOST : o->owners[owner].cause;

	return cause != AIF_IDLE_CAUSE_LAUNCH && cause != AIF_IDLE_CAUSE_LATE;
}

int aif_rank_critical_make(struct aif_rank_owners *o, const struct aif_idle_part *idle,
			   const struct aif_rank_idle_rows *rows,
			   const struct aif_host_calls *calls, size_t lane,
			   const struct aif_rank_segments *idle_time, struct aif_rank_did *ret)
{
	struct aif_rank_segments links = {0};
	struct chains c = {
		.o = o, .idle = idle, .rows = rows, .calls = calls, .lane = lane, .to = &links};
	int r = find_awaited(&c, ret);

	if (!r)
		r = sort_launches(&c);
	if (!r)
		r = make_links(&c);
	if (!r)
		r = find_courses(&c);
	if (!r)
		r = put_links(&c);
	for (size_t i = 0; i < idle_time->len && !r; i++)
		if (is_own(o, idle_time->at[i].owner))
			r = aif_rank_put(&ret->critical, idle_time->at[i].from, idle_time->at[i].to,
					 idle_time->at[i].owner);
	if (!r)
		r = aif_rank_fill_in(&ret->critical, &links);
	if (!r)
		r = aif_rank_fill_in(&ret->critical, &ret->device);
	free(links.at);
	free(c.launches);
	free(c.links);
	aif_map_finish(&c.awaited);
	aif_map_finish(&c.course_at);
	aif_map_finish(&c.course_of);
	return r;
}
