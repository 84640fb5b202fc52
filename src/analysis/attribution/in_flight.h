/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/gaps.h"

/*
 * Work in flight when collection began or stopped: its samples are there, but the launches or the
 * executions are not, and nothing is wrong with that.
 *
 * Began before. In a span (gaps.h) that something came before, work may run that was launched
 * before it. A kernel whose code is sampled there before its first known execution begins was
 * launched then.
 *
 * Not ended. A launch without an execution was in flight when its span ended, unless a later one
 * of the same in-order queue has ended: then it is unreported, which should not happen. Samples of
 * its kernel after it are its own, where no known execution fits.
 *
 * Queues. The first known execution of a queue in such a span that had to wait for its turn has
 * waited for what was launched before: until then the queue was never empty, and its device not
 * idle.
 *
 * Times are ns since the recording's start; names are strings, AIF_NONE for what is no kernel.
 */

/* Executions are told up to 250 ms after they ended (the agent's helper): this close to the end
 * of a span a later one may be heard of first. */
#define AIF_IN_FLIGHT_LATE_NS UINT64_C(500000000)

/* From call to start in an empty queue: 20 to 200 us (PoCL, CUDA). */
#define AIF_IN_FLIGHT_WAIT_NS UINT64_C(1000000)

struct aif_in_flight_queue {
	uint32_t process, stream;
	uint64_t begin, start,
		launched; /* of the span; of its first execution, and of that's launch */
};

struct aif_in_flight {
	struct aif_in_flight_queue *queues; /* of spans that something came before */
	size_t queues_len, queues_cap;
	struct aif_map queue_ids; /* span, stream -> index */

	struct aif_map first; /* span, kernel's name -> start of its first execution */
	struct aif_map last;  /* span, in-order stream -> its last launch that has ended */
	struct aif_map since; /* span, kernel's name -> its first launch that was in flight */
};

/* Notes that an execution of that kernel begins at `at`. 0 or -ENOMEM. */
int aif_in_flight_began(struct aif_in_flight *f, const struct aif_gaps *g, uint32_t process,
			uint32_t name, uint64_t at);
/* Notes that an execution of that stream, which was launched then, starts. 0 or -ENOMEM. */
int aif_in_flight_queued(struct aif_in_flight *f, const struct aif_gaps *g, uint32_t process,
			 uint32_t stream, uint64_t launched, uint64_t start);
static inline bool aif_in_flight_waited(const struct aif_in_flight_queue *q)
{
	return q->start > q->launched + AIF_IN_FLIGHT_WAIT_NS;
}
/* Notes that a launch which was made at `at` has an execution. 0 or -ENOMEM. */
int aif_in_flight_ended(struct aif_in_flight *f, const struct aif_gaps *g, uint32_t process,
			uint32_t stream, uint64_t at);
/* Returns true if a launch without an execution, made at `at`, was followed by a completed one in
 * its queue. To be called after all executions were noted. */
bool aif_in_flight_overtaken(const struct aif_in_flight *f, const struct aif_gaps *g,
			     uint32_t process, uint32_t stream, uint64_t at, uint64_t length);
/* Records a launch that was not overtaken as still in flight. 0 or -ENOMEM. */
int aif_in_flight_add(struct aif_in_flight *f, const struct aif_gaps *g, uint32_t process,
		      uint32_t name, uint64_t at);
/* Returns true if a sample of that kernel, or of what some kernel calls (AIF_NONE), is of an
 * execution that was in flight. To be called after all launches were recorded. */
bool aif_in_flight_sample(const struct aif_in_flight *f, const struct aif_gaps *g, uint32_t process,
			  uint32_t name, uint64_t at);

void aif_in_flight_finish(struct aif_in_flight *f);
