/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "base/buf.h"

/*
 * Texts of a column that is narrower than they are. Names that are alike differ at their ends, so a long one loses its
 * middle: "sgemm_128x…_nt_align1". Where two that differ would look the same, each shows the place where they do
 * instead: "sm80_x…_tn_n_til…cublas". Widths are in characters, of which a terminal is taken to show each in one
 * column.
 */

#define AIF_CUT_LEAST ((size_t)8) /* characters; less is taken for this */

size_t aif_cut_width(const void *text, size_t len);
/* One alone. */
void aif_cut_text(const void *text, size_t len, size_t width, struct aif_buf *ret);

/* A column's. A zeroed struct is an empty column. */
struct aif_cuts {
	struct aif_strset texts, cuts;
	uint32_t *cut_of; /* text -> its string of `cuts` */
	size_t cut_of_cap;
};

/* All that will be asked for, in any order, then once for all of them what they are cut to. 0 or -ENOMEM. */
int aif_cuts_add(struct aif_cuts *c, const void *text, size_t len);
int aif_cuts_make(struct aif_cuts *c, size_t width);
/* Of a text that was added, valid until the column is finished. */
const char *aif_cuts_get(const struct aif_cuts *c, const void *text, size_t len, size_t *ret_len);
void aif_cuts_finish(struct aif_cuts *c);
