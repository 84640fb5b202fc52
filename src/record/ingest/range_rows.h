/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/ingest.h"

/* Rows of ops that are made of marks. Run under the store's lock. */

struct aif_open_range {
	uint64_t start;
	uint32_t name, depth, text; /* text: string of what came with it, or AIF_NONE */
};

/* Returns the next row, with its times and thread filled in; NULL: there is no room, which is counted. */
struct aif_op_row *aif_range_row_next(struct aif_ingest *in, enum aif_op_kind kind, uint32_t thread,
				      uint64_t start, uint64_t end);
/* Adds the row of a range of `thread`. */
void aif_range_row_add(struct aif_ingest *in, enum aif_op_kind kind, uint32_t thread,
		       const struct aif_open_range *range, uint64_t end);
