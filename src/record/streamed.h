/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest.h"

/*
 * Samples that an agent reads off a whole device (AIF_WIRE_WINDOW_ADDRESSES): Level Zero's metrics streamer. They are
 * kept until all rings have been looked at since, then joined as the xe driver's own are (stall_join.h).
 *
 * Who samples: the recorder, if the xe driver lets it (xe_stream.h), since one reader serves all processes. An agent
 * may for a device for which that has been found not to be possible. Runs under the store's lock.
 */

/* What is kept at a time of all processes: more is lost, and counted. 16 bytes each. */
#define AIF_STREAMED_MAX (UINT32_C(1) << 20)

struct aif_streamed; /* a window */

/* A valid record; the window's device is known. */
void aif_streamed_window(struct aif_ingest *in, const struct aif_wire_window *r, uint32_t device);
/* Its samples. */
void aif_streamed_pc(struct aif_ingest *in, const struct aif_wire_pc *r);

/* The process has told of code on that device of its: its agent may sample it if the recorder cannot. */
void aif_streamed_wanted(struct aif_target *t, uint32_t device);
/* Its agent has told why something is missing. */
void aif_streamed_note(struct aif_target *t, uint32_t reason);
/* Somebody reads samples of that card (wire.h; 0: of one that is not known). */
void aif_streamed_read(struct aif_drainer *d, uint32_t pci);
/* The process has ended. Where nobody has read its card's samples it was over too soon, which aif_streamed_last() says. */
void aif_streamed_end(struct aif_drainer *d, struct aif_target *t);
/* Says who may, and joins what is old enough. */
void aif_streamed_follow(struct aif_drainer *d, uint64_t now);
/* The recording ends: joins the rest. */
void aif_streamed_last(struct aif_drainer *d);
/* Places that ended before are asked for no more, as far as it depends on us; not after `since`. */
uint64_t aif_streamed_since(const struct aif_drainer *d, uint64_t since);
