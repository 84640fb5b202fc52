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

/* The k-th largest of n values, k from 1: byte by byte from the highest, of those that agree so far. */
static uint64_t largest(const uint64_t *values, size_t n, size_t k)
{
	uint64_t found = 0, known = 0; /* known: the bits that are */

	for (unsigned shift = 64; shift;) {
		size_t count[256] = {0};
		unsigned byte = 255;

		shift -= 8;
		for (size_t i = 0; i < n; i++)
			if ((values[i] & known) == found)
				count[values[i] >> shift & 255]++;
		for (; count[byte] < k; byte--)
			k -= count[byte];
		found |= (uint64_t)byte << shift;
		known |= UINT64_C(255) << shift;
	}
	return found;
}

/* Returns a width that at most about `max` of all nodes reach, with those as wide: others need no box. 0 or -ENOMEM. */
static int least_find(const struct aif_tree *t, uint64_t min_value, size_t max, uint64_t *ret)
{
	uint64_t *totals;
	size_t n = 0;

	*ret = min_value;
	for (size_t i = 0; i < t->len; i++)
		n += t->nodes[i].total >= min_value;
	if (n <= max)
		return 0;
	totals = malloc(n * sizeof(*totals));
	if (!totals)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < t->len; i++)
		if (t->nodes[i].total >= min_value)
			totals[n++] = t->nodes[i].total;
	*ret = largest(totals, n, max);
	free(totals);
	return 0;
}

/* Keeps the `max` widest boxes; of equal ones those that are less deep, then those to the left. A caller is at least as wide
 * as its callees and less deep, so that callers of what is kept are. */
static int boxes_limit(const struct aif_tree *t, size_t max, uint32_t max_depth,
		       struct aif_flame_layout *l)
{
	uint64_t *totals = malloc(l->len * sizeof(*totals)), least;
	size_t *equal = calloc(max_depth, sizeof(*equal)); /* by depth, as wide as the least */
	size_t room = max, kept = 0;

	if (!totals || !equal) {
		free(totals);
		free(equal);
		return -ENOMEM;
	}
	for (size_t i = 0; i < l->len; i++)
		totals[i] = t->nodes[l->boxes[i].node].total;
	least = largest(totals, l->len, max);
	for (size_t i = 0; i < l->len; i++) {
		room -= totals[i] > least;
		equal[l->boxes[i].depth] += totals[i] == least;
	}
	for (uint32_t d = 0; d < max_depth; d++) {
		equal[d] = AIF_MIN(equal[d], room);
		room -= equal[d];
	}
	for (size_t i = 0; i < l->len; i++) {
		bool is_kept = totals[i] > least;

		if (totals[i] == least && equal[l->boxes[i].depth]) {
			equal[l->boxes[i].depth]--;
			is_kept = true;
		}
		if (is_kept)
			l->boxes[kept++] = l->boxes[i];
	}
	l->len = kept;
	free(totals);
	free(equal);
	return 0;
}

int aif_flame_layout(const struct aif_tree *t, uint64_t min_value, size_t max_boxes,
		     uint32_t max_depth, struct aif_flame_layout *ret)
{
	struct aif_flame_layout l = {0};
	uint64_t least;
	int r;

	assert(t->sealed && max_boxes);
	min_value = AIF_MAX(min_value, 1);
	r = least_find(t, min_value, max_boxes, &least);
	if (r == 0)
		r = boxes_collect(t, least, max_depth, &l);
	/* Wide ones were too deep: there is room for others. */
	if (r == 0 && l.len < max_boxes && least > min_value) {
		aif_flame_layout_finish(&l);
		r = boxes_collect(t, min_value, max_depth, &l);
	}
	if (r == 0 && l.len > max_boxes)
		r = boxes_limit(t, max_boxes, max_depth, &l);
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
