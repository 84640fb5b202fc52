/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/store.h"

/*
 * The driver's functions that launches enter. While a thread is in a launch's call, its ioctl() of a device file is an
 * event (driver.bpf.c) with the launch's number and the OS kernel's stack. The launch's row is held until the event must
 * have come; its stack then goes on through ioctl() into the kernel.
 *
 *     LAUNCH record --> row, held AIF_DRIVER_CALLS_HOLD_NS --> its stack + the event's frames --> batch
 *     event --------> frames by launch ------------------------------^
 *
 * A launch that makes several such calls has the frames of the last: work is submitted after memory for it was mapped.
 * Needs the store's lock.
 */

/* Events come within milliseconds of their launch's record. A call that lasts longer than this has the last one of its
 * beginning. */
#define AIF_DRIVER_CALLS_HOLD_NS UINT64_C(300000000)
/* An event is kept for one to two of these, for the record may be read late. */
#define AIF_DRIVER_CALLS_TURN_NS UINT64_C(1000000000)
/* Launches held at a time: 42 MB. The oldest goes without having waited where there are more. */
#define AIF_DRIVER_CALLS_HELD (UINT32_C(1) << 19)
/* Different ways into drivers, and frames of one. */
#define AIF_DRIVER_CALLS_PATHS  65536
#define AIF_DRIVER_CALLS_FRAMES 40

struct aif_held_launch {
	uint64_t since;
	struct aif_launch_row row;
};

struct aif_driver_calls {
	struct aif_map recent, older; /* launch -> number of its frames in .paths */
	uint64_t turned_ns;           /* when the recent ones became the older ones */
	struct aif_strset paths;      /* frames of the store, outermost first: arrays of uint32_t */
	struct aif_held_launch *held; /* a ring of .cap, a power of two: .len from .first on */
	size_t first, len, cap;
	struct aif_quota quota; /* for the stacks that become longer */
};
void aif_driver_calls_finish(struct aif_driver_calls *c);

/* Notes that the launch, a number of the profile's, entered the driver there: `n` frames, outermost first. False: there
 * are AIF_DRIVER_CALLS_PATHS other ways, or no memory. */
bool aif_driver_calls_add(struct aif_driver_calls *c, uint64_t launch, const uint32_t *frames,
			  uint32_t n);

/* Takes a launch's row. False: no memory. */
bool aif_driver_calls_hold(struct aif_driver_calls *c, const struct aif_launch_row *row,
			   uint64_t now);
/* Adds the rows that have been held for long enough to the store's batches; now UINT64_MAX: all. Where no batch is to be had,
 * they wait, or, if they cannot, are counted as lost. */
void aif_driver_calls_release(struct aif_driver_calls *c, struct aif_store *s, uint64_t now);
