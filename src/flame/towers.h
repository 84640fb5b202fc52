/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "flame/build.h"

#include "analysis/backward.h"
#include "names/filter.h"
#include "names/frame_labels.h"

/* The call tree while it is built: of device time and idle time (build.c), of CPU samples (build_cpu.c). */

/* Place of a stack in the tree. Callers are shared, so each stack's last frame is placed once. */
struct place {
	uint32_t node;
	struct aif_frame_fold fold;
	uint8_t hits;      /* enum aif_filter_hit */
	uint32_t known_on; /* in which of towers.on, from 1; 0: it has no place */
};

struct towers {
	const struct aif_profile *p;
	const struct aif_names *names;
	const struct aif_flame_opts *o;
	struct aif_tree *tree;
	struct aif_frame_labels *labels;
	struct aif_filter filter;
	struct aif_regex kernel;
	struct aif_map label_hits; /* by name and full name */
	/* Places by stack; NULL until one is needed. Callers of a stack that stands on a mark are placed
	 * apart, and those of a bare one. */
	struct place *places[2][AIF_STACK_FLAVOURS];
	uint32_t *path; /* stacks to place, innermost first */
	size_t path_cap;
	const struct aif_backward *backward;
	struct place *part_places; /* by part of .backward */
	struct aif_attribution_row *shares;
	size_t shares_cap;
	/* Base of the stacks: the root, or one thread after the other. */
	struct place on;
	/* True if times are not known, or are none: some imported profiles. */
	bool is_untimed;
	bool of_cpu; /* CPU time is drawn */
	size_t row;  /* the one that is being placed */
};

#define ON_ROOT ((struct place){.fold = AIF_FRAME_FOLD_ROOT, .known_on = 1})

/* Before the first stack is placed. 0 or -errno with *err. */
int aif_towers_begin(struct towers *t, struct aif_err *err);
/* Frees all but the tree, which becomes *ret unless `r`, the result so far, is an error. Returns r. */
int aif_towers_finish(struct towers *t, int r, struct aif_tree *ret);

/* Places a stack and all of its callers that have no place yet. 0 or -errno. */
int aif_towers_stack(struct towers *t, uint32_t stack, struct place *ret);
/* Places a frame by its label above *at, as folding has it. 0 or -ENOMEM. */
int aif_towers_label(struct towers *t, const struct aif_frame_label *l, struct place *at);
/* Adds a label to the tooltip of a node, whose own it is or into which it was folded. 0 or -ENOMEM. */
int aif_towers_label_full(struct towers *t, uint32_t node, const struct aif_frame_label *l,
			  bool is_own);
/* Places a note above *at. *text is finished. */
int aif_towers_note(struct towers *t, struct aif_buf *text, struct place *at);
/* Places the ranges of a row above *at, outermost first: 1 + a chain, or 0 for none. */
int aif_towers_ranges(struct towers *t, uint32_t range, struct place *at);
/* Places a frame, with what is inlined into it, above *at. */
int aif_towers_frame(struct towers *t, uint32_t frame, struct place *at);
/* Places one element of a chain of ranges above *at. */
int aif_towers_range(struct towers *t, const struct aif_range_chain *chain, struct place *at);
/* Places a graph's number, and what made the row's node, above *at, where the row's launch stands (build_graph.c). */
int aif_towers_graph(struct towers *t, const struct aif_attribution_row *row, struct place *at);
