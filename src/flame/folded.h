/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "text/out.h"
#include "names/tree.h"

/*
 * Folded text: a stack a line, "frame;frame;frame COUNT", root first, the count behind the last
 * space. The kind of a frame is a suffix of its name: `_[p]` Python, `_[k]` OS kernel, `_[g]`
 * device, `_[i]` inlined. Native frames have none.
 */

struct aif_folded_stats {
	uint64_t lines, bad; /* bad: not of this form, left out */
	uint64_t first_bad;  /* its line number, from 1; 0 = none */
	uint64_t stacks;     /* lines that went into the tree */
	bool is_utf16;       /* the first line is text in UTF-16, of which import makes a profile */
	bool is_rounded;     /* a count had more decimals than could be kept */
};

/* Adds the stacks of the text in fd to the tree, which must not be sealed. `name` is for
 * messages. Counts may have decimals: the tree's scale grows as they need it. Empty frames are
 * left out, empty lines are no error. 0; -ENODATA when no line has a stack; another -errno; *err
 * is set. *ret_stats is filled in any case. */
int aif_folded_read(int fd, const char *name, struct aif_tree *t,
		    struct aif_folded_stats *ret_stats, struct aif_err *err);

/* Appends a sentence about what was left out; false if nothing was. */
bool aif_folded_warning(const struct aif_folded_stats *s, const char *name, struct aif_buf *ret);

/* The sealed tree's stacks, in its order. Their counts sum to the tree's total exactly. */
void aif_folded_write(const struct aif_tree *t, struct aif_out *out);

/* Appends one frame of it, with the suffix of its kind: a name of the tree. */
void aif_folded_frame(struct aif_buf *b, const struct aif_tree *t, uint32_t name);

/* "12", "0.5": a value of the tree in units of its counts. */
void aif_folded_count(struct aif_buf *b, uint64_t value, uint32_t scale);
