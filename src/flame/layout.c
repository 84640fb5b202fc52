/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/layout.h"

#include "base/buf.h"

#include <errno.h>

int aif_flame_walk_next(struct aif_flame_walk *w, bool inside)
{
	const struct aif_tree_node *nodes = w->tree->nodes;
	struct aif_flame_box *at = &w->at;

	if (inside && nodes[at->node].first) {
		if (aif_grow(&w->starts, &w->starts_cap, at->depth + 1, sizeof(*w->starts)) < 0)
			return -ENOMEM;
		w->starts[at->depth++] = at->start;
		at->node = nodes[at->node].first;
		return 1;
	}
	while (at->node && !nodes[at->node].next) {
		at->node = nodes[at->node].parent;
		at->start = w->starts[--at->depth];
	}
	if (!at->node)
		return 0;
	at->start += nodes[at->node].total;
	at->node = nodes[at->node].next;
	return 1;
}

void aif_flame_walk_finish(struct aif_flame_walk *w)
{
	free(w->starts);
	w->starts = NULL;
	w->starts_cap = 0;
}

/* All boxes that are wide enough. */
static int boxes_collect(const struct aif_tree *t, uint64_t min_value, uint32_t max_depth,
			 struct aif_flame_layout *l)
{
	struct aif_flame_walk w = aif_flame_walk_begin(t);
	size_t cap = 0;
	bool is_wide;
	int r;

	do {
		is_wide = t->nodes[w.at.node].total >= min_value && w.at.depth < max_depth;
		if (is_wide && aif_grow(&l->boxes, &cap, l->len + 1, sizeof(*l->boxes)) < 0)
			r = -ENOMEM;
		else {
			if (is_wide)
				l->boxes[l->len++] = w.at;
			r = aif_flame_walk_next(&w, is_wide);
		}
	} while (r > 0);
	aif_flame_walk_finish(&w);
	return r;
}

struct by_width {
	uint64_t total;
	uint32_t depth, index;
};

/* Widest first. A caller is at least as wide as its callees and less deep, so that any first
 * part of this order has the callers of all that it has. */
static int by_width_compare(const void *pa, const void *pb)
{
	const struct by_width *a = pa, *b = pb;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static int boxes_limit(const struct aif_tree *t, size_t max, struct aif_flame_layout *l)
{
	struct by_width *order = malloc(l->len * sizeof(*order)), last;
	size_t kept = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->len; i++)
		order[i] =
			(struct by_width){t->nodes[l->boxes[i].node].total, l->boxes[i].depth, i};
	qsort(order, l->len, sizeof(*order), by_width_compare);
	last = order[max - 1];
	for (uint32_t i = 0; i < l->len; i++) {
		struct by_width b = {t->nodes[l->boxes[i].node].total, l->boxes[i].depth, i};

		if (by_width_compare(&b, &last) <= 0)
			l->boxes[kept++] = l->boxes[i];
	}
	l->len = kept;
	free(order);
	return 0;
}

int aif_flame_layout(const struct aif_tree *t, uint64_t min_value, size_t max_boxes,
		     uint32_t max_depth, struct aif_flame_layout *ret)
{
	struct aif_flame_layout l = {0};
	int r;

	assert(t->sealed && max_boxes);
	r = boxes_collect(t, AIF_MAX(min_value, 1), max_depth, &l);
	if (r == 0 && l.len > max_boxes)
		r = boxes_limit(t, max_boxes, &l);
	if (r < 0) {
		aif_flame_layout_finish(&l);
		return r;
	}
	for (size_t i = 0; i < l.len; i++)
		l.depth = AIF_MAX(l.depth, l.boxes[i].depth + 1);
	for (size_t n = 0; n < t->len; n++)
		l.left_out += t->nodes[n].total > 0;
	l.left_out -= l.len;
	*ret = l;
	return 0;
}

void aif_flame_layout_finish(struct aif_flame_layout *l)
{
	free(l->boxes);
	*l = (struct aif_flame_layout){0};
}
