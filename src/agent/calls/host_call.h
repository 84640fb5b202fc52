/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/emit.h"
#include "base/host_calls.h"

/*
 * Begin and end of calls that can hold a thread up (base/host_calls.def), each written as one MARK record of kind CALL when
 * it has returned. The stack is captured at its beginning: a call that waits for the device hides that. Of calls that
 * allocate and free, which are many and short, and of a thread whose last AIF_HOST_CALL_POLLS calls were short, it is
 * captured at the end, if they are to be written at all.
 *
 *   which     those that begin in an on-block of the overhead budget, where the recorder wants them
 *   short     calls below `least_ns` are counted with their time (struct aif_slot) and not written: AIF_HOST_CALL_SHORT_NS, or
 *             AIF_HOST_CALL_LONG_NS where each call could be one of many, as by default with CUDA; so are those
 *             below AIF_HOST_CALL_BRIEF_NS of a thread that makes more than AIF_HOST_CALL_BRIEF_MANY of them in
 *             AIF_HOST_CALL_BRIEF_WINDOW_NS: a loop that polls
 *   open      a call that has not returned when the recording ends is read by the recorder from the thread's slot
 *   nested    calls that a call makes (callbacks) are written, too, AIF_OPEN_CALLS deep
 *   left      a call that was left by longjmp() or an exception is told by the next one, which begins further out or at the
 *             same place; it is not written, since nothing says when that was
 */
#define AIF_HOST_CALL_SHORT_NS 1000
#define AIF_HOST_CALL_LONG_NS  5000
/* Cost of a written call at most, as the overhead budget counts it: 1.6 to 2.9 us beside a mock of CUPTI on busy
 * CPUs, 0.13 us with OpenCL (bench/results/pocl-calls.md), where one that is only counted costs 0.05 us. */
#define AIF_HOST_CALL_WRITE_MOST_NS   3000
#define AIF_HOST_CALL_POLLS           8
#define AIF_HOST_CALL_BRIEF_NS        10000
#define AIF_HOST_CALL_BRIEF_MANY      10000
#define AIF_HOST_CALL_BRIEF_WINDOW_NS 100000000

/* For entries that are in the ring already: a call begins at `since`, whose entry's stack pointer is `sp`. Returns a token
 * for the next function, 0: it is not recorded. */
uint32_t aif_host_call_open(struct aif_thread *t, enum aif_host_call_id id, uint32_t least_ns,
			    uint64_t since, uint64_t sp, uint32_t stack);
/* The call is over; regs: NULL, or where to capture the stack that is not known yet. */
void aif_host_call_close(struct aif_thread *t, uint32_t token, const struct aif_regs *regs,
			 const struct aif_emit_api *api);

/* A call in which ranks of a job take part together: the communicator's number, and which of its calls, from 1; 0: not known. */
struct aif_host_call_joint {
	uint64_t communicator, number;
};

uint32_t aif_host_call_begin_slow(enum aif_host_call_id id, uint32_t least_ns,
				  const struct aif_regs *regs, const struct aif_emit_api *api);
void aif_host_call_end_slow(uint32_t token, const struct aif_regs *regs,
			    const struct aif_emit_api *api);

/* `options`: the bits of enum aif_shm_option of which one asks for them. */
static inline bool aif_host_call_wanted(uint32_t options)
{
	return !aif_thread_asleep() && aif_agent.session.options & options;
}

/* Before the vendor's call, outside of an entry. */
static inline uint32_t aif_host_call_begin(enum aif_host_call_id id, uint32_t options,
					   uint32_t least_ns, const struct aif_regs *regs,
					   const struct aif_emit_api *api)
{
	return aif_host_call_wanted(options) ? aif_host_call_begin_slow(id, least_ns, regs, api)
					     : 0;
}
/* The same for a call of a job's ranks, with the operations and messages that it stands for; those whose number is 0 are none. The call is
 * written once for each. Outside of an entry. */
void aif_host_call_end_joint(uint32_t token, const struct aif_host_call_joint *joints, size_t n,
			     const struct aif_regs *regs, const struct aif_emit_api *api);
static inline void aif_host_call_end(uint32_t token, const struct aif_regs *regs,
				     const struct aif_emit_api *api)
{
	if (token)
		aif_host_call_end_slow(token, regs, api);
}
