/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu_account.h"

#include "agent/cpu_buffer.h"
#include "agent/emit.h"
#include "agent/helper.h"
#include "base/clock.h"

#include <unistd.h>

/*
 * CPU time that no sample stands for
 * ==================================
 *
 * Threads that do not begin their samples themselves (births.h) are found by looking, four times a second. One that begins
 * and ends in between has no samples, and nobody would miss it: so the process's own clock, which has the time of all threads,
 * ended ones too, is held against the samples.
 *
 *     process's CPU time = before + samples + what threads that live have used beyond theirs + the agent's threads + the rest
 *
 * Before: until the recorder had answered and all threads had been looked for, 10 to 30 ms. It is reported once, where the
 * recording is of the process from its beginning (AIF_OPTION_CPU_ALL). Then each thread has used some until its first
 * sample, which comes with that (cpu_weight.h), and some since its last, reported as the process ends.
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

static struct aif_cpu_thread *find(const struct aif_cpu *c, uint32_t tid)
{
	uint32_t len = atomic_load_explicit(&c->len, memory_order_relaxed);

	for (uint32_t i = 0; i < len; i++)
		if (c->at[i].tid == tid)
			return c->at[i].thread;
	return NULL;
}

void aif_cpu_account_begin(struct aif_cpu *c)
{
	c->account = (struct aif_cpu_account){
		.is_first = true,
		.has_begun = c->account.has_begun,
	};
}

void aif_cpu_account_add(struct aif_cpu *c, struct aif_cpu_thread *t)
{
	t->counted_owner = t->owner;
	t->counted_ns = c->account.is_first ? t->clocks.cpu_ns : 0;
	t->found_ns = c->account.is_first ? 0 : t->clocks.cpu_ns;
}

void aif_cpu_account_sample(struct aif_cpu *c, struct aif_cpu_thread *t, uint32_t owner,
			    uint64_t weight)
{
	if (t->counted_owner != owner)
		t->counted_ns = 0;
	t->counted_owner = t->sampled_owner = owner;
	t->counted_ns += weight;
	c->account.counted_ns += weight;
}

/* Returns what a thread has used beyond its samples. */
static uint64_t beyond(const struct aif_cpu_thread *t, uint32_t tid)
{
	uint64_t ns = thread_ns(tid);

	return ns - AIF_MIN(ns, t && t->counted_owner == t->owner ? t->counted_ns : 0);
}

/* CPU time of ended threads that is reported as the process ends, though it is less than is worth a note; at least half a
 * percent. */
#define LAST_NS 1000000

static void report(struct aif_cpu *c, struct aif_thread *self, uint64_t rest, bool is_last)
{
	uint64_t ns = rest - c->account.reported_ns;
	bool is_worth = ns >= AIF_CPU_PERIODS_MAX * AIF_NS_PER_S / c->rate &&
			ns >= PERCENT(process_ns() - c->account.begin_ns);

	if (rest <= c->account.reported_ns ||
	    (!is_worth && (!is_last || ns < LAST_NS || 2 * ns < PERCENT(process_ns()))))
		return;
	if (!aif_emit_cpu_sample(self, AIF_WIRE_ENDED_THREADS, aif_now_ns(), ns, AIF_WIRE_NONE, 0))
		return;
	if (is_worth)
		aif_emit_note(self, AIF_REASON_CPU_UNSAMPLED, ns / 1000000, "");
	c->account.reported_ns = rest;
}

static void report_before(struct aif_cpu_account *a, struct aif_thread *self)
{
	if (a->before_ns &&
	    aif_emit_cpu_sample(self, (uint32_t)getpid(), aif_now_ns(), a->before_ns, AIF_WIRE_NONE,
				AIF_WIRE_CPU_BEFORE | AIF_WIRE_CPU_PROCESS))
		a->before_ns = 0;
}

/* Reports what threads have used since their last samples. */
static void report_after(struct aif_cpu *c, struct aif_thread *self,
			 const struct aif_task_list *now)
{
	for (uint32_t i = 0; i < now->len; i++) {
		struct aif_cpu_thread *t = find(c, now->tid[i]);
		uint64_t ns = t ? beyond(t, now->tid[i]) : 0;

		if (!ns || aif_sampler_is_worker(&aif_agent.sampler, now->tid[i]) ||
		    !aif_emit_cpu_sample(self, now->tid[i], aif_now_ns(), ns, AIF_WIRE_NONE,
					 t->sampled_owner == t->owner ? AIF_WIRE_CPU_AFTER
								      : AIF_WIRE_CPU_BEFORE))
			continue;
		aif_cpu_account_sample(c, t, t->owner, ns);
	}
}

/* Sampling has begun: so much has the program used. */
static void begin(struct aif_cpu_account *a, uint64_t ns)
{
	a->begin_ns = ns;
	if (!a->has_begun && atomic_load(&aif_agent.session.options) & AIF_OPTION_CPU_ALL)
		a->before_ns = ns;
	a->has_begun = true;
}

/*
 * Returns the CPU time of ended threads that later samples will stand for (struct aif_cpu_credit). A thread that lives and is
 * sampled in that way has debited its ticks already, and what it has used is known.
 */
static int64_t owed(const struct aif_cpu *c)
{
	uint32_t len = atomic_load_explicit(&c->len, memory_order_relaxed);
	int64_t sum = 0;

	for (uint32_t i = 0; i < len; i++) {
		const struct aif_cpu_thread *t = c->at[i].thread;

		if (!t)
			continue;
		sum += t->credit.owed_ns + (int64_t)t->credit.ns;
		if (atomic_load(&t->is_young) && t->counted_owner == t->owner)
			sum += (int64_t)t->counted_ns;
	}
	return sum;
}

void aif_cpu_account(struct aif_cpu *c, struct aif_thread *self, const struct aif_task_list *now,
		     bool is_last)
{
	struct aif_cpu_account *a = &c->account;
	/* First, so that what threads use meanwhile is none of the rest. */
	uint64_t all = process_ns(), known = a->counted_ns + atomic_load(&aif_agent.own.ended_ns),
		 rest;

	if (now->len == AIF_ARRAY_LEN(now->tid)) /* there may be more of them */
		a->is_off = true;
	for (uint32_t i = 0; i < now->len && !a->is_off; i++) {
		/* A CPU device's workers are the device's. */
		if (aif_sampler_is_worker(&aif_agent.sampler, now->tid[i]))
			a->is_off = true;
		known += beyond(find(c, now->tid[i]), now->tid[i]);
	}
	if (a->is_first && !a->is_off)
		begin(a, all - AIF_MIN(all, known));
	a->is_first = false;
	report_before(a, self);
	if (!a->is_off) {
		all -= AIF_MIN(all, a->begin_ns);
		if (!is_last)
			known = (uint64_t)AIF_MAX((int64_t)known + owed(c), 0);
		rest = all - AIF_MIN(all, known);
		report(c, self, is_last ? rest : AIF_MIN(rest, a->rest_ns), is_last);
		a->rest_ns = rest;
	}
	/* Leaves threads that go on, as where the helper makes way, to their next samples. */
	if (is_last && !aif_helper_is_here())
		report_after(c, self, now);
}
