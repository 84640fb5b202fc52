/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include <errno.h>
#include <sched.h>

/* The unwinder's view of the target's modules, while other threads load and unload them. */

#define REFRESH_EACH_NS (AIF_NS_PER_S / 10)

static bool is_met(const struct aif_session *s)
{
	uint32_t generation = s->armed ? atomic_load(&s->armed->generation) : 0;

	return generation && generation != AIF_GENERATION_DORMANT;
}

bool aif_session_unload_begin(void)
{
	struct aif_armed *armed = aif_agent.session.armed;

	if (!armed)
		return false;
	aif_cpu_before_unload(&aif_agent.cpu);
	atomic_fetch_add(&armed->closing, 1);
	/* Each of the two says what it is about to do before it asks for the other. */
	while (atomic_load(&armed->looking))
		sched_yield();
	if (is_met(&aif_agent.session))
		aif_unwinder_forget(aif_agent.session.unwinder);
	return true;
}

void aif_session_unload_end(bool was_counted)
{
	struct aif_session *s = &aif_agent.session;
	int saved = errno;

	atomic_thread_fence(memory_order_seq_cst); /* the module went before this look: meet() */
	if (is_met(s))
		aif_unwinder_refresh(s->unwinder);
	/* 0 in a child that a destructor has forked. */
	if (was_counted && atomic_load(&s->armed->closing))
		atomic_fetch_sub(&s->armed->closing, 1);
	errno = saved;
}

bool aif_session_modules_pin(void)
{
	struct aif_armed *armed = aif_agent.session.armed;

	atomic_store(&armed->looking, 1);
	if (!atomic_load(&armed->closing))
		return true;
	atomic_store(&armed->looking, 0);
	return false;
}

void aif_session_modules_unpin(void)
{
	atomic_store(&aif_agent.session.armed->looking, 0);
}

bool aif_session_refresh(uint64_t now)
{
	struct aif_session *s = &aif_agent.session;
	uint64_t last = atomic_load_explicit(&s->refreshed_ns, memory_order_relaxed);

	if (now - last < REFRESH_EACH_NS ||
	    !atomic_compare_exchange_strong(&s->refreshed_ns, &last, now))
		return false;
	aif_unwinder_refresh(s->unwinder);
	return true;
}
