/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/blame.h"
#include "base/map.h"

/* Idle time in the making: amounts by device, cause and stack, which become whole ns that add up on each device. */
struct aif_idle_sums {
	struct aif_idle_blame *to;
	/* Amounts of each row. .seen is the largest one that was added with the row's .seen. */
	double *ns, *gap, *drained, *seen;
	size_t ns_cap, gap_cap, drained_cap, seen_cap;
	struct aif_map row_of; /* aif_idle_row_key() -> row */
};

/* Adds `ns` of `row`, in gaps of `gap_ns`; the row's amounts do not matter; row->drain is the stack of a wait behind which they are, or AIF_NONE;
 * row->seen is the stack of what T was seen in meanwhile, or AIF_NONE. 0 or -ENOMEM. */
int aif_idle_sums_add(struct aif_idle_sums *s, const struct aif_idle_row *row, double ns,
		      double gap_ns);
/* Sets the amounts of s->to, so that the rows of each device are its idle time; of one without rows the cause is unknown. 0 or
 * -ENOMEM. */
int aif_idle_sums_round(struct aif_idle_sums *s);
/* Orders the rows by time, longest first. */
void aif_idle_sums_sort(struct aif_idle_blame *b);
void aif_idle_sums_finish(struct aif_idle_sums *s);
