/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/agent.h"

static inline enum aif_busy aif_thread_busy(const struct aif_thread *t)
{
	return (enum aif_busy)atomic_load_explicit(&t->busy, memory_order_relaxed);
}

/* Sets the thread's state. Earlier stores are visible before it; the compiler may not move later
 * accesses before it, and the helper sees to it that the processor does not. */
static inline void aif_thread_set_busy(struct aif_thread *t, enum aif_busy busy)
{
	atomic_store_explicit(&t->busy, (uint8_t)busy, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
}

/* True if nobody collects and no fork has to be noticed: an entry may forward its call at once. These two loads are the
 * cost of a dormant agent (bench/standby.sh). */
static inline bool aif_thread_asleep(void)
{
	struct aif_armed *armed =
		atomic_load_explicit(&aif_agent.session.armed, memory_order_acquire);

	return armed && !atomic_load_explicit(&armed->on, memory_order_acquire) &&
	       atomic_load_explicit(&armed->generation, memory_order_relaxed);
}

/* True in the handler of CPU samples. It may have interrupted anything, an interpreter in the middle of a call too, and a function
 * that it calls may be one of a library that was preloaded: no entry is entered. */
extern __thread bool aif_in_handler __attribute__((tls_model("initial-exec")));

/* The slow ways of aif_thread_enter(): first launch, fork, stopped, nested. */
struct aif_thread *aif_thread_enter_slow(void);

/* The first statement of every entry, and the last; thread.h has the rules. */
static inline struct aif_thread *aif_thread_enter(void)
{
	struct aif_thread *t = aif_self;
	struct aif_armed *armed =
		atomic_load_explicit(&aif_agent.session.armed, memory_order_acquire);

	if (aif_unlikely(!armed || !atomic_load_explicit(&armed->on, memory_order_acquire) || !t ||
			 aif_thread_busy(t)))
		return aif_thread_enter_slow();
	aif_thread_set_busy(t, AIF_BUSY_ENTRY);
	/* Busy first, then a look at what session it is: the helper changes that first and then looks who
	 * is busy (aif_threads_use). */
	if (aif_unlikely(atomic_load_explicit(&t->generation, memory_order_relaxed) !=
			 atomic_load_explicit(&armed->generation, memory_order_acquire))) {
		aif_thread_set_busy(t, AIF_BUSY_NOT);
		return aif_thread_enter_slow();
	}
	return t;
}

static inline void aif_thread_leave(struct aif_thread *t)
{
	aif_thread_set_busy(t, AIF_BUSY_NOT);
}

static inline void aif_thread_vendor(struct aif_thread *t)
{
	aif_thread_set_busy(t, AIF_BUSY_VENDOR);
}

static inline void aif_thread_back(struct aif_thread *t)
{
	aif_thread_set_busy(t, AIF_BUSY_ENTRY);
}

/* *ret_was goes to aif_thread_leave_callback(). NULL: no ring here and now. */
static inline struct aif_thread *aif_thread_enter_callback(enum aif_busy *ret_was)
{
	struct aif_thread *t = aif_self;

	if (!t || aif_thread_busy(t) != AIF_BUSY_VENDOR) {
		*ret_was = AIF_BUSY_NOT;
		return aif_thread_enter();
	}
	/* A fork within the vendor's function: the ring has stayed with the parent. */
	*ret_was = AIF_BUSY_VENDOR;
	if (t->generation != aif_agent.session.armed->generation)
		return NULL;
	aif_thread_set_busy(t, AIF_BUSY_ENTRY);
	return t;
}

static inline void aif_thread_leave_callback(struct aif_thread *t, enum aif_busy was)
{
	aif_thread_set_busy(t, was);
}
