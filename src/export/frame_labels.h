/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "export/fold_rules.h"
#include "export/stack_owner.h"
#include "export/tree.h"
#include "profile/backward.h"

/*
 * How the frames of a profile are written in a tree: labels, kinds, and what the folding rules say of
 * them. Each frame is looked at once.
 */

struct aif_frame_label {
	uint32_t name; /* in the tree */
	uint32_t full; /* in tree->full: the name in full, AIF_STR_NONE if the label says it all */
	uint32_t module; /* of native code, else AIF_NONE */
	uint32_t file;   /* of Python's, 1 + a string of the profile, else 0 */
	enum aif_fold_action action;
};

/* Where a walk from a stack's root on has got to, for the rules that ask what is shown before a frame. */
struct aif_frame_fold {
	uint32_t module; /* of the last frame that is shown, AIF_NONE if it is not native code */
	unsigned type;   /* its enum aif_tree_type; AIF_TREE_ROOT: nothing is shown yet */
	uint32_t file;   /* of the last Python frame that is not generated, as a label has it */
	bool is_started; /* something but the start of a process or thread was there */
};
#define AIF_FRAME_FOLD_ROOT ((struct aif_frame_fold){.module = AIF_NONE, .type = AIF_TREE_ROOT})

/* What becomes of the next label, which is of `type`: AIF_FOLD_SHOW, _HIDE or _START; *f is moved on. */
enum aif_fold_action aif_frame_fold(struct aif_frame_fold *f, const struct aif_frame_label *l,
				    unsigned type);

/* Stacks that are not exact stand on a word that says so, and those of others' threads on whose they are: by flavour,
 * enum aif_stack_flag or AIF_STACK_FLAGS + enum aif_stack_owner. NULL: neither. */
#define AIF_STACK_FLAGS    8u
#define AIF_STACK_FLAVOURS (AIF_STACK_FLAGS + AIF_OWNER_COUNT)
const char *aif_stack_mark(unsigned flavour);
/* What the mark means, NULL where it says it all. */
const char *aif_stack_mark_full(unsigned flavour);
#define AIF_STACK_UNKNOWN "[no stack]"

/* What stands in place of the stack of samples that no launch explains, and of their kernel where it is not known. */
void aif_unmatched_owner(const struct aif_profile *p, uint32_t process, struct aif_buf *ret);
#define AIF_UNMATCHED_KERNEL "[unknown shader]"

struct aif_frame_labels;

struct aif_frame_labels_opts {
	enum aif_name_detail detail;
	bool lines; /* "f (file.c:12)" instead of "f" */
};

/* The tree and the profile must outlive it. 0 or -ENOMEM. */
int aif_frame_labels_new(const struct aif_profile *p, struct aif_tree *t,
			 const struct aif_frame_labels_opts *o, struct aif_frame_labels **ret);
void aif_frame_labels_free(struct aif_frame_labels *l);

/* The flavour of a stack, which is not AIF_NONE. */
unsigned aif_frame_labels_flavour(const struct aif_frame_labels *l, uint32_t stack);

/* The labels of a frame, outermost first. A host frame has its function and what is inlined into it; a
 * device frame its function and what is inlined into it, its source line, if known, and its instruction. At
 * least one; NULL when memory runs out. Valid until the next call. */
const struct aif_frame_label *aif_frame_labels_get(struct aif_frame_labels *l, uint32_t frame,
						   size_t *ret_len);

/* What stands for a stack of which folding leaves nothing: its outermost function that has a name, and rather one that
 * is not how every process and thread starts. 0; -ENOENT if none has a name, -ENOMEM. */
int aif_frame_labels_kept(struct aif_frame_labels *l, uint32_t stack, struct aif_frame_label *ret);

/* The labels of a device frame as they stand on that of `kernel`: without the kernel's own function. */
const struct aif_frame_label *aif_frame_labels_inside(struct aif_frame_labels *l, uint32_t frame,
						      uint32_t kernel, size_t *ret_len);

/* A kernel, or the kind of a transfer: "[read]". */
int aif_frame_labels_kernel(struct aif_frame_labels *l, uint32_t kernel, unsigned kind,
			    struct aif_frame_label *ret);

/* "[backward] AddmmBackward0": what stands between the forward that made a node and what the node launched; in .full how
 * that was found. */
int aif_frame_labels_backward(struct aif_frame_labels *l, const struct aif_backward *b,
			      const struct aif_backward_part *part, struct aif_frame_label *ret);

/* Why it stalled (a string of the profile), what that means in .full. Hidden and exposed are one, but in full
 * detail. */
int aif_frame_labels_reason(struct aif_frame_labels *l, uint32_t reason,
			    struct aif_frame_label *ret);
