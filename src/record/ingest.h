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

/* The process has ended: what its threads launched in blocks of the overhead budget that they did not
 * live to tell about. */
void aif_ingest_last_blocks(struct aif_drainer *d, struct aif_target *t, uint64_t now);

/* What named a device, a program, a stream or a kernel whose definition lies in another ring. That was
 * written before, but one ring may be looked at too early for it and the other one later: only when all
 * rings were drained once more is it there, or never will be. The first `old` have waited for that. */
void aif_ingest_deferred(struct aif_drainer *d, struct aif_target *t, size_t old);
