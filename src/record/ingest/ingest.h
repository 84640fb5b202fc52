/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/ids.h"

/* Wire records -> rows and tables of the store. Runs under the store's lock. */
struct aif_ingest {
	struct aif_drainer *drainer;
	struct aif_target *target;
	struct aif_target_slot *slot;
	uint32_t slot_index;
};

/* Takes in one valid record (aif_wire_valid); for aif_ring_drain. */
void aif_ingest_record(void *ingest, const void *record);

/* Makes rows of the blocks of the overhead budget that a process's threads were in when it ended. */
void aif_ingest_last_blocks(struct aif_drainer *d, struct aif_target *t, uint64_t now);
