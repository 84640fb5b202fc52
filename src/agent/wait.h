/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/emit.h"
#include "base/map.h"

/*
 * Waiting of threads: the time that a thread spends in a runtime's call that waits for the device, less what it used of
 * a CPU meanwhile, which CPU samples tell of (a runtime may wait by looking again and again). No signal is needed: the
 * stack is captured where the call has come back.
 *
 * Rows are as many as CPU samples would be. A wait of a sampling period or more is told as it was. Shorter ones are
 * added up, and the one with which the sum has come to about a period is told with all of it: of a thread as much is
 * told as was waited, of each stack on average. It costs a wait 0.13 us, so it is done for all of them, in the budget's
 * off-blocks, too: what is told of a hundredth of them may be ten times what was waited.
 *
 * With --wall the thread is sampled while it waits, so no row is made of the wait. Instead the thread keeps at
 * hand what it waits in (struct aif_waiting): such a sample is the stack of that call, whatever the driver does
 * inside, and its time is waiting.
 */
/* aif_cpu.wait_period_ns where samples tell of waiting. */
#define AIF_WAIT_SAMPLED UINT64_MAX

void aif_wait_begin_slow(struct aif_wait *w, const struct aif_regs *regs,
			 const struct aif_emit_api *api);

/* Before the vendor's call: `regs` are of the entry, whose frame stays until the wait is over, and `api` is what
 * it stands for. */
static inline void aif_wait_begin(struct aif_wait *w, const struct aif_regs *regs,
				  const struct aif_emit_api *api)
{
	*w = (struct aif_wait){.since = 0};
	if (atomic_load_explicit(&aif_agent.cpu.wait_period_ns, memory_order_relaxed))
		aif_wait_begin_slow(w, regs, api);
}

/*
 * The same for a runtime that may wait by looking again and again, in a call that does nothing else, and that calls back at
 * its beginning and at its end: CPU samples in between are of waiting, with the stack that they find, and what is told
 * behind it is what it did not use of a CPU. `regs` are of the second callback.
 */
void aif_wait_spin_begin(void);
void aif_wait_spin_end(const struct aif_regs *regs);
/* In a signal handler of this thread: it is between the two. */
bool aif_wait_spins(void);
/* Ends of calls that are under way may not be told any more. */
void aif_wait_spins_forget(void);

/* In a signal handler of this thread: the call that it waits in, inside which it is at `sp`; or NULL. */
const struct aif_waiting *aif_wait_under_way(uint64_t sp);

/* Ends a wait. Returns the time to be reported, 0 = none. *ret_since: when the wait began. */
uint64_t aif_wait_over(struct aif_wait *w, uint64_t *ret_since);

void aif_wait_end_slow(struct aif_wait *w, const struct aif_regs *regs,
		       const struct aif_emit_api *api);

/* Ends a wait and reports it, where no entry is under way. */
static inline void aif_wait_end(struct aif_wait *w, const struct aif_regs *regs,
				const struct aif_emit_api *api)
{
	aif_budget_waited(&aif_agent.budget, aif_now_ns());
	if (w->since || w->is_shown)
		aif_wait_end_slow(w, regs, api);
}

/* Adds a wait of so many ns to its thread's; what is to be told now, with its stack, or 0. When a sum is told is random
 * within half a period, so that no loop can run in step with it. */
static inline uint64_t aif_wait_add(struct aif_wait_sum *s, uint64_t ns, uint64_t period_ns,
				    uint64_t random)
{
	uint64_t reported = 0;

	if (ns >= period_ns)
		return ns;
	if (!s->told_at) {
		s->told_at = period_ns;
		s->ns = random % period_ns;
	}
	s->ns += ns;
	for (; s->ns >= s->told_at; random = aif_mix64(random)) {
		s->ns -= s->told_at;
		reported += s->told_at;
		s->told_at = 1 + period_ns / 2 + random % period_ns;
	}
	return reported;
}
