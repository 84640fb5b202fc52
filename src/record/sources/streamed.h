/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/ingest.h"

/*
 * Samples that an agent reads off a whole device (AIF_WIRE_WINDOW_ADDRESSES): Level Zero's metrics streamer. They are
 * kept until all rings have been read since, then joined as the xe driver's own are (stall_join.h).
 *
 * Who samples: the recorder, if the xe driver lets it (xe_stream.h), since one reader serves all processes. An agent
 * may sample a device that the recorder cannot. Everything needs the store's lock.
 */

/* Samples of all processes that are kept at a time: more are lost, and counted. 16 bytes each. */
#define AIF_STREAMED_MAX (UINT32_C(1) << 20)

struct aif_streamed_window; /* whose samples are not yet joined */

/* The state of the source. */
struct aif_streamed {
	struct aif_streamed_window *windows;
	size_t samples;           /* in all of them */
	bool any_reader;          /* an agent may sample a device */
	struct aif_map read_gpus; /* whose samples somebody has read, by pci */
	struct aif_over_soon {    /* processes that ended before anybody had, by device */
		uint32_t pci, device;
		uint64_t processes;
	} over_soon[AIF_GPUS];
	unsigned over_soon_len;
};

/* Begins a window, of a device of the store. False: it cannot be kept. */
bool aif_streamed_window(struct aif_ingest *in, const struct aif_wire_window *r, uint32_t device);
/* Adds samples of a window. */
void aif_streamed_pc(struct aif_ingest *in, const struct aif_wire_pc *r);

/* Notes that somebody reads samples of the card at `pci` (wire.h; 0: its address is not known). */
void aif_streamed_read(struct aif_drainer *d, uint32_t pci);
/* Returns up to when code that has ended is still needed for windows to come: `since` at the latest. */
uint64_t aif_streamed_since(const struct aif_drainer *d, uint64_t since);
