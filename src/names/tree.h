/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"

/*
 * The call tree that all flame graphs are drawn from: a real tree, in which a frame is one node under
 * its caller, whatever its name is. A frame is its type and its text together; both are interned.
 * Node 0 is the root. A parent's number is smaller than its children's.
 */

/* The values are in no file; the order is that of the legend. */
enum aif_tree_type {
	AIF_TREE_ROOT,
	AIF_TREE_PYTHON,
	AIF_TREE_C,
	AIF_TREE_CXX,
	AIF_TREE_OS,
	AIF_TREE_API, /* accelerator runtimes and drivers, in user space */
	AIF_TREE_KERNEL,
	AIF_TREE_COPY, /* device work that is no kernel: "[read]" */
	AIF_TREE_LINE,
	AIF_TREE_INSTRUCTION,
	AIF_TREE_STALL,
	AIF_TREE_SYNTHETIC, /* a word of ours, "[truncated]", not a place */
	AIF_TREE_RANGE, /* what a program or its framework calls a part of its time: NVTX, record_function, XLA */
	AIF_TREE_TYPE_COUNT
};
#define AIF_TREE_INLINED 0x40 /* or-ed to a type: not called, but compiled into its caller */

static inline enum aif_tree_type aif_tree_base_type(unsigned type)
{
	return (enum aif_tree_type)(type & ~AIF_TREE_INLINED);
}

struct aif_tree_node {
	uint32_t parent, name;
	uint32_t first,
		next; /* child, sibling, 0 = none; of a sealed tree, in order of text. Before: the child made first, 0 */
	uint64_t self, total; /* total: of a sealed tree */
};

/* The values of a tooltip beside the width; sums over the subtree in a sealed tree. */
struct aif_tree_detail {
	uint64_t time_ns, samples, launches, bytes;
	uint32_t grades; /* bit set of enum aif_grade */
	uint32_t full;   /* string of aif_tree.full: what the label is short for, or AIF_STR_NONE */
	uint32_t
		origin; /* 1 + a string of the profile: the file of the code, as it was first met; 0: not known */
};

struct aif_tree {
	struct aif_strset names; /* one byte of type, then the text */
	struct aif_strset full;
	struct aif_tree_node *nodes;
	struct aif_tree_detail *details; /* one for each node, or NULL: none are kept */
	size_t len, nodes_cap, details_cap;
	uint32_t *
		slots; /* children but those made first: most nodes have but one. A node, 0 = free */
	size_t slots_len, slots_cap;
	uint32_t scale; /* one unit of self and total is 1/scale; a power of ten */
	bool sealed;
};

/* 0 or -ENOMEM. */
int aif_tree_init(struct aif_tree *t, bool details);
void aif_tree_finish(struct aif_tree *t); /* a zeroed struct is allowed */

/* The number of a frame's name; AIF_STR_NONE when memory runs out. */
uint32_t aif_tree_name(struct aif_tree *t, unsigned type, const char *text, size_t len);

/* The child of `parent` with this name, made if there is none; 0 when memory runs out. */
uint32_t aif_tree_child(struct aif_tree *t, uint32_t parent, uint32_t name);

static inline unsigned aif_tree_type_of(const struct aif_tree *t, uint32_t name)
{
	return (uint8_t)aif_strset_get(&t->names, name, NULL)[0];
}
static inline const char *aif_tree_text(const struct aif_tree *t, uint32_t name, size_t *ret_len)
{
	const char *s = aif_strset_get(&t->names, name, ret_len) + 1;

	*ret_len -= 1;
	return s;
}

/* Multiplies all values by ten and scale with them; false, with nothing changed, if that would
 * overflow. */
bool aif_tree_rescale(struct aif_tree *t);

/* Sums up and orders the children, once all values are in. Deterministic: the order depends on the
 * texts only. 0, -ENOMEM, or -EOVERFLOW when the values do not sum to less than 2^64. */
int aif_tree_seal(struct aif_tree *t);
