/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/backward.h"

#include "import/kineto/nesting.h"

#include <errno.h>
#include <string.h>

/* Prefix of the engine's work for a node: the node, and adding up of gradients behind it. */
#define ENGINE "autograd::engine::evaluate_function: "
/* A node that has no operator. */
#define ACCUMULATE "AccumulateGrad"
#define MARK       AIF_BACKWARD_MARK " "

static const char *name_of(const struct kineto *k, uint32_t span, size_t *len)
{
	return aif_strset_get(&k->names.texts, k->spans[span].name, len);
}

/* *ret: of the node that the engine evaluates in this span. */
static bool is_engine(const struct kineto *k, uint32_t span, const char **ret, size_t *ret_len)
{
	size_t len, before = strlen(ENGINE);
	const char *name = name_of(k, span, &len);

	if (k->spans[span].class != KINETO_OP || len <= before || memcmp(name, ENGINE, before))
		return false;
	*ret = name + before;
	*ret_len = len - before;
	return true;
}

/* Does the engine evaluate this node in that span? */
static bool is_engine_of(const struct kineto *k, uint32_t span, uint32_t node)
{
	size_t len, node_len;
	const char *evaluated, *name = name_of(k, node, &node_len);

	return is_engine(k, span, &evaluated, &len) && len == node_len &&
	       !memcmp(evaluated, name, len);
}

/* ---- pairs --------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
	const struct kineto_arrow *x = a, *y = b;

	return AIF_ORDER(x->id, y->id) ?: AIF_ORDER(x->is_end, y->is_end)
	       ?: AIF_ORDER(x->at, y->at);
}

static int by_place(const void *a, const void *b)
{
	const struct kineto_arrow *x = a, *y = b;

	return AIF_ORDER(x->thread, y->thread) ?: AIF_ORDER(x->at, y->at) ?: by_id(a, b);
}

static bool has_number(const struct kineto *k, const struct kineto_span *s)
{
	return s->class == KINETO_OP && s->ref != AIF_NONE && k->ops[s->ref].sequence >= 0;
}

/* Returns the last arrow that began, if all are on one thread; else NULL. */
static const struct kineto_arrow *last_of(const struct kineto_arrow *a, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (a[i].thread != a[0].thread)
			return NULL;
	return n ? &a[n - 1] : NULL;
}

/* Traces of 2021 have autograd's numbers and no arrows, which Kineto later made from them: from the operator that had a
 * number last, which is the innermost, to the node that has it. Each thread counts for itself: numbers that two threads
 * have say nothing. 0 or -ENOMEM. */
static int arrows_by_number(struct kineto *k)
{
	struct kineto_arrow *a;
	size_t kept = 0;

	for (size_t i = 0; i < k->spans_len; i++) {
		const struct kineto_span *s = &k->spans[i];

		if (!has_number(k, s))
			continue;
		if (aif_grow(&k->backward.arrows, &k->backward.arrows_cap,
			     k->backward.arrows_len + 1, sizeof(*a)) < 0)
			return -ENOMEM;
		k->backward.arrows[k->backward.arrows_len++] =
			(struct kineto_arrow){.at = s->start,
					      .id = (uint64_t)k->ops[s->ref].sequence,
					      .thread = s->thread,
					      .is_end = k->ops[s->ref].is_backward};
	}
	a = k->backward.arrows;
	if (k->backward.arrows_len)
		qsort(a, k->backward.arrows_len, sizeof(*a), by_id);
	for (size_t i = 0, mid, end; i < k->backward.arrows_len; i = end) {
		struct kineto_arrow pair[2];
		const struct kineto_arrow *from, *to;

		for (mid = i;
		     mid < k->backward.arrows_len && a[mid].id == a[i].id && !a[mid].is_end;)
			mid++;
		for (end = mid; end < k->backward.arrows_len && a[end].id == a[i].id;)
			end++;
		from = last_of(a + i, mid - i);
		to = last_of(a + mid, end - mid);
		if (!from || !to)
			continue;
		pair[0] = *from;
		pair[1] = *to;
		a[kept++] = pair[0];
		a[kept++] = pair[1];
	}
	k->backward.arrows_len = kept;
	return 0;
}

/* Leaves those that have a beginning and an end, numbered from 0. Returns how many pairs there are. */
static size_t pair(struct kineto *k)
{
	struct kineto_arrow *a = k->backward.arrows;
	size_t kept = 0, pairs = 0;

	qsort(a, k->backward.arrows_len, sizeof(*a), by_id);
	for (size_t i = 0, end; i < k->backward.arrows_len; i = end) {
		for (end = i; end < k->backward.arrows_len && a[end].id == a[i].id;)
			end++;
		if (a[i].is_end || !a[end - 1].is_end)
			continue;
		/* A number that was used twice says nothing. */
		if (end - i != 2)
			continue;
		a[i].id = a[i + 1].id = pairs++;
		a[kept++] = a[i];
		a[kept++] = a[i + 1];
	}
	k->counts.not_kept_flows += k->backward.arrows_len - kept;
	k->backward.arrows_len = kept;
	return pairs;
}

