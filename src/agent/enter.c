/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/enter.h"

#include "agent/own_threads.h"
#include "agent/sandbox.h"

#include <errno.h>

__thread bool aif_in_handler __attribute__((tls_model("initial-exec")));

static struct aif_thread *enter_slow(void)
{
	struct aif_armed *armed = aif_agent.session.armed;
	struct aif_thread *t = aif_self;

	if (!armed || aif_in_handler || (t && aif_thread_busy(t)))
		return NULL;
	if (t)
		t->refused = AIF_REFUSED_NOT;
	if (!atomic_load_explicit(&armed->on, memory_order_acquire) && !aif_session_rearm(0))
		return NULL;
	if (!t && aif_sandbox_may_be_on())
		return NULL;
	if (!t) {
		t = aif_thread_take();
		if (!t)
			return NULL;
		/* From here on an entry from within what we call sees a thread that is busy. */
		aif_thread_set_busy(t, AIF_BUSY_ENTRY);
		aif_self = t;
		/* No stacks are taken in the agent's threads, where asking would make malloc() reserve memory for them. */
		if (pthread_setspecific(aif_agent.threads.key, t) || aif_own_thread_is_here() ||
		    aif_stack_bounds_here(&t->bounds) < 0)
			t->bounds = (struct aif_stack_bounds){0};
	}
	aif_thread_set_busy(t, AIF_BUSY_ENTRY);
	if (t->generation == armed->generation || aif_thread_join(t))
		return t;
	t->generation = 0;
	aif_thread_set_busy(t, AIF_BUSY_NOT);
	return NULL;
}

struct aif_thread *aif_thread_enter_slow(void)
{
	int saved = errno;
	struct aif_thread *t = enter_slow();

	errno = saved;
	return t;
}
