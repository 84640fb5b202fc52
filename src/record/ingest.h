/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/target.h"

/* Wire records -> rows and tables of the store. Runs under the store's lock. */
struct aif_ingest {
	struct aif_drainer *drainer;
	struct aif_target *target;
	struct aif_target_slot *slot;
	uint32_t slot_index;
};

/* One valid record (aif_wire_valid); for aif_ring_drain. */
void aif_ingest_record(void *ingest, const void *record);

/* Launches and executions that named a kernel or a stream whose definition lay in a ring that was
 * drained later: by now it is there, or never will be. */
void aif_ingest_deferred(struct aif_drainer *d, struct aif_target *t);
