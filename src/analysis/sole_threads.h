/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * The thread of a process that alone was in a range (or step) at a moment. This defines what other threads launch and compute for a
 * range: autograd's thread, while the program's is in backward(), or OpenMP's. A launch that is in no range of its own thread
 * belongs to the ranges of the one thread of its process that is in any when the call begins. If several are, it belongs to
 * none. CPU time likewise; waits, memory and calls are those of the thread's own ranges.
 */
struct aif_sole_moment {
	int64_t at; /* until the process's next one */
	uint32_t process;
	uint32_t
		thread; /* AIF_NONE: none, or several; before aif_sole_threads_ready() what enters or leaves */
	bool enters; /* before aif_sole_threads_ready() */
};
struct aif_sole_threads {
	AIF_TABLE(aif_sole_moment, moments); /* by process, then time */
};

/* Adds that a thread was in a range from `start` to `end`. Of each thread one after the other, by their starts. 0 or
 * -ENOMEM. */
int aif_sole_threads_add(struct aif_sole_threads *s, uint32_t process, uint32_t thread,
			 int64_t start, int64_t end);
/* Ends adding. */
void aif_sole_threads_ready(struct aif_sole_threads *s);
void aif_sole_threads_finish(struct aif_sole_threads *s);

/* Returns the thread, or AIF_NONE. */
uint32_t aif_sole_threads_at(const struct aif_sole_threads *s, uint32_t process, int64_t at);
