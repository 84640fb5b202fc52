/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"
#include "analysis/attribution/scope.h"

/* Samples that a device has counted and no launch explains. They become rows of their own
 * (.unmatched of struct aif_attribution). */
struct aif_unmatched {
	AIF_TABLE(aif_sample_row, samples);
	AIF_TABLE(aif_attribution_row, rows);
};

/* Adds a sample. 0 or -ENOMEM. */
int aif_unmatched_add(struct aif_unmatched *u, const struct aif_sample_row *row);
/* Makes a row of each process, device, frame and reason, after all samples were added. 0 or
 * -ENOMEM. */
int aif_unmatched_make_rows(struct aif_unmatched *u, const struct aif_scope *s);
void aif_unmatched_finish(struct aif_unmatched *u);
