/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/tree.h"

/* Chooses which frames of a tree are drawn, and where. */

struct aif_flame_box {
	uint32_t node, depth;
	uint64_t start; /* in the tree's units, from the left */
};

struct aif_flame_layout {
	struct aif_flame_box *boxes; /* callers before callees, left to right */
	size_t len;
	uint32_t depth;    /* rows: 1 + the deepest box's depth */
	uint64_t left_out; /* frames with a value that have no box */
};

/* Drops what is narrower than min_value, then the narrowest beyond max_boxes, then what is deeper
 * than max_depth. A frame that is drawn has its callers drawn, and widths never change. 0 or
 * -ENOMEM. */
int aif_flame_layout(const struct aif_tree *t, uint64_t min_value, size_t max_boxes,
		     uint32_t max_depth, struct aif_flame_layout *ret);
void aif_flame_layout_finish(struct aif_flame_layout *l);

/* A way through a sealed tree: callers before callees, left to right, without recursion. */
struct aif_flame_walk {
	const struct aif_tree *tree;
	struct aif_flame_box at; /* where it is; the root to begin with */
	uint64_t *starts;        /* of the callers, by depth */
	size_t starts_cap;
};

static inline struct aif_flame_walk aif_flame_walk_begin(const struct aif_tree *t)
{
	return (struct aif_flame_walk){.tree = t};
}
/* Moves w->at on, to the callees of where it is only with `inside`. 1; 0 at the end; -ENOMEM.
 * Finished in any case. */
int aif_flame_walk_next(struct aif_flame_walk *w, bool inside);
void aif_flame_walk_finish(struct aif_flame_walk *w);
