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
	t->busy = AIF_BUSY_ENTRY;
	return t;
}

static inline void aif_thread_leave(struct aif_thread *t)
{
	t->busy = AIF_BUSY_NOT;
}

static inline void aif_thread_vendor(struct aif_thread *t)
{
	t->busy = AIF_BUSY_VENDOR;
}

static inline void aif_thread_back(struct aif_thread *t)
{
	t->busy = AIF_BUSY_ENTRY;
}

/* *ret_was goes to aif_thread_leave_callback(). NULL: no ring here and now. */
static inline struct aif_thread *aif_thread_enter_callback(enum aif_busy *ret_was)
{
	struct aif_thread *t = aif_self;

	if (!t || t->busy != AIF_BUSY_VENDOR) {
		*ret_was = AIF_BUSY_NOT;
		return aif_thread_enter();
	}
	/* A fork within the vendor's function: the ring has stayed with the parent. */
	*ret_was = AIF_BUSY_VENDOR;
	if (t->generation != aif_agent.session.armed->generation)
		return NULL;
	t->busy = AIF_BUSY_ENTRY;
	return t;
}

static inline void aif_thread_leave_callback(struct aif_thread *t, enum aif_busy was)
{
	t->busy = was;
}
