/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/store.h"

/*
 * Frames of device code whose addresses are multiples of 8, as EU instructions' are: what the store would say, with those
 * of 16 places in a cache line. Samples are of up to a million instructions, which are looked for each second; the
 * store's own table of so many is larger than a core's caches, so that each look waits for memory.
 *
 * Bounded: when it is full it begins anew.
 */
#define AIF_PLACE_FRAMES_BLOCK 64

struct aif_code_map_frames {
	struct aif_map blocks; /* module, address of its first byte -> index */
	struct aif_code_map_frames_block {
		uint32_t frames[AIF_PLACE_FRAMES_BLOCK]; /* + 1, 0 = not known yet */
	} * at;
	size_t len, cap;
	uint64_t last_key; /* that was asked for */
	uint64_t fetched;  /* and that was fetched */
	size_t last;
};

void aif_code_map_frames_finish(struct aif_code_map_frames *f);

/* First for many, then for each of them: so that misses are waited for once. */
void aif_code_map_frames_prefetch(struct aif_code_map_frames *f, uint32_t module, uint64_t address);
/* aif_store_frame(s, AIF_FRAME_DEVICE, module, address). */
uint32_t aif_code_map_frames_get(struct aif_code_map_frames *f, struct aif_store *s,
				 uint32_t module, uint64_t address);