/* ---- what begins where an arrow does ---------------------------------------------------------------- */

struct finder {
	struct kineto_nesting w;
	uint32_t *forwards; /* stacks, by pair; AIF_NONE */
	size_t arrow, joins_cap;
	uint32_t starts,
		ends; /* of the spans that begin now: what arrows here start from and lead to */
};

/* The spans that begin with the one at `at`, outermost first. An arrow starts from the innermost that makes a node, which
 * has a sequence number, and leads to the outermost that is one. */
static void choose(struct finder *f, uint32_t at)
{
	const struct kineto *k = f->w.k;
	const struct kineto_span *first = &k->spans[k->order[at]];

	f->starts = f->ends = AIF_NONE;
	for (; at < k->spans_len; at++) {
		uint32_t span = k->order[at];
		const struct kineto_span *s = &k->spans[span];
		const char *node;
		size_t len;

		if (s->thread != first->thread || s->start != first->start)
			return;
		if (s->class != KINETO_OP)
			continue;
		if (f->starts == AIF_NONE || has_number(k, s))
			f->starts = at;
		if (f->ends == AIF_NONE && !is_engine(k, span, &node, &len))
			f->ends = at;
	}
}

/* The forward's stack: to its innermost Python function, or to the operator. */
static uint32_t forward_stack(struct kineto_nesting *w)
{
	size_t depth = w->len;

	while (depth && w->k->spans[w->levels[depth - 1].span].class != KINETO_PYTHON)
		depth--;
	return kineto_nesting_stack(w, KINETO_STACK_AS_IT_WAS, depth ? depth : w->len);
}

/* The node that was entered last, or what the engine does for it. */
static int join_add(struct finder *f, const struct kineto_arrow *a)
{
	struct kineto *k = f->w.k;
	const struct kineto_level *node = &f->w.levels[f->w.len - 1];
	struct kineto_join j = {.at = node->at,
				.pair = (uint32_t)a->id,
				.name = k->spans[node->span].name,
				.stack = AIF_NONE};

	if (f->w.len > 1 && is_engine_of(k, node[-1].span, node->span))
		j.at = node[-1].at;
	if (aif_grow(&k->backward.joins, &k->backward.joins_cap, k->backward.joins_len + 1,
		     sizeof(j)) < 0)
		return -ENOMEM;
	k->backward.joins[k->backward.joins_len++] = j;
	return 0;
}

static int arrows_here(struct finder *f, uint32_t at)
{
	const struct kineto *k = f->w.k;
	const struct kineto_span *s = &k->spans[k->order[at]];
	int r = 0;

	if (at != f->starts && at != f->ends)
		return 0;
	for (size_t i = f->arrow; i < k->backward.arrows_len && !r; i++) {
		const struct kineto_arrow *a = &k->backward.arrows[i];

		if (a->thread != s->thread || a->at != s->start)
			break;
		if (a->is_end && at == f->ends)
			r = join_add(f, a);
		else if (!a->is_end && at == f->starts)
			f->forwards[a->id] = forward_stack(&f->w);
	}
	return r;
}

static int walk(struct finder *f)
{
	struct kineto *k = f->w.k;
	const struct kineto_span *before = NULL;
	int r = 0;

	for (uint32_t i = 0; i < k->spans_len && f->arrow < k->backward.arrows_len && !r; i++) {
		const struct kineto_span *s = &k->spans[k->order[i]];
		bool is_new = !before || s->thread != before->thread;

		if (is_new)
			kineto_nesting_clear(&f->w);
		if (is_new || s->start != before->start)
			choose(f, i);
		before = s;
		while (f->arrow < k->backward.arrows_len &&
		       (k->backward.arrows[f->arrow].thread < s->thread ||
			(k->backward.arrows[f->arrow].thread == s->thread &&
			 k->backward.arrows[f->arrow].at < s->start)))
			f->arrow++;
		if (f->arrow == k->backward.arrows_len ||
		    k->backward.arrows[f->arrow].thread != s->thread)
			continue;
		kineto_nesting_drop(&f->w, s->start);
		if (kineto_nesting_push(&f->w, i))
			r = arrows_here(f, i);
	}
	return r;
}

/* ---- joins --------------------------------------------------------------------------------------- */

static uint32_t mark_frame(struct kineto *k, uint32_t name)
{
	struct aif_frame frame = {.kind = AIF_FRAME_MARK, .module = AIF_NONE};
	struct aif_buf text = {0};
	size_t len;
	const char *node = aif_strset_get(&k->names.texts, name, &len);

	aif_buf_puts(&text, MARK);
	aif_buf_append(&text, node, len);
	frame.address = aif_builder_str(k->b, text.data, text.len);
	k->b->failed |= aif_buf_failed(&text);
	aif_buf_finish(&text);
	return aif_builder_frame(k->b, &frame);
}

static int by_at(const void *a, const void *b)
{
	const struct kineto_join *x = a, *y = b;

	return AIF_ORDER(x->at, y->at) ?: AIF_ORDER(x->pair, y->pair);
}

