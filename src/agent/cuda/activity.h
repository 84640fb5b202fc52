/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct aif_cuda;

/* 2 MiB hold 9,700 kernel records: 0.14 s of a fast decode. */
#define AIF_CUDA_BUFFER  (2u << 20)
#define AIF_CUDA_BUFFERS 32

/*
 * Decides when CUPTI may be flushed: a flush beside code and graphs that are being made ended programs of JAX, whose next graph
 * then failed with CUDA_ERROR_LAUNCH_FAILED (activity.c).
 */
struct aif_cuda_flushes {
	_Atomic uint64_t made; /* modules loaded, graphs and nodes of graphs made, ever */
	/* The number of these at the last look, and since when it has been the same: CLOCK_MONOTONIC ns. */
	_Atomic uint64_t seen, since;
	/* The helper's: launches at the last flush, and when one without new launches is due. */
	uint64_t launches, again_at, again_ns;
	_Atomic bool has_peers; /* records of copies between devices are on whenever records are */
};

/* Gives CUPTI our buffer functions. 0 or CUPTI's error. */
int aif_cuda_activity_init(struct aif_cuda *cuda);
/* Switches all kinds of records, now. Off only with the gate shut: aif_cuda_records_want(). 0 or
 * CUPTI's error. */
int aif_cuda_activity_switch(struct aif_cuda *cuda, bool on);
/* Notes that code was loaded, or a graph or a node of one was made. */
void aif_cuda_activity_made(struct aif_cuda *cuda);
/* Returns true if no code and no graph has been made lately, or is being made. */
bool aif_cuda_activity_may_flush(struct aif_cuda *cuda, uint64_t now);
/* Reads the records that are complete, if that may be and is of use. For the helper, four times a second; `launches`: so many
 * there were, ever. */
void aif_cuda_activity_tick(struct aif_cuda *cuda, uint64_t launches, uint64_t now);
/* Under `switching`: a second device is used, so that copies between devices have records from now on. */
void aif_cuda_activity_use_peers(struct aif_cuda *cuda);
/* Reads the records that are complete. `last`: waits, not for long, until all of them are read. */
void aif_cuda_activity_flush(struct aif_cuda *cuda, bool last);
