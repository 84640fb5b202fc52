/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/target.h"

/* From ids and names of agents to those of the store. Everything needs the store's lock. */

/* Returns the id that a table of the target's has for the agent's `key`, or AIF_NONE. */
static inline uint32_t aif_ingest_get(const struct aif_map *m, uint64_t key)
{
	uint64_t id;

	return aif_map_get(m, key, &id) ? (uint32_t)id : AIF_NONE;
}
/* Puts an id into a table of the target's, which its quota pays for. AIF_NONE is not put. */
void aif_ingest_put(struct aif_store *s, struct aif_map *m, uint64_t key, uint32_t id);
/* Returns the store's string of a kernel's name as its programmer wrote it: CUDA's are mangled C++ names. */
uint32_t aif_ingest_kernel_name(struct aif_store *s, const char *name, size_t len);
/* Returns the store's thread `tid` of the target; name: NULL = as /proc has it. */
uint32_t aif_target_thread(struct aif_drainer *d, struct aif_target *t, uint32_t tid,
			   const char *name);