static void finish(struct finder *f, size_t pairs)
{
	struct kineto *k = f->w.k;
	size_t n = 0;

	for (size_t i = 0; i < k->backward.joins_len; i++) {
		struct kineto_join j = k->backward.joins[i];

		if (f->forwards[j.pair] == AIF_NONE)
			continue;
		j.stack = aif_builder_stack(k->b, f->forwards[j.pair], mark_frame(k, j.name), 0);
		k->backward.joins[n++] = j;
	}
	k->backward.joins_len = n;
	if (n)
		qsort(k->backward.joins, n, sizeof(*k->backward.joins), by_at);
	k->counts.not_kept_flows += 2 * (pairs - AIF_MIN(n, pairs));
}

int kineto_backward_find(struct kineto *k)
{
	struct finder f = {.starts = AIF_NONE, .ends = AIF_NONE};
	uint64_t partial = k->counts.partial, too_deep = k->counts.too_deep, not_kept;
	bool is_by_number = !k->backward.arrows_len && k->backward.has_nodes;
	size_t pairs;
	int r = is_by_number ? arrows_by_number(k) : 0;

	not_kept = k->counts.not_kept_flows;
	pairs = k->backward.arrows_len ? pair(k) : 0;
	if (!pairs)
		return r;
	qsort(k->backward.arrows, k->backward.arrows_len, sizeof(*k->backward.arrows), by_place);
	f.forwards = malloc(pairs * sizeof(*f.forwards));
	r = f.forwards && !r ? kineto_nesting_init(&f.w, k) : -ENOMEM;
	if (!r) {
		memset(f.forwards, 0xff, pairs * sizeof(*f.forwards));
		r = walk(&f);
	}
	if (!r)
		finish(&f, pairs);
	kineto_nesting_finish(&f.w);
	free(f.forwards);
	free(k->backward.arrows);
	k->backward.arrows = NULL;
	k->backward.arrows_len = k->backward.arrows_cap = 0;
	if (is_by_number) /* they are no arrows of the file */
		k->counts.not_kept_flows = not_kept;
	/* Restores the counts of partial and too deep spans: those are counted when the rows are
	 * made. */
	k->counts.partial = partial;
	k->counts.too_deep = too_deep;
	return r;
}

/* AccumulateGrad as traces of 2021 have it: without what the engine does around it. */
static bool is_bare_accumulate(const struct kineto_nesting *w)
{
	const struct kineto *k = w->k;
	size_t len, end = strlen(ACCUMULATE);
	const char *node = name_of(k, w->levels[w->len - 1].span, &len);

	if (len < end || memcmp(node + len - end, ACCUMULATE, end))
		return false;
	for (size_t i = 0; i + 1 < w->len; i++)
		if (w->levels[i].is_node || is_engine(k, w->levels[i].span, &node, &len))
			return false;
	return true;
}

void kineto_backward_enter(struct kineto_nesting *w, struct kineto_engine *e)
{
	struct kineto *k = w->k;
	const struct kineto_level *top = &w->levels[w->len - 1];
	const char *node;
	size_t len;

	if (k->spans[top->span].thread != e->thread) {
		e->thread = k->spans[top->span].thread;
		e->last = AIF_NONE;
	}
	while (e->next < k->backward.joins_len && k->backward.joins[e->next].at < top->at)
		e->next++;
	if (e->next < k->backward.joins_len && k->backward.joins[e->next].at == top->at) {
		e->last = k->backward.joins[e->next].stack;
		kineto_nesting_set(w, e->last);
		k->backward.nodes[KINETO_BACKWARD_JOINED]++;
	} else if (w->len > 1 && top[-1].is_node && is_engine_of(k, top[-1].span, top->span)) {
		/* The mark has the node's name. */
		node = name_of(k, top->span, &len);
		if (!memmem(node, len, ACCUMULATE, strlen(ACCUMULATE)))
			kineto_nesting_set(w, top[-1].stacks[KINETO_STACK_JOINED]);
	} else if (is_engine(k, top->span, &node, &len)) {
		if (e->last != AIF_NONE && memmem(node, len, ACCUMULATE, strlen(ACCUMULATE))) {
			kineto_nesting_set(w, e->last);
			k->backward.nodes[KINETO_BACKWARD_ADDED]++;
		} else {
			k->backward.nodes[KINETO_BACKWARD_ALONE]++;
		}
	} else if (is_bare_accumulate(w)) {
		if (e->last != AIF_NONE) {
			const struct kineto_span *s = &k->spans[top->span];

			kineto_nesting_set(w, aif_builder_stack(k->b, e->last,
								kineto_frame(k, s->name, s->class),
								0));
			k->backward.nodes[KINETO_BACKWARD_ADDED]++;
		} else {
			k->backward.nodes[KINETO_BACKWARD_ALONE]++;
		}
	}
}

void kineto_backward_finish(struct kineto_backward *b)
{
	free(b->arrows);
	free(b->joins);
}
