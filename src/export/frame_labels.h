/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/fold_rules.h"
#include "export/tree.h"
#include "profile/model.h"

/*
 * How the frames of a profile are written in a tree: labels, kinds, and what the folding rules say of
 * them. Each frame is looked at once.
 */

struct aif_frame_label {
	uint32_t name; /* in the tree */
	uint32_t full; /* in tree->full: the name in full, AIF_STR_NONE if the label says it all */
	uint32_t module; /* of native code, else AIF_NONE */
	enum aif_fold_action action;
};

struct aif_frame_labels;

struct aif_frame_labels_opts {
	enum aif_name_detail detail;
	bool lines; /* "f (file.c:12)" instead of "f" */
};

/* The tree and the profile must outlive it. 0 or -ENOMEM. */
int aif_frame_labels_new(const struct aif_profile *p, struct aif_tree *t,
			 const struct aif_frame_labels_opts *o, struct aif_frame_labels **ret);
void aif_frame_labels_free(struct aif_frame_labels *l);

/* The labels of a frame, outermost first. A host frame has its function and what is inlined into it; a
 * device frame its source lines, if known, and its instruction. At least one; NULL when memory runs
 * out. Valid until the next call. */
const struct aif_frame_label *aif_frame_labels_get(struct aif_frame_labels *l, uint32_t frame,
						   size_t *ret_len);

/* A kernel, or the kind of a transfer: "[read]". */
int aif_frame_labels_kernel(struct aif_frame_labels *l, uint32_t kernel, unsigned kind,
			    struct aif_frame_label *ret);
