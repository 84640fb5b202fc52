/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/op_tree.h"

#include "base/sort.h"
#include "profile/file.h"
#include "analysis/step_names.h"
#include "analysis/facts.h"
#include "analysis/time.h"
#include "analysis/weights.h"

#include <errno.h>
#include <string.h>

/* Operators of profilers themselves; torch leaves the same out of its table. */
static const char *const left_out[] = {
	"[memory]",
	"[OutOfMemory]",
	"profiler::_record_function_enter",
	"profiler::_record_function_enter_new",
	"profiler::_record_function_exit",
	"aten::is_leaf",
	"aten::output_nr",
	"aten::_version",
};

struct reading {
	const struct aif_profile *p;
	const struct aif_selection *sel;
	const struct aif_timeline *timeline;
	uint32_t left_out[AIF_ARRAY_LEN(left_out)]; /* strings */
	struct aif_op_rows *to;
	struct aif_step_names steps;
};

static bool is_counted(const struct reading *r, const struct aif_op_row *row)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(left_out); i++)
		if (row->name == r->left_out[i] && row->name != AIF_NONE)
			return false;
	return row->kind && row->kind < AIF_OP_KIND_COUNT && row->kind != AIF_OP_PYTHON;
}

static int take_ops(void *arg, const struct aif_op_row *rows, size_t n)
{
	struct reading *r = arg;
	const struct aif_selection *w = r->sel;
	struct aif_op_rows *t = r->to;

	if (t->len + n >= AIF_NONE || aif_grow(&t->at, &t->cap, t->len + n, sizeof(*t->at)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct aif_op_row *row = &rows[i];
		uint32_t process =
			row->thread == AIF_NONE ? AIF_NONE : r->p->threads[row->thread].process;
		int64_t start, end;
		uint32_t order;

		if (!is_counted(r, row))
			continue;
		t->any = true;
		t->has_operators |= row->kind == AIF_OP_OPERATOR;
		/* The agent gives them no numbers. */
		t->has_some_operators |=
			row->kind == AIF_OP_OPERATOR && !row->id && !r->p->traits.is_imported;
		aif_step_names_see(&r->steps, row);
		if (w && (!aif_selection_keeps(w->processes, process) ||
			  !aif_selection_keeps(w->threads, row->thread)))
			continue;
		start = aif_timeline_map(r->timeline, row->clock, process, row->start, NULL);
		end = aif_timeline_map(r->timeline, row->clock, process, row->end, NULL);
		if (!aif_timed_in_span(w, start) ||
		    (w && w->in_ranges && !aif_range_index_keeps(w->ranges, row->thread, start)))
			continue;
		order = (uint32_t)t->len;
		t->at[t->len++] =
			(struct aif_op){.start = start,
					.end = AIF_MAX(start, end),
					.parent = AIF_NONE,
					.thread = row->thread,
					.name = row->name,
					.kind = (uint8_t)row->kind,
					.is_step = row->kind == AIF_OP_STEP,
					.shapes = row->shapes,
					.types = row->types,
					.stack = row->stack,
					.twin = order}; /* for the sorting: as they came */
	}
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct aif_op *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->start, y->start)
	       ?: AIF_ORDER(y->end, x->end) ?: AIF_ORDER(x->twin, y->twin);
}

/* Chunks have a second of each thread in turns. So with each thread's rows taken together, in the order of the
 * file, they are in order but for few, which are near their places: a second's edge, or equal starts. */
static int gather_threads(struct aif_op_rows *t, size_t threads)
{
	size_t *next = calloc(threads + 2, sizeof(*next)); /* unknown threads come last */
	struct aif_op *to = malloc(AIF_MAX(t->len, 1) * sizeof(*to));

	if (!next || !to) {
		free(next);
		free(to);
		return -ENOMEM;
	}
	for (size_t i = 0; i < t->len; i++)
		next[AIF_MIN(t->at[i].thread, threads) + 1]++;
	for (size_t i = 1; i <= threads; i++)
		next[i + 1] += next[i];
	for (size_t i = 0; i < t->len; i++)
		to[next[AIF_MIN(t->at[i].thread, threads)]++] = t->at[i];
	free(next);
	free(t->at);
	t->at = to;
	t->cap = t->len;
	return 0;
}

