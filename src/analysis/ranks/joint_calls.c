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
	struct aif_joint_calls *to;
};

static int communicator_of(struct reading *r, uint64_t id, uint32_t *ret)
{
	uint64_t i;

	if (!aif_map_get(&r->communicators, id, &i)) {
		i = r->communicators.len;
		if (aif_map_put(&r->communicators, id, i) < 0)
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

static bool is_joint(const struct aif_profile *p, const struct aif_op_row *row)
{
	enum aif_host_call_kind kind;

	return row->kind == AIF_OP_RUNTIME && row->id && row->sequence > 0 &&
	       row->sequence <= UINT32_MAX && row->thread != AIF_NONE && row->name != AIF_NONE &&
	       aif_host_call_kind_of(aif_profile_str(p, row->name), &kind) &&
	       kind == AIF_HOST_CALL_COMMUNICATE;
}

static int take(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct reading *r = arg;
	struct aif_joint_calls *to = r->to;

	for (size_t i = 0; i < n; i++) {
		const struct aif_op_row *row = &rows[i];
		struct aif_joint_call c = {.number = (uint32_t)row->sequence,
					   .thread = row->thread,
					   .stack = row->stack};

		if (!is_joint(r->p, row))
			continue;
		c.part = part_of(aif_profile_str(r->p, row->name));
		c.process = r->p->threads[row->thread].process;
		if (c.process == AIF_NONE) /* as of a damaged file */
			continue;
		c.start = aif_timeline_map(r->timeline, row->clock, c.process, row->start, NULL);
		c.end = aif_timeline_map(r->timeline, row->clock, c.process, row->end, NULL);
		if (c.end <= c.start)
			continue;
		if (communicator_of(r, row->id, &c.communicator) < 0 ||
		    aif_grow(&to->at, &to->cap, to->len + 1, sizeof(*to->at)) < 0)
			return -ENOMEM;
		to->at[to->len++] = c;
	}
	return 0;
}

static int by_process_start(const void *a, const void *b)
{
	const struct aif_joint_call *x = a, *y = b;

	return AIF_ORDER(x->process, y->process) ?: AIF_ORDER(x->start, y->start)
	       ?: AIF_ORDER(x->thread, y->thread);
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
	if (!e && ret->len)
		aif_sort(ret->at, ret->len, sizeof(*ret->at), by_process_start);
	aif_facts_put(r.timeline);
	aif_map_finish(&r.communicators);
	return e;
}

int aif_joint_calls_add_before(const struct aif_profile *p, struct aif_joint_calls *c)
{
	struct aif_host_calls all;
	/* Keeps the end of each thread's last joint call. Calls of a process are by time, whatever the thread. */
	int64_t *since = malloc((p->threads_len + 1) * sizeof(*since));
	int e = aif_host_calls_read(p, NULL, &all);

	if (!since)
		e = -ENOMEM;
	for (size_t i = 0; i < p->threads_len && !e; i++)
		since[i] = INT64_MIN;
	for (size_t i = 0; i < c->len && !e; i++) {
		struct aif_joint_call *to = &c->at[i];

		for (size_t k = aif_host_calls_first(&all, to->thread, since[to->thread]);
		     k < all.len && all.at[k].thread == to->thread && all.at[k].end <= to->start;
		     k++)
			if (all.at[k].kind == AIF_HOST_CALL_COMMUNICATE)
				to->before_ns += (uint64_t)(all.at[k].end - all.at[k].start);
		since[to->thread] = to->end;
	}
	aif_host_calls_finish(&all);
	free(since);
	return e;
}

void aif_joint_calls_finish(struct aif_joint_calls *c)
{
	free(c->at);
	*c = (struct aif_joint_calls){0};
}
