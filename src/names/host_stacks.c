/* SPDX-License-Identifier: Apache-2.0 */
#include "names/host_stacks.h"

#include <errno.h>
#include <string.h>

struct aif_host_place {
	uint32_t node;
	struct aif_frame_fold fold;
	bool is_known;
};

/* Steps under a node are labels of frames; with this bit they are names that no frame has. */
enum { STEP_NAME = 0x80000000u };

int aif_host_stacks_init(struct aif_host_stacks *h, const struct aif_names *names,
			 enum aif_name_detail detail)
{
	struct aif_frame_labels_opts o = {.detail = detail};
	const struct aif_profile *p = names->p;
	size_t row = 0;

	*h = (struct aif_host_stacks){.p = p};
	if (p->frame_names_len + p->frames_len >= STEP_NAME)
		return -ENOMEM;
	if (aif_tree_init(&h->tree, false) < 0 ||
	    aif_frame_labels_new(names, &h->tree, &o, &h->labels) < 0 ||
	    aif_grow(&h->nodes, &h->cap, 1, sizeof(*h->nodes)) < 0)
		return -ENOMEM;
	h->names = malloc((p->frames_len + 1) * sizeof(*h->names));
	if (!h->names)
		return -ENOMEM;
	for (uint32_t f = 0; f <= p->frames_len; f++) {
		while (row < p->frame_names_len && p->frame_names[row].frame < f)
			row++;
		h->names[f] = (uint32_t)row;
	}
	h->nodes[h->len++] =
		(struct aif_host_node){.full = AIF_STR_NONE, .frame = AIF_NONE, .row = AIF_NONE};
	return 0;
}

void aif_host_stacks_finish(struct aif_host_stacks *h)
{
	aif_frame_labels_free(h->labels);
	aif_tree_finish(&h->tree);
	aif_map_finish(&h->children);
	aif_map_finish(&h->kernels);
	for (unsigned i = 0; i < AIF_STACK_FLAVOURS; i++)
		free(h->places[i]);
	free(h->nodes);
	free(h->names);
	free(h->path);
	*h = (struct aif_host_stacks){0};
}

/* The child by `step`, made like `like` if there is none; 0 when memory runs out. */
static uint32_t child(struct aif_host_stacks *h, uint32_t parent, uint32_t step,
		      const struct aif_host_node *like)
{
	uint64_t key = (uint64_t)parent << 32 | step, found;

	if (aif_map_get(&h->children, key, &found))
		return (uint32_t)found;
	if (h->len >= AIF_NONE || aif_grow(&h->nodes, &h->cap, h->len + 1, sizeof(*h->nodes)) < 0 ||
	    aif_map_put(&h->children, key, h->len) < 0)
		return 0;
	h->nodes[h->len] = *like;
	h->nodes[h->len].parent = parent;
	h->nodes[h->len].depth = h->nodes[parent].depth + 1;
	return (uint32_t)h->len++;
}

/* Labels of a frame are its rows of names in order, or one where it has none: rows, and behind them
 * frames, number the steps. */
static uint32_t step_of(const struct aif_host_stacks *h, uint32_t frame, uint32_t row)
{
	return row == AIF_NONE ? (uint32_t)h->p->frame_names_len + frame : row;
}

static uint32_t label_child(struct aif_host_stacks *h, uint32_t parent,
			    const struct aif_frame_label *l, uint32_t frame, size_t i)
{
	uint32_t rows = h->names[frame + 1] - h->names[frame];
	struct aif_host_node like = {.name = l->name,
				     .full = l->full,
				     .frame = frame,
				     .row = i < rows ? h->names[frame] + (uint32_t)i : AIF_NONE};

	return child(h, parent, step_of(h, frame, like.row), &like);
}

static uint32_t name_child(struct aif_host_stacks *h, uint32_t parent,
			   const struct aif_frame_label *l)
{
	struct aif_host_node like = {
		.name = l->name, .full = l->full, .frame = AIF_NONE, .row = AIF_NONE};

	return child(h, parent, STEP_NAME | l->name, &like);
}

