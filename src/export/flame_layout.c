/* SPDX-License-Identifier: Apache-2.0 */
#include "export/flame_layout.h"

#include "base/buf.h"

#include <errno.h>

struct wide_enough {
	const struct aif_tree *tree;
	uint64_t min_value;
	uint32_t max_depth;
};

/* All boxes that are wide enough, without recursion: stacks may be very deep. */
static int boxes_collect(const struct wide_enough *w, struct aif_flame_layout *l)
{
	const struct aif_tree_node *nodes = w->tree->nodes;
	uint64_t *starts = NULL, start = 0; /* starts: of the callers, by depth */
	size_t starts_cap = 0, cap = 0;
	uint32_t n = 0, depth = 0;
	int r = -ENOMEM;

	for (;;) {
		bool is_wide = nodes[n].total >= w->min_value && depth < w->max_depth;

		if (is_wide) {
			if (aif_grow(&l->boxes, &cap, l->len + 1, sizeof(*l->boxes)) < 0)
				goto done;
			l->boxes[l->len++] = (struct aif_flame_box){n, depth, start};
		}
		if (is_wide && nodes[n].first) {
			if (aif_grow(&starts, &starts_cap, depth + 1, sizeof(*starts)) < 0)
				goto done;
			starts[depth++] = start;
			n = nodes[n].first;
			continue;
		}
		while (n && !nodes[n].next) {
			n = nodes[n].parent;
			start = starts[--depth];
		}
		if (!n)
			break;
		start += nodes[n].total;
		n = nodes[n].next;
	}
	r = 0;
done:
	free(starts);
	return r;
}

struct by_width {
	uint64_t total;
	uint32_t depth, index;
};

/* Widest first. A caller is at least as wide as its callees and less deep, so that any first part of
 * this order has the callers of all that it has. */
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
	struct wide_enough w = {t, AIF_MAX(min_value, 1), max_depth};
	struct aif_flame_layout l = {0};
	int r;

	assert(t->sealed && max_boxes);
	r = boxes_collect(&w, &l);
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
