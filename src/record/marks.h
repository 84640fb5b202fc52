/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest.h"

/*
 * Ranges and steps that the program itself tells of (include/aiflame.h): begins and ends, of one thread each, become
 * rows of ops. What was lost or not collected is recognised by how deep each stands: a range whose end was not
 * heard of is dropped. Runs under the store's lock.
 */

/* Of one thread at a time. */
#define AIF_MARKS_OPEN 64

struct aif_marks {
	uint32_t len;
	bool in_step;
	uint64_t step, step_start;
	struct {
		uint64_t start;
		uint32_t name, depth;
	} open[AIF_MARKS_OPEN]; /* depths grow */
};

/* One valid AIF_WIRE_MARK. */
void aif_marks_record(struct aif_ingest *in, const struct aif_wire_mark *r);
/* Another thread has the slot. */
void aif_marks_forget(struct aif_target_slot *slot);
/* The process has ended, or the recording: what is open ends at `end`. */
void aif_marks_last(struct aif_drainer *d, struct aif_target *t, uint64_t end);
