/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "base/buf.h"

/*
 * Texts of a column that is narrower than they are. Names that are alike differ at their ends, so a
 * long one loses its middle: "sgemm_128x…_nt_align1". Where two that differ would look the same,
 * each shows the place where they do instead: "sm80_x…_tn_n_til…cublas". Widths are in characters,
 * of which a terminal is taken to show each in one column.
 */

#define AIF_ELIDE_LEAST ((size_t)8) /* characters; less is taken for this */

size_t aif_elide_width(const void *text, size_t len);
/* Cuts a single text to `width` columns, whatever others are in the column. */
void aif_elide(const void *text, size_t len, size_t width, struct aif_buf *ret);

/* A column's. A zeroed struct is an empty column. */
struct aif_elider {
	struct aif_strset texts, cuts;
	uint32_t *cut_of; /* text -> its string of `cuts` */
	size_t cut_of_cap;
};

/* All that will be asked for, in any order, then once for all of them what they are cut to. 0 or
 * -ENOMEM. */
int aif_elider_add(struct aif_elider *c, const void *text, size_t len);
int aif_elider_make(struct aif_elider *c, size_t width);
/* Returns what to print for a text that was added; valid until the column is finished. */
const char *aif_elider_get(const struct aif_elider *c, const void *text, size_t len,
			   size_t *ret_len);
void aif_elider_finish(struct aif_elider *c);
