/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu_account.h"

#include "agent/cpu_buffer.h"
#include "agent/emit.h"
#include "base/clock.h"

/*
 * CPU time that no sample stands for
 * ==================================
 *
 * Threads that do not begin their samples themselves (births.h) are found by looking, four times a second. One that begins
 * and ends in between has no samples, and nobody would miss it: so the process's own clock, which has the time of all threads,
 * ended ones too, is held against the samples.
 *
 *     process's CPU time = samples + what threads that live have used beyond theirs + the rest
 *
 * The rest is of threads that have ended. It is reported as CPU time whose stack is not known once it is more than
 * one percent, and never more of it than there already was one visit before: the samples of a thread that ended a moment
 * ago may still be on their way. When the process ends none is on its way.
 */

#define PERCENT(ns) ((ns) / 100)

static uint64_t process_ns(void)
{
	return aif_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Returns a thread's CPU time; 0: it has ended. */
static uint64_t thread_ns(uint32_t tid)
{
	return aif_clock_ns(AIF_THREAD_CPU_CLOCK(tid));
}

static const struct aif_cpu_thread *find(const struct aif_cpu *c, uint32_t tid)
{
	uint32_t len = atomic_load_explicit(&c->len, memory_order_relaxed);

	for (uint32_t i = 0; i < len; i++)
		if (c->at[i].tid == tid)
			return c->at[i].thread;
	return NULL;
}

void aif_cpu_account_begin(struct aif_cpu *c)
{
	c->account = (struct aif_cpu_account){.is_first = true};
}

void aif_cpu_account_add(struct aif_cpu *c, struct aif_cpu_thread *t)
{
	t->counted_owner = t->owner;
	t->counted_ns = c->account.is_first ? thread_ns(t->tid) : 0;
}

void aif_cpu_account_sample(struct aif_cpu *c, struct aif_cpu_thread *t, uint32_t owner,
			    uint64_t weight)
{
	if (t->counted_owner != owner)
		t->counted_ns = 0;
	t->counted_owner = owner;
	t->counted_ns += weight;
	c->account.counted_ns += weight;
}

static void report(struct aif_cpu *c, struct aif_thread *self, uint64_t rest)
{
	uint64_t ns = rest - c->account.reported_ns;

	if (rest <= c->account.reported_ns || ns < AIF_CPU_PERIODS_MAX * AIF_NS_PER_S / c->rate ||
	    ns < PERCENT(process_ns() - c->account.begin_ns))
		return;
	if (!aif_emit_cpu_sample(self, AIF_WIRE_ENDED_THREADS, aif_now_ns(), ns, AIF_WIRE_NONE, 0))
		return;
	aif_emit_note(self, AIF_REASON_CPU_UNSAMPLED, ns / 1000000, "");
	c->account.reported_ns = rest;
}

void aif_cpu_account(struct aif_cpu *c, struct aif_thread *self, const struct aif_task_list *now,
		     bool is_last)
{
	struct aif_cpu_account *a = &c->account;
	/* First, so that what threads use meanwhile is none of the rest. */
	uint64_t all = process_ns(), known = a->counted_ns, rest;

	/* The process's time counts from when all threads were found: what they used until then is none of the rest. */
	if (a->is_first)
		a->begin_ns = all;
	all -= a->begin_ns;
	a->is_first = false;
	if (now->len == AIF_ARRAY_LEN(now->tid)) /* there may be more of them */
		a->is_off = true;
	for (uint32_t i = 0; i < now->len && !a->is_off; i++) {
		const struct aif_cpu_thread *t = find(c, now->tid[i]);
		uint64_t ns = thread_ns(now->tid[i]);

		/* A CPU device's workers are the device's. */
		if (aif_sampler_is_worker(&aif_agent.sampler, now->tid[i]))
			a->is_off = true;
		known += ns - AIF_MIN(ns, t && t->counted_owner == t->owner ? t->counted_ns : 0);
	}
	if (a->is_off)
		return;
	rest = all - AIF_MIN(all, known);
	report(c, self, is_last ? rest : AIF_MIN(rest, a->rest_ns));
	a->rest_ns = rest;
}
