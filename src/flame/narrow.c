/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/narrow.h"

#include "flame/palette.h"
#include "text/json.h"
#include "text/svg_text.h"

#include <errno.h>
#include <string.h>

/* A server's picture of 140,000 frames takes 4.3 MB and opens in 1.1 s, of which the frames that
 * are not drawn are 2 MB and 0.2 s; to search it takes 0.3 s. */
#define MAX_FRAMES     200000
#define MAX_NAME_BYTES (4u << 20)
#define NAME_COLUMNS   1000 /* as drawn frames have them */

/* Counts, for each node, the frames with a value in its subtree, itself among them. NULL when
 * memory runs out. */
static uint32_t *subtree_frames(const struct aif_tree *t)
{
	uint32_t *frames = calloc(t->len, sizeof(*frames));

	for (size_t n = t->len; frames && n-- > 0;) {
		frames[n] += t->nodes[n].total > 0;
		if (n)
			frames[t->nodes[n].parent] += frames[n];
	}
	return frames;
}

/* Returns, for each node, whether it has a box. */
static bool *nodes_in(const struct aif_tree *t, const struct aif_flame_layout *l)
{
	bool *in = calloc(t->len, sizeof(*in));

	for (size_t i = 0; in && i < l->len; i++)
		in[l->boxes[i].node] = true;
	return in;
}

/* Adds the frame, which is not drawn, to the run of those beside it; false: it begins another. */
static bool run_add(struct aif_flame_hole *run, const struct aif_tree *t,
		    const struct aif_flame_box *at, const uint32_t *sizes)
{
	const struct aif_tree_node *node = &t->nodes[at->node];

	if (run->frames && (run->caller != node->parent || run->start + run->value != at->start))
		return false;
	if (!run->frames)
		*run = (struct aif_flame_hole){
			.caller = node->parent, .depth = at->depth, .start = at->start};
	run->value += node->total;
	run->frames += sizes[at->node];
	return true;
}

/* ---- what a search looks at
 * ---------------------------------------------------------------------- */

struct narrow {
	const struct aif_tree *tree;
	struct aif_out *out;
	struct aif_buf names, frames;
	struct aif_map name_of; /* name | full << 32 -> its line, from 1 */
	uint32_t *sizes;        /* frames by subtree */
	bool *drawn, *kept;     /* by node */
	uint32_t since;         /* drawn frames since the last one that is not */
	struct aif_flame_hole missing;
};

static uint64_t billionths(const struct narrow *w, uint64_t value)
{
	return (uint64_t)(1e9 * (double)value / (double)w->tree->nodes[0].total + 0.5);
}

/* The number of the node's name, 0 if there is no room for another, -ENOMEM. */
static int64_t name_number(struct narrow *w, uint32_t node)
{
	const struct aif_tree *t = w->tree;
	uint32_t name = t->nodes[node].name,
		 full = t->details ? t->details[node].full : AIF_STR_NONE;
	uint64_t key = (uint64_t)full << 32 | name, number;
	unsigned type = aif_tree_type_of(t, name);
	const struct aif_palette_colour *colour;
	size_t len, count;
	const char *text = aif_tree_text(t, name, &len);

	if (aif_map_get(&w->name_of, key, &number))
		return (int64_t)number;
	if (w->names.len > MAX_NAME_BYTES)
		return 0;
	colour = &aif_palette(&count)[aif_palette_of(type, text, len)];
	aif_buf_printf(&w->names, "%s%u %s%s\t", colour->letter, aif_palette_shade(text, len),
		       colour->name, type & AIF_TREE_INLINED ? ", inlined" : "");
	aif_svg_text(&w->names, text, len, NAME_COLUMNS);
	if (full != AIF_STR_NONE) {
		text = aif_strset_get(&t->full, full, &len);
		aif_buf_putc(&w->names, '\t');
		aif_svg_text(&w->names, text, len, NAME_COLUMNS);
	}
	aif_buf_putc(&w->names, '\n');
	number = w->name_of.len + 1;
	if (aif_buf_failed(&w->names) || aif_map_put(&w->name_of, key, number) < 0)
		return -ENOMEM;
	return (int64_t)number;
}

/* Format strings took a tenth of the time in which a large file becomes a picture of 200,000 frames. */
static void numbers_put(struct aif_buf *b, const uint64_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		aif_out_json_u64(b, numbers[i]);
		aif_buf_putc(b, i + 1 < n ? ' ' : '\n');
	}
}

static void missing_flush(struct narrow *w)
{
	if (!w->missing.frames)
		return;
	numbers_put(&w->frames,
		    (const uint64_t[]){w->since, w->missing.depth, billionths(w, w->missing.value),
				       0, w->missing.frames},
		    5);
	w->since = 0;
	w->missing.frames = 0;
}

