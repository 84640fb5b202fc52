/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time.h"
#include "base/sort.h"
#include "page/timeline.h"
#include "profile/file.h"

#include <errno.h>
#include <stdlib.h>

/* ---- operators, ranges, steps and calls ---------------------------------------------------------- */

struct op {
	int64_t start, end;
	uint32_t thread, what, lane;
	bool is_numbered; /* an operation or a message of ranks */
};
struct ops {
	struct aif_page_timeline *t;
	const struct aif_timeline *clocks;
	AIF_TABLE(op, op);
	uint32_t *order; /* indexes of .op by lane, and in a lane as they are in .op */
	uint32_t lanes;
	size_t too_deep;
};

static int ops_take(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct ops *o = arg;
	const struct aif_profile *p = o->t->names->p;

	if (o->op_len + n >= AIF_NONE ||
	    aif_grow(&o->op, &o->op_cap, o->op_len + n, sizeof(*o->op)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct aif_op_row *row = &rows[i];
		uint32_t thread = aif_page_thread(o->t, row->thread), process;
		struct op *to = &o->op[o->op_len];

		if (thread == AIF_NONE)
			continue;
		process = p->threads[row->thread].process;
		to->start = aif_time_clamp(
			aif_timeline_map(o->clocks, row->clock, process, row->start, NULL));
		to->end = aif_time_clamp(
			aif_timeline_map(o->clocks, row->clock, process, row->end, NULL));
		to->end = AIF_MAX(to->start, to->end);
		to->thread = thread;
		to->is_numbered = row->id && row->sequence > 0;
		to->what = aif_page_what(o->t, aif_profile_str(p, row->name), AIF_NONE, 0,
					 AIF_MIN(row->kind, (uint32_t)UINT8_MAX));
		if (to->what == AIF_NONE)
			return -ENOMEM;
		o->op_len++;
	}
	return 0;
}

static int by_nesting(const void *pa, const void *pb)
{
	const struct op *a = pa, *b = pb;

	return AIF_ORDER(a->thread, b->thread) ?: AIF_ORDER(a->start, b->start)
	       ?: AIF_ORDER(b->end, a->end);
}

/* Gives each a lane by how many it lies in; drops those that lie in too many. */
static void lanes_give(struct ops *o)
{
	int64_t end[AIF_PAGE_OP_DEPTH];
	unsigned depth = 0, used = 0;
	uint32_t first = 0;
	size_t n = 0;

	if (o->op_len)
		aif_sort(o->op, o->op_len, sizeof(*o->op), by_nesting);
	aif_buf_puts(o->t->json, ",\"ops\":[");
	for (size_t i = 0; i < o->op_len; i++) {
		struct op op = o->op[i];

		/* A call of MPI has a row for each message that it was (docs/FORMAT.md). */
		if (n && op.is_numbered && op.what == o->op[n - 1].what &&
		    !by_nesting(&op, &o->op[n - 1]))
			continue;
		if (!i || op.thread != o->op[n - 1].thread) {
			depth = used = 0;
			first = o->lanes;
		}
		while (depth && end[depth - 1] <= op.start)
			depth--;
		if (depth == AIF_PAGE_OP_DEPTH) {
			o->too_deep++;
			continue;
		}
		if (depth == used) {
			aif_buf_printf(o->t->json, "%s{\"thread\":%u,\"depth\":%u}",
				       o->lanes ? "," : "", op.thread, used);
			o->lanes++;
			used++;
		}
		op.lane = first + depth;
		end[depth++] = op.end;
		o->op[n++] = op;
	}
	aif_buf_printf(o->t->json, "],\"too_deep\":%zu", o->too_deep);
	o->op_len = n;
}

/* Sorts them by lane, in each of which they begin one after the other already. 0 or -ENOMEM. */
static int lanes_sort(struct ops *o)
{
	size_t *next = calloc((size_t)o->lanes + 1, sizeof(*next));

	o->order = malloc((o->op_len + 1) * sizeof(*o->order));
	if (!next || !o->order) {
		free(next);
		return -ENOMEM;
	}
	for (size_t i = 0; i < o->op_len; i++)
		next[o->op[i].lane + 1]++;
	for (uint32_t i = 0; i < o->lanes; i++)
		next[i + 1] += next[i];
	for (size_t i = 0; i < o->op_len; i++)
		o->order[next[o->op[i].lane]++] = (uint32_t)i;
	free(next);
	return 0;
}

static struct aif_page_event op_at(const void *arg, size_t i)
{
	const struct ops *o = arg;
	const struct op *op = &o->op[o->order[i]];

	return (struct aif_page_event){
		.start = op->start, .end = op->end, .lane = op->lane, .what = op->what};
}

static int ops_write(struct aif_page_timeline *t)
{
	struct ops o = {.t = t, .clocks = aif_facts_none()};
	struct aif_page_events events = {
		.at = op_at, .arg = &o, .whole = t->whole, .whole_len = t->whole_len};
	struct aif_page_bars bars = {0};
	int r = aif_timeline_get(t->names->p, &o.clocks);

	if (!r)
		r = aif_profile_ops(t->names->p, ops_take, &o, NULL);
	lanes_give(&o);
	if (!r)
		r = lanes_sort(&o);
	events.len = o.op_len;
	if (!r)
		r = aif_page_bars_write(&events, o.lanes, AIF_PAGE_OPS_MAX, "o_", t->columns,
					&bars);
	if (!r)
		aif_page_bars_say(t, "o", &bars, o.op_len);
	aif_facts_put(o.clocks);
	free(o.op);
	free(o.order);
	return r;
}

/* ---- samples ------------------------------------------------------------------------------------- */

static int by_thread(const void *pa, const void *pb)
{
	const struct aif_page_sample *a = pa, *b = pb;

	return AIF_ORDER(a->thread, b->thread) ?: AIF_ORDER(a->at, b->at);
}

/* Writes samples; of too many each k-th of a thread's. */
static int samples_write(struct aif_page_timeline *t)
{
	struct aif_page_sample *s = t->groups->samples;
	size_t n = t->groups->samples_len, kept = 0, every = n / AIF_PAGE_STACKS_MAX + 1, nth = 0;
	uint64_t *gap = malloc((n + 1) * sizeof(*gap)), *group = malloc((n + 1) * sizeof(*group));
	uint32_t *counts = NULL;
	int64_t last = 0;
	int r = gap && group ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < n; i++) {
		s[i].thread = aif_page_thread(t, s[i].thread);
		s[i].at = AIF_MAX(s[i].at, 0);
	}
	if (!r && n)
		qsort(s, n, sizeof(*s), by_thread);
	counts = calloc(t->threads_len + 1, sizeof(*counts));
	r = counts ? r : -ENOMEM;
	for (size_t i = 0; !r && i < n; i++) {
		if (i && s[i].thread != s[i - 1].thread)
			nth = 0;
		if (s[i].thread == AIF_NONE || nth++ % every)
			continue;
		if (!counts[s[i].thread]++)
			last = 0;
		gap[kept] = (uint64_t)(s[i].at - last);
		last = s[i].at;
		group[kept++] = s[i].group;
	}
	if (!r) {
		aif_page_varint(t->columns, "s_gap", gap, kept);
		aif_page_varint(t->columns, "s_group", group, kept);
		aif_page_u32(t->columns, "s_of", counts, t->threads_len);
		aif_buf_printf(t->json, ",\"s\":{\"events\":%zu,\"every\":%zu}", n, every);
	}
	free(gap);
	free(group);
	free(counts);
	return r;
}

int aif_page_timeline_threads(struct aif_page_timeline *t)
{
	int r = ops_write(t);

	return r ? r : samples_write(t);
}