uint32_t aif_host_stacks_mark(struct aif_host_stacks *h, uint32_t under, const char *text)
{
	struct aif_frame_label l = {.full = AIF_STR_NONE, .module = AIF_NONE};

	l.name = aif_tree_name(&h->tree, AIF_TREE_SYNTHETIC, text, strlen(text));
	return l.name == AIF_STR_NONE ? 0 : name_child(h, under, &l);
}

/* Places the labels of the next frame, inwards. */
static int frame_place(struct aif_host_stacks *h, uint32_t frame, struct aif_host_place *at)
{
	size_t len;
	const struct aif_frame_label *l = aif_frame_labels_get(h->labels, frame, &len);

	if (!l)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++) {
		uint32_t node;

		if (aif_frame_fold(&at->fold, &l[i], aif_tree_type_of(&h->tree, l[i].name)) !=
		    AIF_FOLD_SHOW)
			continue;
		node = label_child(h, at->node, &l[i], frame, i);
		if (!node)
			return -ENOMEM;
		at->node = node;
	}
	return 0;
}

/* Returns the node for a stack of which folding leaves nothing. */
static uint32_t kept(struct aif_host_stacks *h, uint32_t stack)
{
	struct aif_frame_label l;
	int r = aif_frame_labels_kept(h->labels, stack, &l);

	if (r == -ENOENT)
		return aif_host_stacks_mark(h, 0, AIF_STACK_UNKNOWN);
	return r < 0 ? 0 : name_child(h, 0, &l);
}

uint32_t aif_host_stacks_node(struct aif_host_stacks *h, uint32_t stack)
{
	const struct aif_stack *stacks = h->p->stacks;
	struct aif_host_place at = {.fold = AIF_FRAME_FOLD_ROOT, .is_known = true}, *places;
	uint32_t given = stack;
	unsigned flavour;
	size_t n = 0;

	if (stack == AIF_NONE)
		return aif_host_stacks_mark(h, 0, AIF_STACK_UNKNOWN);
	flavour = aif_frame_labels_flavour(h->labels, stack);
	if (!h->places[flavour])
		h->places[flavour] = calloc(h->p->stacks_len, sizeof(*places));
	places = h->places[flavour];
	if (!places)
		return 0;
	for (; stack != AIF_NONE && !places[stack].is_known; stack = stacks[stack].parent) {
		if (aif_grow(&h->path, &h->path_cap, n + 1, sizeof(*h->path)) < 0)
			return 0;
		h->path[n++] = stack;
	}
	if (stack != AIF_NONE)
		at = places[stack];
	else if (aif_stack_mark(flavour)) {
		at.node = aif_host_stacks_mark(h, 0, aif_stack_mark(flavour));
		if (!at.node)
			return 0;
	}
	while (n) {
		stack = h->path[--n];
		if (stacks[stack].frame != AIF_NONE && frame_place(h, stacks[stack].frame, &at) < 0)
			return 0;
		places[stack] = at;
	}
	return at.node ? at.node : kept(h, given);
}

/* Lists a stack's frames, outermost first, in .path from `n` on. Returns the end; SIZE_MAX when memory runs out. */
static size_t path_of(struct aif_host_stacks *h, uint32_t stack, size_t n)
{
	const struct aif_stack *stacks = h->p->stacks;
	size_t end = n;

	for (uint32_t s = stack; s != AIF_NONE; s = stacks[s].parent) {
		if (aif_grow(&h->path, &h->path_cap, end + 1, sizeof(*h->path)) < 0)
			return SIZE_MAX;
		if (stacks[s].frame != AIF_NONE)
			h->path[end++] = stacks[s].frame;
	}
	for (size_t i = n, j = end; i + 1 < j; i++) {
		uint32_t frame = h->path[i];

		h->path[i] = h->path[--j];
		h->path[j] = frame;
	}
	return end;
}

