/* SPDX-License-Identifier: Apache-2.0 */
/* A run's device time by the operators and by the ranges that it was launched in. */
#include "compare/reduce_by.h"

#include "analysis/torch_names.h"

#include <errno.h>
#include <string.h>

struct reducing_by {
	const struct aif_profile *p;
	const struct aif_range_index *ranges;
	struct aif_tree *to;
	/* The name in the tree of each frame that is an operator, a range; AIF_STR_NONE: it is none. */
	uint32_t *operator_of, *range_of;
	/* 1 + the place of each stack's operators, of its ranges; 0: not known yet. */
	uint32_t *places[AIF_RUN_BYS];
	struct aif_buf text;
};

static uint32_t name_of(struct reducing_by *r, enum aif_run_by by, const char *text, size_t len)
{
	return aif_tree_name(&r->to[by], by == AIF_RUN_BY_OPERATOR ? AIF_TREE_CXX : AIF_TREE_RANGE,
			     text, len);
}

/* Names frames that are operators: those of traces, and the functions by which PyTorch asks for one. *ret_any: there are some. */
static int name_frames(struct reducing_by *r, bool *ret_any)
{
	const struct aif_profile *p = r->p;
	bool has_ranges = r->ranges && r->ranges->chains_len;

	for (uint32_t i = 0; i < p->frames_len; i++) {
		unsigned kind = p->frames[i].kind;
		bool is_named = kind == AIF_FRAME_OP || kind == AIF_FRAME_NATIVE ||
				(kind == AIF_FRAME_RANGE && !has_ranges);
		const struct aif_frame_name *n = is_named ? aif_profile_frame_name(p, i) : NULL;
		const char *name = n ? aif_profile_str(p, n->name) : "";
		size_t len = strlen(name);
		uint32_t *to = kind == AIF_FRAME_RANGE ? r->range_of : r->operator_of;

		r->operator_of[i] = r->range_of[i] = AIF_STR_NONE;
		if (!n || (kind == AIF_FRAME_NATIVE &&
			   aif_torch_kind(name, &name, &len) != AIF_TORCH_CALL))
			continue;
		aif_buf_clear(&r->text);
		if (kind == AIF_FRAME_NATIVE)
			aif_buf_printf(&r->text, "aten::%.*s", (int)aif_torch_operator(name, len),
				       name);
		else
			aif_buf_append(&r->text, name, len);
		to[i] = name_of(r, kind == AIF_FRAME_RANGE ? AIF_RUN_BY_RANGE : AIF_RUN_BY_OPERATOR,
				aif_buf_str(&r->text), r->text.len);
		if (aif_buf_failed(&r->text) || to[i] == AIF_STR_NONE)
			return -ENOMEM;
		*ret_any = true;
	}
	return 0;
}

/* Goes to the callee of that name; where there is none (AIF_STR_NONE) *at stays. */
static int enter(struct reducing_by *r, enum aif_run_by by, uint32_t name, uint32_t *at)
{
	if (name == AIF_STR_NONE)
		return 0;
	*at = aif_tree_child(&r->to[by], *at, name);
	return *at ? 0 : -ENOMEM;
}

/* Goes to the place of a stack's operators or ranges below *at. It is remembered where *at is the root. */
static int place_stack(struct reducing_by *r, enum aif_run_by by, uint32_t stack, uint32_t *at)
{
	const uint32_t *name_by_frame = by == AIF_RUN_BY_OPERATOR ? r->operator_of : r->range_of;
	const struct aif_stack *stacks = r->p->stacks;
	bool is_root = !*at;
	uint32_t path[512];
	size_t n = 0;
	int e = 0;

	for (; stack != AIF_NONE; stack = stacks[stack].parent) {
		if (is_root && r->places[by][stack]) {
			*at = r->places[by][stack] - 1;
			break;
		}
		/* Deeper ones are placed by their innermost frames. */
		if (n < AIF_ARRAY_LEN(path))
			path[n++] = stack;
	}
	while (n && !e) {
		uint32_t frame = stacks[path[--n]].frame;

		e = frame == AIF_NONE ? 0 : enter(r, by, name_by_frame[frame], at);
		if (is_root && !e)
			r->places[by][path[n]] = 1 + *at;
	}
	return e;
}

/* Adds the elements of a chain, each to the tree that it is of. */
static int place_ranges(struct reducing_by *r, const uint32_t *path, unsigned n,
			uint32_t at[AIF_RUN_BYS])
{
	int e = 0;

	for (unsigned i = 0; i < n && !e; i++) {
		const struct aif_range_chain *c = &r->ranges->chains[path[i]];
		enum aif_run_by by =
			c->kind == AIF_RANGE_OP ? AIF_RUN_BY_OPERATOR : AIF_RUN_BY_RANGE;
		size_t len;
		const char *text = aif_strset_get(&r->ranges->names, c->name, &len);
		uint32_t name = name_of(r, by, text, len);

		e = name == AIF_STR_NONE ? -ENOMEM : enter(r, by, name, &at[by]);
	}
	return e;
}

static int add_row(struct reducing_by *r, const struct aif_attribution_row *row)
{
	uint32_t at[AIF_RUN_BYS] = {0}, path[AIF_RANGE_DEPTH];
	int e = 0;

	for (unsigned by = 0; by < AIF_RUN_BYS && !e; by++) {
		e = place_stack(r, (enum aif_run_by)by, row->stack, &at[by]);
		/* A graph's node has what replays it around what made it. */
		if (!e && row->graph)
			e = place_stack(r, (enum aif_run_by)by, row->capture, &at[by]);
	}
	if (!e && r->ranges && row->range)
		e = place_ranges(r, path, aif_range_path(r->ranges, row->range, false, path), at);
	if (!e && r->ranges && row->graph)
		e = place_ranges(
			r, path,
			aif_range_node_path(r->ranges, row->range, row->capture_range, path), at);
	for (unsigned by = 0; by < AIF_RUN_BYS && !e; by++)
		if (at[by])
			r->to[by].nodes[at[by]].self += row->wall_ns;
	return e;
}

int aif_run_reduce_by(const struct aif_profile *p, const struct aif_attribution *a,
		      const struct aif_range_index *ranges, struct aif_tree to[AIF_RUN_BYS])
{
	struct reducing_by r = {.p = p, .ranges = ranges, .to = to};
	bool any = ranges && ranges->chains_len;
	int e = 0;

	r.operator_of = calloc(p->frames_len + 1, sizeof(*r.operator_of));
	r.range_of = calloc(p->frames_len + 1, sizeof(*r.range_of));
	if (!r.operator_of || !r.range_of)
		e = -ENOMEM;
	for (unsigned by = 0; by < AIF_RUN_BYS && !e; by++) {
		e = aif_tree_init(&to[by], false);
		r.places[by] = calloc(p->stacks_len + 1, sizeof(*r.places[by]));
		if (!r.places[by])
			e = -ENOMEM;
	}
	if (!e)
		e = name_frames(&r, &any);
	for (size_t i = 0; i < a->rows_len && any && !e; i++)
		e = add_row(&r, &a->rows[i]);
	for (unsigned by = 0; by < AIF_RUN_BYS && !e; by++)
		e = aif_tree_seal(&to[by]);
	for (unsigned by = 0; by < AIF_RUN_BYS; by++)
		free(r.places[by]);
	free(r.operator_of);
	free(r.range_of);
	aif_buf_finish(&r.text);
	return e;
}
