/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/towers.h"

#include <errno.h>
#include <string.h>

/* Names that are folded into one frame, in its tooltip. */
#define FOLDED_MAX_BYTES 400

/* Both what a frame is called in full and what the picture calls it can be asked for. */
static int label_hits(struct towers *t, const struct aif_frame_label *l, uint8_t *hits)
{
	uint64_t key = (uint64_t)l->full << 32 | l->name, found;
	size_t len;

	if (!aif_filter_is_set(&t->filter))
		return 0;
	if (!aif_map_get(&t->label_hits, key, &found)) {
		found = aif_filter_hits(&t->filter, aif_tree_text(t->tree, l->name, &len));
		if (l->full != AIF_STR_NONE)
			found |= aif_filter_hits(&t->filter,
						 aif_strset_get(&t->tree->full, l->full, NULL));
		if (aif_map_put(&t->label_hits, key, found) < 0)
			return -ENOMEM;
	}
	*hits |= (uint8_t)found;
	return 0;
}

/* Adds a name to the node's tooltip, once, as long as there is room. */
static int full_add(struct towers *t, uint32_t node, const char *text, size_t len)
{
	struct aif_tree_detail *d = &t->tree->details[node];
	struct aif_buf b = {0};
	int r = 0;

	if (d->full != AIF_STR_NONE) {
		size_t old_len;
		const char *old = aif_strset_get(&t->tree->full, d->full, &old_len);

		if (old_len + len > FOLDED_MAX_BYTES || memmem(old, old_len, text, len))
			return 0;
		aif_buf_append(&b, old, old_len);
		aif_buf_puts(&b, " \u203a ");
	}
	aif_buf_append(&b, text, len);
	if (aif_buf_failed(&b))
		r = -ENOMEM;
	else
		d->full = aif_strset_put(&t->tree->full, b.data, b.len);
	if (r == 0 && d->full == AIF_STR_NONE)
		r = -ENOMEM;
	aif_buf_finish(&b);
	return r;
}

int aif_towers_label_full(struct towers *t, uint32_t node, const struct aif_frame_label *l,
			  bool is_own)
{
	const char *text;
	size_t len;

	if (is_own && !t->tree->details[node].origin)
		t->tree->details[node].origin =
			l->module < t->p->modules_len ? t->p->modules[l->module].path + 1 : l->file;
	if (is_own && l->full == AIF_STR_NONE)
		return 0;
	if (is_own && t->tree->details[node].full == AIF_STR_NONE) {
		t->tree->details[node].full = l->full;
		return 0;
	}
	text = l->full == AIF_STR_NONE ? aif_tree_text(t->tree, l->name, &len)
				       : aif_strset_get(&t->tree->full, l->full, &len);
	return full_add(t, node, text, len);
}

/* Places a frame above *at. */
int aif_towers_label(struct towers *t, const struct aif_frame_label *l, struct place *at)
{
	enum aif_fold_action action;
	uint32_t node;

	if (label_hits(t, l, &at->hits) < 0)
		return -ENOMEM;
	action = aif_frame_fold(&at->fold, l, aif_tree_type_of(t->tree, l->name));
	if (action == AIF_FOLD_START)
		return 0;
	if (action == AIF_FOLD_HIDE)
		return at->node != t->on.node ? aif_towers_label_full(t, at->node, l, false) : 0;
	node = aif_tree_child(t->tree, at->node, l->name);
	if (!node)
		return -ENOMEM;
	at->node = node;
	return aif_towers_label_full(t, node, l, true);
}

int aif_towers_frame(struct towers *t, uint32_t frame, struct place *at)
{
	bool is_range = t->p->frames[frame].kind == AIF_FRAME_RANGE;
	const struct aif_frame_label *l;
	size_t len;
	int r;

	if (is_range ? t->o->ranges == AIF_RANGES_OFF : t->o->ranges == AIF_RANGES_ONLY)
		return 0;
	l = aif_frame_labels_get(t->labels, frame, &len);
	r = l ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < len; i++)
		r = aif_towers_label(t, &l[i], at);
	return r;
}

/* A note between frames. *text is finished. */
int aif_towers_note(struct towers *t, struct aif_buf *text, struct place *at)
{
	struct aif_frame_label l = {.name = AIF_STR_NONE, .full = AIF_STR_NONE, .module = AIF_NONE};

	if (!aif_buf_failed(text))
		l.name = aif_tree_name(t->tree, AIF_TREE_SYNTHETIC, (const char *)text->data,
				       text->len);
	aif_buf_finish(text);
	return l.name == AIF_STR_NONE ? -ENOMEM : aif_towers_label(t, &l, at);
}

static const char *const range_says[] = {
	[AIF_RANGE_PLAIN] = "a range that the program marked",
	[AIF_RANGE_MODULE] = "a program that XLA compiled",
	[AIF_RANGE_SCOPE] = "of the operator's name in XLA (op_name)",
	[AIF_RANGE_SOURCE] = "the Python line that was traced, as XLA has it",
	[AIF_RANGE_OP] = "the operator, of its name in XLA (op_name)",
	[AIF_RANGE_HLO] = "XLA's instruction (HLO)",
	[AIF_RANGE_WORK] = "what XLA did",
};

int aif_towers_range(struct towers *t, const struct aif_range_chain *chain, struct place *at)
{
	const char *name = aif_strset_get(&t->o->sel->ranges->names, chain->name, NULL);
	unsigned type = chain->kind == AIF_RANGE_SOURCE ? AIF_TREE_PYTHON : AIF_TREE_RANGE;
	struct aif_frame_label l = {.module = AIF_NONE};
	struct aif_buf full = {0};

	l.name = aif_tree_name(t->tree, type, name, strlen(name));
	aif_buf_printf(&full, "%s: %s", name, range_says[chain->kind]);
	l.full = aif_buf_failed(&full) ? AIF_STR_NONE
				       : aif_strset_put(&t->tree->full, full.data, full.len);
	aif_buf_finish(&full);
	return l.name == AIF_STR_NONE || l.full == AIF_STR_NONE ? -ENOMEM
								: aif_towers_label(t, &l, at);
}

/* Places the ranges of a row, but for those of a graph's node. */
int aif_towers_ranges(struct towers *t, uint32_t range, struct place *at)
{
	const struct aif_range_index *x = t->o->sel ? t->o->sel->ranges : NULL;
	uint32_t path[AIF_RANGE_DEPTH];
	unsigned n;
	int r = 0;

	if (!range || !x || t->o->ranges == AIF_RANGES_OFF)
		return 0;
	n = aif_range_path(x, range, false, path);
	for (unsigned i = 0; i < n && !r; i++)
		r = aif_towers_range(t, &x->chains[path[i]], at);
	return r;
}
