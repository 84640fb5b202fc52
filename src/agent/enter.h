/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/agent.h"

/* The first statement of every entry, and the last; thread.h has the rules. */
static inline struct aif_thread *aif_thread_enter(void)
{
	struct aif_thread *t = aif_self;
	struct aif_armed *armed = aif_agent.session.armed;

	if (aif_unlikely(!armed || !atomic_load_explicit(&armed->on, memory_order_acquire) || !t ||
			 t->busy || t->generation != armed->generation))
		return aif_thread_enter_slow();
	t->busy = true;
	return t;
}

static inline void aif_thread_leave(struct aif_thread *t)
{
	t->busy = false;
}
