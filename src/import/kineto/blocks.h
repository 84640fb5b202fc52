/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

struct kineto;

struct kineto_block { /* when an export of aiflame's says that launches were captured, or not */
	uint64_t start, dur, launches;
	int64_t pid, tid;
	uint32_t ppm;
	bool has_tid, is_held;
};

/* Reads the value of aiflameBlocks, which comes next; what is wrong there is passed. 0 or -ENOMEM. */
int kineto_blocks_read(struct kineto *k);
/* Makes their rows. 0 or -ENOMEM. */
int kineto_blocks(struct kineto *k);
