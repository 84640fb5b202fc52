/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/range_rows.h"

struct aif_op_row *aif_range_row_next(struct aif_ingest *in, enum aif_op_kind kind, uint32_t thread,
				      uint64_t start, uint64_t end)
{
	struct aif_store *s = in->drainer->store;
	struct aif_op_row *row = aif_batches_row(&s->batches, AIF_BATCH_OP);

	if (!row) {
		aif_store_loss(s, AIF_REASON_WRITER_BEHIND, in->target->process,
			       aif_store_puts(s, "ranges"), 1);
		return NULL;
	}
	*row = (struct aif_op_row){.start = start,
				   .end = AIF_MAX(start, end),
				   .clock = AIF_CLOCK_MONOTONIC,
				   .thread = thread,
				   .name = AIF_NONE,
				   .kind = kind,
				   .shapes = AIF_NONE,
				   .types = AIF_NONE,
				   .stack = AIF_NONE,
				   .sequence = -1};
	return row;
}

void aif_range_row_add(struct aif_ingest *in, enum aif_op_kind kind, uint32_t thread,
		       const struct aif_open_range *range, uint64_t end)
{
	struct aif_op_row *row = aif_range_row_next(in, kind, thread, range->start, end);

	if (!row)
		return;
	row->name = range->name;
	row->shapes = range->text;
}
