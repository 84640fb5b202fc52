/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/op_tree.h"
#include "analysis/sole_threads.h"
#include "base/sort.h"

#include <errno.h>

/* A launch that is in none of its own thread's, while one other thread of its process is in one. */
struct call {
	int64_t at;
	uint32_t process, launch;
	uint32_t thread; /* which is in one */
};

struct others {
	const struct aif_profile *p;
	struct aif_op_tree *tree;
	uint32_t kind;
	struct aif_sole_threads inside;
	struct call *calls; /* few, mostly none */
	size_t calls_len, calls_cap;
	uint32_t *
		around; /* by operator: the innermost one of the kind that it is or is in, AIF_NONE */
	uint32_t *of; /* by launch: the one of another thread, AIF_NONE; NULL: there are no calls */
};

static uint32_t process_of(const struct others *o, uint32_t thread)
{
	return thread == AIF_NONE ? AIF_NONE : o->p->threads[thread].process;
}

static int by_time(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return AIF_ORDER(x->process, y->process) ?: AIF_ORDER(x->at, y->at)
	       ?: AIF_ORDER(x->launch, y->launch);
}

static int by_thread(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: by_time(a, b);
}

/* Operators are by thread and start. */
static int find_inside(struct others *o)
{
	const struct aif_op_tree *t = o->tree;
	int r = 0;

	for (size_t i = 0; i < t->len && !r; i++) {
		const struct aif_op *op = &t->ops[i];
		bool is_kind = o->kind == AIF_OP_STEP ? op->is_step : op->kind == o->kind;
		bool is_one = is_kind && op->twin == AIF_NONE;

		o->around[i] = is_one                   ? (uint32_t)i
			       : op->twin != AIF_NONE   ? o->around[op->twin]
			       : op->parent == AIF_NONE ? AIF_NONE
							: o->around[op->parent];
		if (is_one && op->thread != AIF_NONE)
			r = aif_sole_threads_add(&o->inside, process_of(o, op->thread), op->thread,
						 op->start, op->end);
	}
	if (!r)
		aif_sole_threads_ready(&o->inside);
	return r;
}

static int find_calls(struct others *o, const struct aif_exec_timeline *t)
{
	for (uint32_t i = 0; i < t->launches_len; i++) {
		const struct aif_timeline_launch *l = &t->launches[i];
		uint32_t op = o->tree->of_launch[i];
		uint32_t by = aif_timeline_call_of(t, l)->thread, process, thread;

		if (by == AIF_NONE || (op != AIF_NONE && o->around[op] != AIF_NONE))
			continue;
		process = process_of(o, by);
		thread = aif_sole_threads_at(&o->inside, process, l->at);
		if (thread == AIF_NONE)
			continue;
		if (aif_grow(&o->calls, &o->calls_cap, o->calls_len + 1, sizeof(*o->calls)) < 0)
			return -ENOMEM;
		o->calls[o->calls_len++] = (struct call){l->at, process, i, thread};
	}
	return 0;
}

/* Both in the order of thread and time, as place_launches() of op_tree.c. */
static int place(struct others *o)
{
	const struct aif_op_tree *t = o->tree;
	uint32_t *open = malloc(AIF_MAX(t->len, 1) * sizeof(*open));
	size_t depth = 0, next = 0;

	if (!open)
		return -ENOMEM;
	for (size_t i = 0; i < o->calls_len; i++) {
		const struct call *c = &o->calls[i];

		if (!i || c->thread != c[-1].thread)
			depth = 0;
		for (; next < t->len; next++) {
			const struct aif_op *op = &t->ops[next];

			if (op->thread > c->thread ||
			    (op->thread == c->thread && op->start > c->at))
				break;
			if (op->thread < c->thread || o->around[next] != next)
				continue;
			while (depth && t->ops[open[depth - 1]].end <= op->start)
				depth--;
			open[depth++] = (uint32_t)next;
		}
		while (depth && t->ops[open[depth - 1]].end <= c->at)
			depth--;
		if (depth)
			o->of[c->launch] = open[depth - 1];
	}
	free(open);
	return 0;
}

static int find(struct others *o, const struct aif_exec_timeline *t)
{
	size_t n = AIF_MAX(o->tree->len, 1);
	int r;

	o->around = malloc(n * sizeof(*o->around));
	o->tree->others = calloc(n, sizeof(*o->tree->others));
	if (!o->around || !o->tree->others)
		return -ENOMEM;
	r = find_inside(o);
	if (!r && o->inside.moments_len)
		r = find_calls(o, t);
	if (r || !o->calls_len)
		return r;
	aif_sort(o->calls, o->calls_len, sizeof(*o->calls), by_thread);
	o->of = malloc(t->launches_len * sizeof(*o->of));
	if (!o->of)
		return -ENOMEM;
	for (size_t i = 0; i < t->launches_len; i++)
		o->of[i] = AIF_NONE;
	return place(o);
}

int aif_op_tree_add_others(struct aif_op_tree *tree, const struct aif_profile *p,
			   const struct aif_exec_timeline *t, uint32_t kind,
			   bool (*keep)(const void *arg, const struct aif_timeline_exec *x),
			   const void *arg)
{
	struct others o = {.p = p, .tree = tree, .kind = kind};
	int r = find(&o, t);

	for (size_t i = 0; i < t->execs_len && o.of && !r; i++) {
		const struct aif_timeline_exec *x = &t->execs[i];
		uint32_t op = x->launch == AIF_NONE ? AIF_NONE : o.of[x->launch];

		if (op == AIF_NONE || (keep && !keep(arg, x)))
			continue;
		tree->others[op].ns += aif_op_tree_device_ns(t, x);
		tree->others[op].launches++;
	}
	/* Children come after their parents. */
	for (size_t i = tree->len; i-- > 0 && !r;) {
		uint32_t parent = tree->ops[i].parent;

		if (parent == AIF_NONE)
			continue;
		tree->others[parent].ns += tree->others[i].ns;
		tree->others[parent].launches += tree->others[i].launches;
	}
	aif_sole_threads_finish(&o.inside);
	free(o.around);
	free(o.calls);
	tree->of_other = o.of;
	return r;
}
