/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "names/names.h"

/* Rules that choose which host frames a view shows, as data (fold_rules.def). They only ever
 * hide or rename frames of a picture; times and totals are the same with and without. */

enum aif_fold_action {
	AIF_FOLD_SHOW,
	AIF_FOLD_START,  /* hidden as long as nothing but such frames was seen from the root on */
	AIF_FOLD_HIDE,   /* hidden; the caller's tooltip names it */
	AIF_FOLD_INSIDE, /* the same, if the caller that is shown is of the same type */
	AIF_FOLD_INSIDE_MODULE, /* the same, if it is in the same module */
	AIF_FOLD_RENAME,        /* shown under the rule's label */
	AIF_FOLD_GENERATED,     /* hidden, if a Python function of another file has called it */
};

/* A flag or-ed to the type: the profile has Python frames. */
#define AIF_FOLD_WITH_PYTHON 0x80
/* A flag or-ed to AIF_TREE_PYTHON: the frame is of an installed package or the standard library. */
#define AIF_FOLD_PACKAGE 0x100

/* A flag or-ed to the type: the stack has no Python frame, and its frames' own time is shown. */
#define AIF_FOLD_BARE 0x200

/* Decides what happens at this detail to a frame of an enum aif_tree_type (AIF_TREE_INLINED
 * or-ed) and name: the function's for native frames, the label for Python's. `module`: the name
 * of the file that native code is in, without folders, else "". A label is appended to
 * *ret_label for AIF_FOLD_RENAME only. */
enum aif_fold_action aif_fold(enum aif_name_detail detail, unsigned type, const char *name,
			      size_t len, const char *module, struct aif_buf *ret_label);
