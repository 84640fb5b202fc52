/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct aif_cuda;

#define AIF_CUDA_GAPS 16

/* Kernel, copy and fill records. Under `switching`. */
struct aif_cuda_records {
	bool on, wanted; /* CUPTI makes them; somebody needs them */
	bool were_on;    /* since CUPTI was subscribed to: it costs launches more from then on */
	/* The next try to switch them off, and how long after the last. */
	uint64_t again_at, again_ns;
	unsigned busy; /* tries in a row in which the device had graphs' work */
	/* The last times without records, on CUPTI's clock: from, until; until 0 = it lasts. Written by the thread that
	 * switches. */
	struct {
		_Atomic uint64_t from, until;
	} gaps[AIF_CUDA_GAPS];
	uint32_t gaps_len; /* ever */
};

/* Under `switching`, as all of these. Switches records on at once, or off as soon as no call is under way. */
void aif_cuda_records_want(struct aif_cuda *cuda, bool on);
/* Tries again what was not possible then. True if records are as they were wanted. */
bool aif_cuda_records_settle(struct aif_cuda *cuda, uint64_t now);
/* Any thread: did records' times without any lie between these, on CUPTI's clock? Then the later one is another
 * replay's. */
bool aif_cuda_records_span_gap(const struct aif_cuda *cuda, uint64_t start, uint64_t end);
/* Switches records off, and waits so long at most until that is possible. False: they are on. */
bool aif_cuda_records_end(struct aif_cuda *cuda, uint64_t within_ns);
