/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up what operators allocated and released, as torch's table has it: an event belongs to the innermost operator,
 * range or call that its thread was in. What the runtime gives to an allocator that says what it hands out is not
 * counted again. */
#include "analysis/op_tree.h"

#include "analysis/facts.h"
#include "analysis/time.h"
#include "profile/file.h"

#include <errno.h>
#include <string.h>

struct moment {
	int64_t at, bytes;
	uint64_t of; /* process << 32 | device */
	uint32_t thread, order;
	bool is_host, is_summed; /* the allocator says what it has in all */
};

struct reading {
	const struct aif_profile *p;
	const struct aif_selection *sel;
	const struct aif_timeline *timeline;
	AIF_TABLE(moment, moments);
	struct aif_map summed; /* of process and device: an allocator says what it has */
};

static int take(void *arg, const struct aif_memory_row *rows, size_t n)
{
	struct reading *r = arg;
	const struct aif_selection *w = r->sel;

	if (r->moments_len + n >= AIF_NONE ||
	    aif_grow(&r->moments, &r->moments_cap, r->moments_len + n, sizeof(*r->moments)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct aif_memory_row *row = &rows[i];
		uint32_t process =
			row->thread == AIF_NONE ? AIF_NONE : r->p->threads[row->thread].process;
		int64_t at = aif_timeline_map(r->timeline, AIF_CLOCK_MONOTONIC, process, row->time,
					      NULL),
			bytes = (int64_t)AIF_MIN(row->bytes, (uint64_t)INT64_MAX);

		if (row->device != AIF_NONE && w && !aif_selection_keeps(w->devices, row->device))
			continue;
		if ((w && (!aif_selection_keeps(w->processes, process) ||
			   !aif_selection_keeps_moment(w, row->thread, at))) ||
		    !aif_timed_in_span(w, at))
			continue;
		r->moments[r->moments_len] =
			(struct moment){.at = at,
					.bytes = row->kind == AIF_MEMORY_RELEASE ? -bytes : bytes,
					.thread = row->thread,
					.order = (uint32_t)r->moments_len,
					.of = (uint64_t)process << 32 | row->device,
					.is_summed = row->allocated != AIF_MEMORY_UNKNOWN,
					.is_host = row->device == AIF_NONE};
		if (r->moments[r->moments_len].is_summed &&
		    aif_map_put(&r->summed, r->moments[r->moments_len].of, 1) < 0)
			return -ENOMEM;
		r->moments_len++;
	}
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->at, y->at)
	       ?: AIF_ORDER(x->order, y->order);
}

/* Sums wrap, as those of a hostile file may. */
static void add(int64_t *sum, int64_t bytes)
{
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)bytes);
}

static void place(struct aif_op_tree *t, const struct moment *m, uint32_t op)
{
	struct aif_op_memory *sums = &t->memory_outside;

	if (op != AIF_NONE && t->ops[op].twin != AIF_NONE)
		op = t->ops[op].twin;
	if (op != AIF_NONE)
		sums = &t->memory[op].own;
	else
		t->allocations_outside++;
	add(m->is_host ? &sums->host : &sums->device, m->bytes);
	t->has_memory = true;
	t->has_device_memory |= !m->is_host;
}

/* Places moments in operators, both in the order of thread and time. */
static int place_all(struct aif_op_tree *t, const struct reading *r)
{
	uint32_t *open = malloc(AIF_MAX(t->len, 1) * sizeof(*open));
	size_t depth = 0, next = 0;
	uint64_t any;

	t->memory = calloc(AIF_MAX(t->len, 1), sizeof(*t->memory));
	if (!open || !t->memory) {
		free(open);
		return -ENOMEM;
	}
	for (size_t i = 0; i < r->moments_len; i++) {
		const struct moment *m = &r->moments[i];

		if (!i || r->moments[i - 1].thread != m->thread)
			depth = 0;
		for (; next < t->len; next++) {
			const struct aif_op *o = &t->ops[next];

			if (o->thread > m->thread || (o->thread == m->thread && o->start > m->at))
				break;
			if (o->thread < m->thread)
				continue;
			while (depth && t->ops[open[depth - 1]].end <= o->start)
				depth--;
			open[depth++] = (uint32_t)next;
		}
		while (depth && t->ops[open[depth - 1]].end < m->at)
			depth--;
		if (!m->is_summed && aif_map_get(&r->summed, m->of, &any))
			continue;
		place(t, m, depth && m->thread != AIF_NONE ? open[depth - 1] : AIF_NONE);
	}
	free(open);
	return 0;
}

int aif_op_tree_add_memory(struct aif_op_tree *t, const struct aif_profile *p,
			   const struct aif_selection *sel)
{
	struct reading r = {.p = p, .sel = sel};
	uint64_t damaged = 0;
	int e = aif_timeline_get(p, &r.timeline);

	if (!e)
		e = aif_profile_memory(p, take, &r, &damaged);
	t->damaged += damaged;
	if (!e && r.moments_len) {
		qsort(r.moments, r.moments_len, sizeof(*r.moments), by_place);
		e = place_all(t, &r);
	}
	/* Children come after their parents. */
	for (size_t i = t->len; i-- > 0 && !e && t->has_memory;) {
		const struct aif_op *o = &t->ops[i];
		struct aif_op_memories *m = &t->memory[i];

		if (o->twin != AIF_NONE)
			continue;
		add(&m->all.host, m->own.host);
		add(&m->all.device, m->own.device);
		if (o->parent == AIF_NONE)
			continue;
		add(&t->memory[o->parent].all.host, m->all.host);
		add(&t->memory[o->parent].all.device, m->all.device);
	}
	aif_facts_put(r.timeline);
	free(r.moments);
	aif_map_finish(&r.summed);
	return e;
}
