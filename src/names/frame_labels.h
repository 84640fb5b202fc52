/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "names/fold_rules.h"
#include "names/profile_names.h"
#include "names/stack_marks.h"
#include "names/tree.h"
#include "analysis/backward.h"

/*
 * Labels and kinds of the frames of a profile, and what the folding rules decide about them. Each
 * frame is looked at once.
 */

struct aif_frame_label {
	uint32_t name; /* in the tree */
	uint32_t full; /* in tree->full: the name in full, AIF_STR_NONE if the label says it all */
	uint32_t module; /* of native code, else AIF_NONE */
	uint32_t file;   /* of Python's, 1 + a string of the profile, else 0 */
	enum aif_fold_action action;
	enum aif_fold_action bare_action; /* in a bare stack */
};

/* The state of a walk from a stack's root, for rules that depend on the frames shown before. */
struct aif_frame_fold {
	uint32_t module; /* of the last frame that is shown, AIF_NONE if it is not native code */
	unsigned type;   /* its enum aif_tree_type; AIF_TREE_ROOT: nothing is shown yet */
	uint32_t file;   /* of the last Python frame that is not generated, as a label has it */
	bool is_started; /* something but the start of a process or thread was there */
	bool is_bare; /* the stack has no Python frames: what its interpreter does stands for itself */
};
#define AIF_FRAME_FOLD_ROOT ((struct aif_frame_fold){.module = AIF_NONE, .type = AIF_TREE_ROOT})

/* Decides about the next label, which is of `type`: AIF_FOLD_SHOW, _HIDE or _START; advances *f. */
enum aif_fold_action aif_frame_fold(struct aif_frame_fold *f, const struct aif_frame_label *l,
				    unsigned type);

/* Returns by stack whether it has a Python frame, in memory for free(). NULL when memory runs out. */
uint8_t *aif_stacks_with_python(const struct aif_profile *p);

struct aif_frame_labels;

struct aif_frame_labels_opts {
	enum aif_name_detail detail;
	bool lines; /* "f (file.c:12)" instead of "f" */
	bool of_cpu; /* CPU time is shown: hiding a stack's innermost frame gives its time to another */
};

/* The tree and the names must outlive it. 0 or -ENOMEM. */
int aif_frame_labels_new(const struct aif_names *names, struct aif_tree *t,
			 const struct aif_frame_labels_opts *o, struct aif_frame_labels **ret);
void aif_frame_labels_free(struct aif_frame_labels *l);

/* The flavour of a stack, which is not AIF_NONE. */
unsigned aif_frame_labels_flavour(const struct aif_frame_labels *l, uint32_t stack);

/* True of a stack without Python frames in a view of CPU time. */
bool aif_frame_labels_is_bare(const struct aif_frame_labels *l, uint32_t stack);

/* Returns the end of a source file's path that labels have: its last part, and the directory's before it where that names
 * many files, as __init__.py does. */
const char *aif_source_name(const char *path);

/* The labels of a frame, outermost first. A host frame has its function and what is inlined into it; a
 * device frame its function and what is inlined into it, its source line, if known, and its instruction. At
 * least one; NULL when memory runs out. Valid until the next call. */
const struct aif_frame_label *aif_frame_labels_get(struct aif_frame_labels *l, uint32_t frame,
						   size_t *ret_len);

/* Returns the frame shown for a stack that folding hides entirely: its outermost named function,
 * preferably none with which every process and thread starts. 0; -ENOENT if none has a name,
 * -ENOMEM. */
int aif_frame_labels_kept(struct aif_frame_labels *l, uint32_t stack, struct aif_frame_label *ret);

/* The labels of a device frame as they stand on that of `kernel`: without the kernel's own function. */
const struct aif_frame_label *aif_frame_labels_inside(struct aif_frame_labels *l, uint32_t frame,
						      uint32_t kernel, size_t *ret_len);

/* A kernel, or a transfer: "Memcpy HtoD (Pageable -> Device)". */
int aif_frame_labels_kernel(struct aif_frame_labels *l, uint32_t kernel, unsigned kind,
			    struct aif_frame_label *ret);

/* "[backward] AddmmBackward0": what stands between the forward that made a node and what the node launched; in .full how
 * that was found. */
int aif_frame_labels_backward(struct aif_frame_labels *l, const struct aif_backward *b,
			      const struct aif_backward_part *part, struct aif_frame_label *ret);

/* Labels a stall reason (a string of the profile), with its meaning in .full. Hidden and exposed
 * are one, except at full detail. */
int aif_frame_labels_reason(struct aif_frame_labels *l, uint32_t reason,
			    struct aif_frame_label *ret);
