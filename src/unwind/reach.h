/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/unwind.h"

/* The words of the stack that a walk is on, as far as they are known to be readable. Of the thread's own stack that is
 * all of it, from the start. Of any other stack the walk learns it page by page. */
struct aif_reach {
	uint64_t lo;    /* nothing below is read */
	uint64_t limit; /* the highest address of a word */
	bool grows;     /* the pages above were not asked for yet */
};

/* Begins at another stack pointer: on the thread's own stack, or on one that is read page by page. False: it
 * points to nothing that can be read. */
bool aif_reach_enter(struct aif_reach *r, const struct aif_stack_bounds *own, uint64_t sp);

/* Returns the limit of a reach that grows, once the pages up to `to`, the end of a frame, were asked for. */
uint64_t aif_reach_grown(uint64_t limit, uint64_t to);