static bool is_sorted(const struct aif_op_rows *t)
{
	for (size_t i = 1; i < t->len; i++)
		if (by_place(&t->at[i - 1], &t->at[i]) > 0)
			return false;
	return true;
}

/* Sorts by insertion, as long as that moves less than a sort would. False: it moves more. */
static bool sort_few(struct aif_op_rows *t)
{
	size_t moves = 0;

	for (size_t i = 1; i < t->len; i++) {
		struct aif_op o;
		size_t at = i;

		if (by_place(&t->at[i - 1], &t->at[i]) <= 0)
			continue;
		o = t->at[i];
		for (; at && by_place(&t->at[at - 1], &o) > 0 && moves <= 4 * t->len; moves++) {
			t->at[at] = t->at[at - 1];
			at--;
		}
		t->at[at] = o;
		if (moves > 4 * t->len)
			return false;
	}
	return true;
}

static int sort_ops(struct aif_op_rows *t, size_t threads)
{
	if (!is_sorted(t)) {
		if (gather_threads(t, threads) < 0)
			return -ENOMEM;
		if (!sort_few(t))
			aif_sort(t->at, t->len, sizeof(*t->at), by_place);
	}
	for (size_t i = 0; i < t->len; i++)
		t->at[i].twin = AIF_NONE;
	return 0;
}

/* Ranges that are steps by their names, where the program marks none. */
static void find_steps(const struct aif_step_names *names, struct aif_op_rows *t)
{
	for (size_t i = 0; i < t->len && aif_step_names_any(names); i++)
		t->at[i].is_step |=
			t->at[i].kind == AIF_OP_RANGE && aif_step_names_is(names, t->at[i].name);
}

/* ---- parents --------------------------------------------------------------------------------- */

static int find_parents(struct aif_op_rows *t)
{
	uint32_t *open = malloc(AIF_MAX(t->len, 1) * sizeof(*open));
	size_t depth = 0;

	if (!open)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->len; i++) {
		struct aif_op *o = &t->at[i];

		if (i && t->at[i - 1].thread != o->thread)
			depth = 0;
		while (depth) {
			const struct aif_op *above = &t->at[open[depth - 1]];

			if (o->start < above->end && o->end <= above->end)
				break;
			depth--;
		}
		if (depth)
			o->parent = open[depth - 1];
		open[depth++] = i;
	}
	free(open);
	return 0;
}

/* Parents come first: when a row is looked at, its parent has all of its children counted, and is no twin's. */
static int join_twins(struct aif_op_rows *t)
{
	uint32_t *children = calloc(AIF_MAX(t->len, 1), sizeof(*children));

	if (!children)
		return -ENOMEM;
	for (size_t i = 0; i < t->len; i++)
		if (t->at[i].parent != AIF_NONE)
			children[t->at[i].parent]++;
	for (size_t i = 0; i < t->len; i++) {
		struct aif_op *o = &t->at[i], *parent;

		if (o->parent == AIF_NONE)
			continue;
		if (t->at[o->parent].twin != AIF_NONE)
			o->parent = t->at[o->parent].twin;
		parent = &t->at[o->parent];
		if (parent->name == o->name && children[o->parent] == 1) {
			o->twin = o->parent;
			children[o->parent] = children[i];
		}
	}
	free(children);
	return 0;
}

/* ---- the operators of a part ------------------------------------------------------------------ */

static int make(const struct aif_profile *p, const struct aif_fact_of *of, void *value,
		struct aif_err *err)
{
	struct reading r = {.p = p, .sel = of->sel, .to = value};
	int e;

