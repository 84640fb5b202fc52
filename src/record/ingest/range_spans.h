/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/range_rows.h"

/*
 * Ranges of a process that one thread may begin and another end (AIF_MARK_START, AIF_MARK_FINISH). The two come in two
 * rings, in any order: whichever is first waits for the other. They belong to the thread that began them. Runs under
 * the store's lock.
 */

/* Ends that wait at a time. */
#define AIF_RANGE_SPANS 4096

struct aif_range_spans;

void aif_range_spans_record(struct aif_ingest *in, const struct aif_wire_mark *r);
/* Ends at `end` the ranges that have begun. */
void aif_range_spans_last(struct aif_drainer *d, struct aif_target *t, uint64_t end);