/* Frames of one function are one in other viewers, too, whatever line they are at. */
static bool is_one_frame(struct aif_host_stacks *h, uint32_t a, uint32_t b)
{
	size_t len;
	const struct aif_frame_label *l = aif_frame_labels_get(h->labels, a, &len);
	uint32_t name = l ? l[len - 1].name : AIF_STR_NONE;

	if (a == b)
		return true;
	l = aif_frame_labels_get(h->labels, b, &len);
	return l && name != AIF_STR_NONE && l[len - 1].name == name;
}

uint32_t aif_host_stacks_capture(struct aif_host_stacks *h, uint32_t under, uint32_t replay,
				 uint32_t capture)
{
	struct aif_host_place at = {.node = under, .fold = AIF_FRAME_FOLD_ROOT};
	size_t n = path_of(h, replay, 0), end = n == SIZE_MAX ? n : path_of(h, capture, n), i = 0;

	if (end == SIZE_MAX)
		return 0;
	while (i < n && n + i < end && is_one_frame(h, h->path[i], h->path[n + i]))
		i++;
	for (i += n; i < end; i++)
		if (frame_place(h, h->path[i], &at) < 0)
			return 0;
	return at.node;
}

uint32_t aif_host_stacks_kernel(struct aif_host_stacks *h, uint32_t under, uint32_t kernel,
				unsigned kind)
{
	uint32_t what =
		kind == AIF_LAUNCH_KERNEL || kernel != AIF_NONE ? kernel : AIF_NONE - 1 - kind;
	uint64_t key = (uint64_t)under << 32 | what, found;
	struct aif_frame_label l;
	uint32_t node;

	if (aif_map_get(&h->kernels, key, &found))
		return (uint32_t)found;
	if (aif_frame_labels_kernel(h->labels, kernel, kind, &l) < 0)
		return 0;
	node = name_child(h, under, &l);
	return !node || aif_map_put(&h->kernels, key, node) < 0 ? 0 : node;
}

uint32_t aif_host_stacks_inside(struct aif_host_stacks *h, uint32_t under, uint32_t frame,
				uint32_t kernel)
{
	uint32_t rows = h->names[frame + 1] - h->names[frame];
	size_t all, len;
	const struct aif_frame_label *l = aif_frame_labels_get(h->labels, frame, &all);
	uint32_t at = under;

	if (!l)
		return 0;
	/* An instruction's row has no name of its own. */
	if (aif_tree_type_of(&h->tree, l->name) == AIF_TREE_INSTRUCTION)
		rows = 0;
	l = aif_frame_labels_inside(h->labels, frame, kernel, &len);
	/* The kernel itself, if it stands there or nothing says what does, is at this place: in one
	 * location with what is inlined into it. */
	if (l && (len < all || !rows)) {
		struct aif_host_node like = h->nodes[under];

		like.frame = frame;
		like.row = rows ? h->names[frame] : AIF_NONE;
		at = child(h, h->nodes[under].parent, step_of(h, frame, like.row), &like);
	}
	/* Functions come first, then a line and the instruction, which are no frames in other
	 * viewers' eyes. */
	for (size_t i = all - len; l && i < rows && at; i++)
		at = label_child(h, at, &l[i - (all - len)], frame, i);
	return l ? at : 0;
}

const char *aif_host_full(const struct aif_host_stacks *h, uint32_t node, size_t *len)
{
	return h->nodes[node].full == AIF_STR_NONE
		       ? aif_host_name(h, node, len)
		       : aif_strset_get(&h->tree.full, h->nodes[node].full, len);
}

const char *aif_host_file(const struct aif_host_stacks *h, uint32_t node)
{
	uint32_t row = h->nodes[node].row;

	return row == AIF_NONE ? "" : aif_profile_str(h->p, h->p->frame_names[row].file);
}

uint32_t aif_host_line(const struct aif_host_stacks *h, uint32_t node)
{
	uint32_t row = h->nodes[node].row;

	return row == AIF_NONE ? 0 : h->p->frame_names[row].line;
}

uint32_t aif_host_module(const struct aif_host_stacks *h, uint32_t node)
{
	uint32_t frame = h->nodes[node].frame;

	return frame == AIF_NONE ? AIF_NONE : h->p->frames[frame].module;
}
