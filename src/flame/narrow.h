/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "flame/layout.h"
#include "text/out.h"

/*
 * Frames that are too narrow to draw are in the picture by name and width, so that the script finds
 * them, draws them on zooming in, and counts them all: the widest 200,000 with at most 4 MiB of
 * names. Of further ones there is only the width.
 *
 * The text of <metadata id="narrow">: a line for each name, "class KIND\tlabel" and, where the
 * tooltip has one, "\tfull name"; an empty line; then for each frame four numbers: how many drawn
 * frames come since the one before, in the order of callers before callees and left to right, its
 * depth, its width in billionths of the whole, its name. Name 0 has no line: "that many frames
 * beside each other are not in this file", and the number of them follows.
 */

/* drawn: what the picture draws. *ret_missing: frames of which there is the width alone. 0 or
 * -ENOMEM. */
int aif_flame_narrow_put(const struct aif_tree *t, const struct aif_flame_layout *drawn,
			 uint32_t max_depth, struct aif_out *out, uint64_t *ret_missing);

/* Frames beside each other that have no box, under one that has. */
struct aif_flame_hole {
	uint32_t caller, depth;        /* node; depth of the frames */
	uint64_t start, value, frames; /* in the tree's units; what they call is counted, too */
};

/* Holes of at least min_value, left to right, for free(). 0 or -ENOMEM. */
int aif_flame_holes(const struct aif_tree *t, const struct aif_flame_layout *drawn,
		    uint64_t min_value, struct aif_flame_hole **ret, size_t *ret_len);
