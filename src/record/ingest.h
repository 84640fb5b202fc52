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

/* Into a table of the target's own, which its account pays for. AIF_NONE is not put. */
void aif_ingest_put(struct aif_store *s, struct aif_map *m, uint64_t key, uint32_t id);
/* A kernel's name as its programmer wrote it, of the store: CUDA's are C++ functions. */
uint32_t aif_ingest_kernel_name(struct aif_store *s, const char *name, size_t len);
