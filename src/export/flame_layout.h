/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/tree.h"

/* Which frames of a tree are drawn, and where. */

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