/* 1: what it calls is asked for, too; 0: it is not. */
static int node_put(struct narrow *w, const struct aif_flame_box *at, uint64_t *missing)
{
	uint64_t value = w->tree->nodes[at->node].total;
	int64_t number;

	if (w->drawn[at->node]) {
		missing_flush(w);
		w->since++;
		return 1;
	}
	if (!value)
		return 0;
	number = w->kept[at->node] ? name_number(w, at->node) : 0;
	if (number < 0)
		return -ENOMEM;
	if (number) {
		missing_flush(w);
		numbers_put(&w->frames,
			    (const uint64_t[]){w->since, at->depth, billionths(w, value),
					       (uint64_t)number},
			    4);
		w->since = 0;
		return 1;
	}
	*missing += w->sizes[at->node];
	if (!run_add(&w->missing, w->tree, at, w->sizes)) {
		missing_flush(w);
		run_add(&w->missing, w->tree, at, w->sizes);
	}
	return 0;
}

static int nodes_put(struct narrow *w, uint64_t *missing)
{
	struct aif_flame_walk walk = aif_flame_walk_begin(w->tree);
	int r;

	do {
		r = node_put(w, &walk.at, missing);
		if (r >= 0)
			r = aif_flame_walk_next(&walk, r);
	} while (r > 0);
	aif_flame_walk_finish(&walk);
	missing_flush(w);
	return r;
}

int aif_flame_narrow_put(const struct aif_tree *t, const struct aif_flame_layout *drawn,
			 uint32_t max_depth, struct aif_out *out, uint64_t *ret_missing)
{
	struct narrow w = {.tree = t, .out = out};
	struct aif_flame_layout kept;
	struct aif_buf *b = aif_out_buf(out);
	int r;

	*ret_missing = 0;
	if (!drawn->left_out)
		return 0;
	r = aif_flame_layout(t, 1, drawn->len + MAX_FRAMES, max_depth, &kept);
	if (r < 0)
		return r;
	w.sizes = subtree_frames(t);
	w.drawn = nodes_in(t, drawn);
	w.kept = nodes_in(t, &kept);
	aif_flame_layout_finish(&kept);
	r = w.sizes && w.drawn && w.kept ? nodes_put(&w, ret_missing) : -ENOMEM;
	if (r == 0 && (aif_buf_failed(&w.names) || aif_buf_failed(&w.frames)))
		r = -ENOMEM;
	if (r == 0) {
		aif_buf_puts(b, "<metadata id=\"narrow\">\n");
		aif_buf_append(b, w.names.data, w.names.len);
		aif_buf_putc(b, '\n');
		aif_buf_append(b, w.frames.data, w.frames.len);
		aif_buf_puts(b, "</metadata>\n");
	}
	aif_buf_finish(&w.names);
	aif_buf_finish(&w.frames);
	aif_map_finish(&w.name_of);
	free(w.sizes);
	free(w.drawn);
	free(w.kept);
	return r;
}

/* ---- what a picture shows in their place
 * --------------------------------------------------------- */

struct holes {
	struct aif_flame_hole *holes, run;
	size_t len, cap;
	uint64_t min_value;
};

static int holes_flush(struct holes *h)
{
	if (h->run.frames && h->run.value >= h->min_value) {
		if (aif_grow(&h->holes, &h->cap, h->len + 1, sizeof(*h->holes)) < 0)
			return -ENOMEM;
		h->holes[h->len++] = h->run;
	}
	h->run.frames = 0;
	return 0;
}

static int holes_find(const struct aif_tree *t, const bool *drawn, const uint32_t *sizes,
		      struct holes *h)
{
	struct aif_flame_walk walk = aif_flame_walk_begin(t);
	int r;

	do {
		uint32_t n = walk.at.node;

		r = 0;
		if (!drawn[n] && t->nodes[n].total && !run_add(&h->run, t, &walk.at, sizes)) {
			r = holes_flush(h);
			run_add(&h->run, t, &walk.at, sizes);
		}
		if (r == 0)
			r = aif_flame_walk_next(&walk, drawn[n]);
	} while (r > 0);
	aif_flame_walk_finish(&walk);
	return r < 0 ? r : holes_flush(h);
}

int aif_flame_holes(const struct aif_tree *t, const struct aif_flame_layout *drawn,
		    uint64_t min_value, struct aif_flame_hole **ret, size_t *ret_len)
{
	struct holes h = {.min_value = AIF_MAX(min_value, 1)};
	uint32_t *sizes;
	bool *in;
	int r;

	*ret = NULL;
	*ret_len = 0;
	if (!drawn->left_out)
		return 0;
	sizes = subtree_frames(t);
	in = nodes_in(t, drawn);
	r = sizes && in ? holes_find(t, in, sizes, &h) : -ENOMEM;
	free(sizes);
	free(in);
	if (r < 0) {
		free(h.holes);
		return r;
	}
	*ret = h.holes;
	*ret_len = h.len;
	return 0;
}
