/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/exec_timeline.h"
#include "analysis/range_index.h"

/* Names of ranges in tables: as the program marked them, those of XLA's as people read them, and which of XLA's
 * instructions a node of a replayed graph is of. A zeroed struct is an empty one. */
struct aif_range_labels {
	const struct aif_profile *p;
	struct aif_strset texts;
	struct aif_map known;  /* name << 32 | payload -> text */
	struct aif_map folded; /* text -> that of all that differ in numbers only */
	struct aif_range_index index;
};

/* 0 or -errno; *ret is finished by the caller in any case. */
int aif_range_labels_make(const struct aif_profile *p, struct aif_range_labels *ret);
void aif_range_labels_finish(struct aif_range_labels *l);

/* Returns the number of a range's label, AIF_STR_NONE when memory runs out. name, payload: strings of the profile, or
 * AIF_NONE. */
uint32_t aif_range_label(struct aif_range_labels *l, uint32_t name, uint32_t payload);
/* Makes one of the labels so far that differ in numbers only, where they are more than AIF_RANGE_VARIANTS ("step *"), as
 * frames of ranges are. Later calls give that one. 0 or -ENOMEM. */
int aif_range_labels_fold(struct aif_range_labels *l);
const char *aif_range_label_text(const struct aif_range_labels *l, uint32_t label);

/* Returns the label of the instruction whose node of a graph the execution was, or AIF_STR_NONE: none is known. */
uint32_t aif_range_label_of_exec(struct aif_range_labels *l, const struct aif_exec_timeline *t,
				 const struct aif_timeline_exec *x);
