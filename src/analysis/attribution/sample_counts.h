/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution/classify.h"

/* Counts of the samples of the time asked for by what became of them, as in struct
 * aif_conservation. */
struct aif_sample_counts {
	uint64_t attributed, unmatched, outside, off, in_flight;
	/* Not of that time after all: their window lies in it partly, and their kernel ran in the
	 * other part. */
	uint64_t cut;
};

/* Returns the count for a sample whose execution is not known because of when collection ran:
 * .off, .in_flight, or NULL if that is not why. `name` is its kernel's, AIF_NONE for what some
 * kernel calls. */
uint64_t *aif_sample_counts_uncollected(struct aif_sample_counts *counts, const struct aif_scope *s,
					const struct aif_loaded *l, const struct aif_classified *c,
					const struct aif_sample_row *row, uint32_t name);
