/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/range_rows.h"

/*
 * Ranges and steps of programs: those that they tell of by include/aiflame.h, and those that they and their libraries
 * mark with NVTX. Begins and ends, of one thread each, become rows of ops. What was lost or not collected is recognised
 * by how deep each stands: a range whose end was not heard of is dropped. Runs under the store's lock.
 */

/* Open ranges of one thread at a time, of each kind. */
#define AIF_PROGRAM_RANGES_OPEN 64

/* Open ranges, outermost first: depths grow. */
struct aif_open_ranges {
	uint32_t len;
	struct aif_open_range at[AIF_PROGRAM_RANGES_OPEN];
};

struct aif_program_ranges {
	bool in_step;
	uint64_t step, step_start;
	uint64_t last;                    /* time of the thread's last mark */
	struct aif_open_ranges program;   /* by aiflame.h */
	struct aif_open_ranges marked;    /* by NVTX: their depths are apart from the others' */
	struct aif_open_ranges operators; /* a framework's, likewise */
};

/* Takes in one valid AIF_WIRE_MARK. */
void aif_program_ranges_record(struct aif_ingest *in, const struct aif_wire_mark *r);
/* Another thread is about to have the slot. */
void aif_program_ranges_forget(struct aif_ingest *in);
/* The process has ended, or the recording: what is open ends at `end`. */
void aif_program_ranges_last(struct aif_drainer *d, struct aif_target *t, uint64_t end);
