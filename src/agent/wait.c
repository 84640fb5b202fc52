/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/wait.h"

#include "agent/capture.h"

#include <errno.h>

/* Reading a thread's CPU time is a system call of 0.2 us, 0.8 us in a virtual machine. Who comes again so
 * soon is taken to have been on a CPU since: as if it had not waited for some us. */
#define RECENT_NS 50000

static uint64_t cpu_time(struct aif_thread *t, uint64_t now)
{
	uint64_t cpu;

	if (t && now - t->cpu_read_ns < RECENT_NS)
		return t->cpu_ns + (now - t->cpu_read_ns);
	cpu = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (t) {
		t->cpu_ns = cpu;
		t->cpu_read_ns = aif_now_ns();
	}
	return cpu;
}

/* In the order that a signal in between needs. */
static void show(struct aif_thread *t, const struct aif_regs *regs, const struct aif_emit_api *api)
{
	t->waiting.regs = *regs;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&t->waiting.api, api, memory_order_relaxed);
}

static bool begin_shown(const struct aif_regs *regs, const struct aif_emit_api *api)
{
	bool within = aif_self && aif_thread_busy(aif_self) == AIF_BUSY_ENTRY;
	struct aif_thread *t = within ? aif_self : aif_thread_enter();

	if (!t)
		return false;
	show(t, regs, api);
	if (!within)
		aif_thread_leave(t);
	return true;
}

const struct aif_waiting *aif_wait_under_way(uint64_t sp)
{
	struct aif_waiting *w = aif_self ? &aif_self->waiting : NULL;

	/* Further out than that call there is no waiting in it: it was left by longjmp(). */
	return w && atomic_load_explicit(&w->api, memory_order_relaxed) && sp < w->regs.sp ? w
											   : NULL;
}

void aif_wait_begin_slow(struct aif_wait *w, const struct aif_regs *regs,
			 const struct aif_emit_api *api)
{
	uint64_t now;

	/* Within another entry: that one's waiting. */
	if (aif_self && aif_thread_busy(aif_self) == AIF_BUSY_VENDOR)
		return;
	if (atomic_load_explicit(&aif_agent.cpu.wait_period_ns, memory_order_relaxed) ==
	    AIF_WAIT_SAMPLED) {
		int saved = errno;

		w->is_shown = begin_shown(regs, api);
		errno = saved;
		return;
	}
	now = aif_now_ns();
	w->cpu_ns = cpu_time(aif_self, now);
	w->since = now;
}

uint64_t aif_wait_over(struct aif_wait *w, uint64_t *ret_since)
{
	uint64_t period = atomic_load_explicit(&aif_agent.cpu.wait_period_ns, memory_order_relaxed),
		 now, wall, cpu, reported;
	struct aif_wait_sum unknown = {0};

	if (w->is_shown && aif_self)
		atomic_store_explicit(&aif_self->waiting.api, NULL, memory_order_relaxed);
	/* The session may have ended during the wait. */
	if (!w->since || !period || period == AIF_WAIT_SAMPLED)
		return 0;
	now = aif_now_ns();
	aif_budget_waited(&aif_agent.budget, now);
	wall = now - w->since;
	reported =
		aif_wait_add(aif_self ? &aif_self->waited : &unknown, wall, period, aif_mix64(now));
	if (!reported)
		return 0;
	cpu = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	cpu = cpu > w->cpu_ns ? AIF_MIN(cpu - w->cpu_ns, wall) : 0;
	*ret_since = w->since;
	/* CPU use of the earlier waits of the sum is not known: the same share as in this one, on
	 * average. */
	return wall ? (uint64_t)((double)reported * ((double)(wall - cpu) / (double)wall)) : 0;
}

void aif_wait_spin_begin(void)
{
	uint64_t period = atomic_load_explicit(&aif_agent.cpu.wait_period_ns, memory_order_relaxed);
	int saved = errno;
	struct aif_thread *t = period ? aif_thread_enter() : NULL;

	if (t) {
		t->wait = (struct aif_wait){.since = 0};
		if (period != AIF_WAIT_SAMPLED) {
			t->wait.since = aif_now_ns();
			t->wait.cpu_ns = cpu_time(t, t->wait.since);
		}
		atomic_store_explicit(
			&t->spins,
			atomic_load_explicit(&aif_agent.cpu.spin_epoch, memory_order_relaxed) + 1,
			memory_order_relaxed);
		aif_thread_leave(t);
	}
	errno = saved;
}

bool aif_wait_spins(void)
{
	return aif_self &&
	       atomic_load_explicit(&aif_self->spins, memory_order_relaxed) ==
		       atomic_load_explicit(&aif_agent.cpu.spin_epoch, memory_order_relaxed) + 1;
}

void aif_wait_spins_forget(void)
{
	atomic_fetch_add(&aif_agent.cpu.spin_epoch, 1);
}

void aif_wait_spin_end(const struct aif_regs *regs)
{
	static const struct aif_emit_api none;

	if (!aif_self || !aif_wait_spins())
		return;
	atomic_store_explicit(&aif_self->spins, 0, memory_order_relaxed);
	aif_wait_end(&aif_self->wait, regs, &none);
}

void aif_wait_end_slow(struct aif_wait *w, const struct aif_regs *regs,
		       const struct aif_emit_api *api)
{
	int saved = errno;
	uint64_t since, weight = aif_wait_over(w, &since);
	struct aif_thread *t = weight ? aif_thread_enter() : NULL;

	if (t) {
		aif_emit_wait(t, since, weight, aif_capture(t, regs, api));
		aif_thread_leave(t);
	}
	errno = saved;
}
