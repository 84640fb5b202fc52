/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/calls/host_calls.h"

#include "base/sort.h"
#include "analysis/exec_timeline.h"
#include "analysis/facts.h"
#include "analysis/time.h"
#include "base/map.h"
#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	const struct aif_profile *p;
	const struct aif_selection *sel;
	const struct aif_timeline *timeline;
	struct aif_map kinds; /* name -> 0: no such call; 1 + kind */
	struct aif_host_calls *to;
};

/* True for a call of host_calls.def; each name is looked for once. */
static int kind_of(struct reading *r, uint32_t name, uint64_t *ret)
{
	enum aif_host_call_kind kind;

	if (aif_map_get(&r->kinds, name, ret))
		return 0;
	*ret = aif_host_call_kind_of(aif_profile_str(r->p, name), &kind) ? 1 + (uint64_t)kind : 0;
	return aif_map_put(&r->kinds, name, *ret);
}

static int take(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct reading *r = arg;
	struct aif_host_calls *to = r->to;
	int e = 0;

	for (size_t i = 0; i < n && !e; i++) {
		const struct aif_op_row *row = &rows[i];
		struct aif_host_call c = {
			.thread = row->thread, .stack = row->stack, .name = row->name};
		uint32_t process;
		uint64_t kind;

		if (row->kind != AIF_OP_RUNTIME || row->thread == AIF_NONE || row->name == AIF_NONE)
			continue;
		e = kind_of(r, row->name, &kind);
		if (e || !kind)
			continue;
		process = r->p->threads[row->thread].process;
		if (r->sel && (!aif_selection_keeps(r->sel->processes, process) ||
			       !aif_selection_keeps(r->sel->threads, row->thread)))
			continue;
		c.kind = (enum aif_host_call_kind)(kind - 1);
		c.start = aif_timeline_map(r->timeline, row->clock, process, row->start, NULL);
		c.end = aif_timeline_map(r->timeline, row->clock, process, row->end, NULL);
		if (c.end <= c.start || !aif_timed_in_span(r->sel, c.start))
			continue;
		if (aif_grow(&to->at, &to->cap, to->len + 1, sizeof(*to->at)) < 0)
			return -ENOMEM;
		to->at[to->len++] = c;
	}
	return e;
}

static int by_thread_start(const void *a, const void *b)
{
	const struct aif_host_call *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->start, y->start)
	       ?: AIF_ORDER(y->end, x->end) ?: AIF_ORDER(x->name, y->name);
}

static void keep_outermost(struct aif_host_calls *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->len; i++) {
		struct aif_host_call next = c->at[i];
		const struct aif_host_call *last = n ? &c->at[n - 1] : NULL;

		if (last && last->thread == next.thread && next.start < last->end)
			next.start = last->end;
		if (next.start < next.end)
			c->at[n++] = next;
	}
	c->len = n;
}

int aif_host_calls_read(const struct aif_profile *p, const struct aif_selection *sel,
			struct aif_host_calls *ret)
{
	struct reading r = {.p = p, .sel = sel, .to = ret};
	int e;

	*ret = (struct aif_host_calls){0};
	e = aif_timeline_get(p, &r.timeline);
	if (!e)
		e = aif_profile_ops(p, take, &r, &ret->damaged);
	aif_facts_put(r.timeline);
	aif_map_finish(&r.kinds);
	if (e)
		return e;
	if (ret->len)
		aif_sort(ret->at, ret->len, sizeof(*ret->at), by_thread_start);
	keep_outermost(ret);
	return 0;
}

void aif_host_calls_finish(struct aif_host_calls *c)
{
	free(c->at);
	*c = (struct aif_host_calls){0};
}

/* The names of runtimes stand in a list with commas between. */
bool aif_host_calls_recorded(const struct aif_profile *p, uint32_t device)
{
	const char *list = aif_profile_meta(p, "calls"), *name;
	size_t len;

	if (device == AIF_NONE || p->devices[device].runtime == AIF_NONE)
		return false;
	name = aif_profile_str(p, p->devices[device].runtime);
	len = strlen(name);
	while (len && *list) {
		if (!strncmp(list, name, len) && (!list[len] || list[len] == ','))
			return true;
		list += strcspn(list, ",");
		list += strspn(list, ", ");
	}
	return false;
}

size_t aif_host_calls_first(const struct aif_host_calls *c, uint32_t thread, int64_t at)
{
	return AIF_BISECT(mid, 0, c->len,
			  c->at[mid].thread < thread ||
				  (c->at[mid].thread == thread && c->at[mid].end <= at));
}

const struct aif_host_call *aif_host_calls_longest_wait(const struct aif_host_calls *c,
							uint32_t thread, int64_t from, int64_t to,
							int64_t *ret_ns)
{
	const struct aif_host_call *longest = NULL;
	size_t first = aif_host_calls_first(c, thread, from), end;

	end = aif_host_calls_first(c, thread, to - 1);
	/* The last one may go on beyond `to`. */
	end += end < c->len && c->at[end].thread == thread && c->at[end].start < to;
	for (size_t i = AIF_MAX(first, end - AIF_MIN(end, (size_t)AIF_HOST_CALLS_BACK)); i < end;
	     i++) {
		int64_t ns = AIF_MIN(to, c->at[i].end) - AIF_MAX(from, c->at[i].start);

		if (aif_host_call_waits(c->at[i].kind) && ns > 0 && (!longest || ns > *ret_ns)) {
			longest = &c->at[i];
			*ret_ns = ns;
		}
	}
	return longest;
}
