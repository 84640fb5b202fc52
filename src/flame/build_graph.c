/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/towers.h"

#include <errno.h>
#include <string.h>

/* Towers of what a replayed graph executed: on the replay, the graph, and the stack and ranges that made the node. */

/* Lists a stack's frames, outermost first, behind those that *path has from `n` on. */
static int path_of(struct towers *t, uint32_t stack, size_t n, size_t *ret_end)
{
	const struct aif_stack *stacks = t->p->stacks;
	size_t end = n;

	for (uint32_t s = stack; s != AIF_NONE; s = stacks[s].parent) {
		if (aif_grow(&t->path, &t->path_cap, end + 1, sizeof(*t->path)) < 0)
			return -ENOMEM;
		if (stacks[s].frame != AIF_NONE)
			t->path[end++] = stacks[s].frame;
	}
	for (size_t i = n, j = end; i + 1 < j; i++) {
		uint32_t frame = t->path[i];

		t->path[i] = t->path[--j];
		t->path[j] = frame;
	}
	*ret_end = end;
	return 0;
}

/* Two frames of one function are one in the picture, whatever line they are at. 1, 0 or -ENOMEM. */
static int is_one_frame(struct towers *t, uint32_t a, uint32_t b)
{
	const struct aif_frame_label *l;
	size_t a_len, b_len;
	uint32_t last;

	if (a == b)
		return 1;
	l = aif_frame_labels_get(t->labels, a, &a_len);
	if (!l)
		return -ENOMEM;
	last = l[a_len - 1].name;
	l = aif_frame_labels_get(t->labels, b, &b_len);
	if (!l)
		return -ENOMEM;
	return a_len == b_len && l[b_len - 1].name == last;
}

/* Places the stack that made a graph's node on that of the replay: what both begin with stands there already. */
static int capture_place(struct towers *t, const struct aif_attribution_row *row, struct place *at)
{
	size_t replay, end, i = 0;
	int r = path_of(t, row->stack, 0, &replay);

	r = r < 0 ? r : path_of(t, row->capture, replay, &end);
	if (r < 0)
		return r;
	while (i < replay && replay + i < end && r >= 0) {
		r = is_one_frame(t, t->path[i], t->path[replay + i]);
		if (r != 1)
			break;
		i++;
	}
	for (i += replay; i < end && r >= 0; i++)
		r = aif_towers_frame(t, t->path[i], at);
	return r < 0 ? r : 0;
}

static int node_ranges_place(struct towers *t, const struct aif_attribution_row *row,
			     struct place *at)
{
	const struct aif_range_index *x = t->o->sel ? t->o->sel->ranges : NULL;
	uint32_t path[AIF_RANGE_DEPTH];
	unsigned n;
	int r = 0;

	if (!x || t->o->ranges == AIF_RANGES_OFF)
		return 0;
	n = aif_range_node_path(x, row->range, row->capture_range, path);
	for (unsigned i = 0; i < n && !r; i++)
		r = aif_towers_range(t, &x->chains[path[i]], at);
	return r;
}

/* Places work of a graph's replay on the replay's stack, on the graph's number, and on what made its node. */
int aif_towers_graph(struct towers *t, const struct aif_attribution_row *row, struct place *at)
{
	struct aif_buf text = {0};
	int r;

	aif_names_put_graph(t->p, row->device, row->graph, &text);
	r = aif_towers_note(t, &text, at);
	if (r == 0 && row->capture != AIF_NONE)
		r = capture_place(t, row, at);
	return r < 0 ? r : node_ranges_place(t, row, at);
}
