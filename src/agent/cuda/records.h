/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct aif_cuda;

/* Kernel, copy and fill records. Under `switching`. */
struct aif_cuda_records {
	bool on, wanted; /* CUPTI makes them; somebody needs them */
	/* The next try to switch them off, and how long after the last. */
	uint64_t again_at, again_ns;
};

/* Under `switching`, as all of these. Switches records on at once, or off as soon as no call is under way. */
void aif_cuda_records_want(struct aif_cuda *cuda, bool on);
/* Tries again what was not possible then. True if records are as they were wanted. */
bool aif_cuda_records_settle(struct aif_cuda *cuda, uint64_t now);
/* Switches records off, and waits so long at most until that is possible. False: they are on. */
bool aif_cuda_records_end(struct aif_cuda *cuda, uint64_t within_ns);