	(void)err;
	for (size_t i = 0; i < AIF_ARRAY_LEN(left_out); i++)
		r.left_out[i] = aif_strset_find(&p->strings, left_out[i], strlen(left_out[i]));
	e = aif_timeline_get(p, &r.timeline);
	if (!e)
		e = aif_step_names_init(&r.steps, p);
	if (!e)
		e = aif_profile_ops(p, take_ops, &r, &r.to->damaged);
	aif_facts_put(r.timeline);
	if (!e)
		find_steps(&r.steps, r.to);
	aif_step_names_finish(&r.steps);
	if (!e)
		e = sort_ops(r.to, p->threads_len);
	if (!e)
		e = find_parents(r.to);
	return e ? e : join_twins(r.to);
}

static void finish(void *value)
{
	free(((struct aif_op_rows *)value)->at);
}

static size_t bytes(const void *value)
{
	const struct aif_op_rows *t = value;

	return t->cap * sizeof(*t->at);
}

int aif_op_rows_get(const struct aif_profile *p, const struct aif_selection *sel,
		    const struct aif_op_rows **ret)
{
	static const struct aif_fact_kind kind = {.name = "operators",
						  .size = sizeof(struct aif_op_rows),
						  .make = make,
						  .finish = finish,
						  .bytes = bytes};
	const void *fact;
	int e = aif_facts_get(p, &kind, (struct aif_fact_of){.sel = sel}, &fact, NULL);

	*ret = fact;
	return e;
}

/* ---- launches -------------------------------------------------------------------------------- */

struct call {
	int64_t at;
	uint32_t thread, launch;
};

static int by_call(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->at, y->at)
	       ?: AIF_ORDER(x->launch, y->launch);
}

static struct call call_of(const struct aif_exec_timeline *t, size_t i)
{
	return (struct call){t->launches[i].at, aif_timeline_thread_of(t, i), (uint32_t)i};
}

/* True of one thread's launches, mostly: then no list of them is needed, which takes more memory than the tree. */
static bool are_launches_sorted(const struct aif_exec_timeline *t)
{
	for (size_t i = 1; i < t->launches_len; i++) {
		struct call before = call_of(t, i - 1), c = call_of(t, i);

		if (by_call(&before, &c) >= 0)
			return false;
	}
	return true;
}

/* Sets *ret to the launches by thread, in the order of launch numbers, which is that of time unless several count; NULL: they are in
 * order. 0 or -ENOMEM. */
static int sort_calls(const struct aif_exec_timeline *t, size_t threads, struct call **ret)
{
	struct call *calls;
	size_t *next;

	*ret = NULL;
	if (are_launches_sorted(t))
		return 0;
	*ret = calls = malloc(t->launches_len * sizeof(*calls));
	next = calloc(threads + 2, sizeof(*next));
	if (!calls || !next) {
		free(next);
		return -ENOMEM;
	}
	for (size_t i = 0; i < t->launches_len; i++)
		next[AIF_MIN(aif_timeline_thread_of(t, i), threads) + 1]++;
	for (size_t i = 1; i <= threads; i++)
		next[i + 1] += next[i];
	for (size_t i = 0; i < t->launches_len; i++)
		calls[next[AIF_MIN(aif_timeline_thread_of(t, i), threads)]++] = call_of(t, i);
	free(next);
	aif_sort(calls, t->launches_len, sizeof(*calls), by_call);
	return 0;
}

/* A runtime's call is no owner: who made it is. */
static bool is_owner(const struct aif_op *o, enum aif_op_owners owners)
{
	return o->kind == AIF_OP_OPERATOR ||
	       (owners == AIF_OWNERS_ALL && o->kind != AIF_OP_RUNTIME);
}

struct open_op {
	uint32_t op, owner;
};

static void place(struct aif_op_tree *t, const struct call *c, const struct open_op *in)
{
	uint32_t owner = in ? in->owner : AIF_NONE;

	if (owner != AIF_NONE && t->ops[owner].twin != AIF_NONE)
		owner = t->ops[owner].twin;
	t->of_launch[c->launch] = owner;
	t->calls[c->launch] = in && t->ops[in->op].kind == AIF_OP_RUNTIME ? in->op : AIF_NONE;
}

