/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/ingest.h"

/*
 * Ranges and steps that the program itself tells of (include/aiflame.h): begins and ends, of one thread each, become
 * rows of ops. What was lost or not collected is recognised by how deep each stands: a range whose end was not
 * heard of is dropped. Runs under the store's lock.
 */

/* Open ranges of one thread at a time. */
#define AIF_PROGRAM_RANGES_OPEN 64

struct aif_program_ranges {
	uint32_t len;
	bool in_step;
	uint64_t step, step_start;
	struct {
		uint64_t start;
		uint32_t name, depth;
	} open[AIF_PROGRAM_RANGES_OPEN]; /* depths grow */
};

/* Takes in one valid AIF_WIRE_MARK. */
void aif_program_ranges_record(struct aif_ingest *in, const struct aif_wire_mark *r);
/* Another thread has the slot. */
void aif_program_ranges_forget(struct aif_target_slot *slot);
/* The process has ended, or the recording: what is open ends at `end`. */
void aif_program_ranges_last(struct aif_drainer *d, struct aif_target *t, uint64_t end);