/* Both in the order of thread and time: one pass. */
static int place_launches(struct aif_op_tree *t, const struct aif_exec_timeline *timed,
			  size_t threads, enum aif_op_owners owners)
{
	struct call *calls;
	struct open_op *open = malloc(AIF_MAX(t->len, 1) * sizeof(*open));
	size_t depth = 0, next = 0;
	uint32_t thread = AIF_NONE;
	int r = sort_calls(timed, threads, &calls);

	r = open ? r : -ENOMEM;
	for (size_t i = 0; r == 0 && i < timed->launches_len; i++) {
		struct call of = calls ? calls[i] : call_of(timed, i), *c = &of;

		if (i == 0 || thread != c->thread)
			depth = 0;
		thread = c->thread;
		for (; next < t->len; next++) {
			const struct aif_op *o = &t->ops[next];
			uint32_t above;

			if (o->thread > c->thread || (o->thread == c->thread && o->start > c->at))
				break;
			if (o->thread < c->thread)
				continue;
			while (depth && t->ops[open[depth - 1].op].end <= o->start)
				depth--;
			above = depth ? open[depth - 1].owner : AIF_NONE;
			open[depth++] = (struct open_op){
				(uint32_t)next, is_owner(o, owners) ? (uint32_t)next : above};
		}
		while (depth && t->ops[open[depth - 1].op].end < c->at)
			depth--;
		place(t, c, depth && c->thread != AIF_NONE ? &open[depth - 1] : NULL);
	}
	free(calls);
	free(open);
	return r;
}

int aif_op_tree_make(const struct aif_profile *p, const struct aif_selection *sel,
		     const struct aif_exec_timeline *t, enum aif_op_owners owners,
		     struct aif_op_tree *ret)
{
	int e;

	*ret = (struct aif_op_tree){0};
	e = aif_op_rows_get(p, sel, &ret->rows);
	if (e)
		return e;
	ret->ops = ret->rows->at;
	ret->len = ret->rows->len;
	ret->damaged = ret->rows->damaged;
	ret->of_launch = malloc(AIF_MAX(t->launches_len, 1) * sizeof(*ret->of_launch));
	ret->calls = malloc(AIF_MAX(t->launches_len, 1) * sizeof(*ret->calls));
	if (!ret->of_launch || !ret->calls)
		return -ENOMEM;
	return place_launches(ret, t, p->threads_len,
			      ret->rows->has_operators ? owners : AIF_OWNERS_ALL);
}

void aif_op_tree_finish(struct aif_op_tree *t)
{
	aif_facts_put(t->rows);
	free(t->device);
	free(t->memory);
	free(t->of_launch);
	free(t->calls);
	free(t->others);
	free(t->of_other);
	*t = (struct aif_op_tree){0};
}

uint64_t aif_op_tree_device_ns(const struct aif_exec_timeline *t, const struct aif_timeline_exec *x)
{
	uint64_t weight = aif_timeline_weight_of(t, x);

	return weight == AIF_WEIGHT_ONE
		       ? aif_timed_ns(x)
		       : (uint64_t)((unsigned __int128)aif_timed_ns(x) * weight / AIF_WEIGHT_ONE);
}

int aif_op_tree_add_device(struct aif_op_tree *tree, const struct aif_exec_timeline *t,
			   bool (*keep)(const void *arg, const struct aif_timeline_exec *x),
			   const void *arg)
{
	struct aif_op_device *device = calloc(AIF_MAX(tree->len, 1), sizeof(*device));

	if (!device)
		return -ENOMEM;
	tree->device = device;
	for (size_t i = 0; i < t->execs_len && tree->len; i++) {
		uint32_t op = aif_op_tree_of(tree, &t->execs[i]);

		if (op == AIF_NONE || (keep && !keep(arg, &t->execs[i])))
			continue;
		device[op].ns += aif_op_tree_device_ns(t, &t->execs[i]);
		device[op].launches++;
	}
	/* Children come after their parents. */
	for (size_t i = tree->len; i-- > 0;) {
		const struct aif_op *o = &tree->ops[i];

		if (o->twin != AIF_NONE)
			continue;
		device[i].all_ns += device[i].ns;
		if (o->parent != AIF_NONE)
			device[o->parent].all_ns += device[i].all_ns;
	}
	return 0;
}
