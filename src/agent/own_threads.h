/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdatomic.h>

/*
 * The agent's own threads, and how they make way.
 *
 * Some calls of a program depend on how many threads its process has, or change one of them alone. A process with two
 * threads may not enter another user's namespace. Capabilities and what is kept of them belong to a thread, while the C
 * library changes the user in all threads, and ends the program where one of them may not do what another may. And a
 * thread that lives on has the privileges that the program gave up.
 *
 * So the agent stands in front of these calls (guard.c). Before one of them its threads end, all that they hold is handed
 * on, and the kernel has forgotten them; afterwards those that were needed are made again, by the thread that has made the
 * call, as which they then are.
 *
 * A descriptor of theirs, though open for microseconds, has a number that the program may count on, or close; what it opens
 * next under that number, ours would then read, or close. So they have a table of descriptors of their own, an empty one,
 * where the kernel can do that at once (close_range(), Linux 5.9). It begins as a copy, of all or of the first 64, for some
 * microseconds: what the program closed meanwhile would still be open, a pipe that nobody reads or a file that is
 * written. So who makes such a thread waits until it has its table; one that gets no CPU meanwhile makes it later. But a
 * vendor's library, which the helper calls, opens and uses the program's: once a runtime starts, all share one table.
 */

enum aif_own_thread_kind {
	AIF_OWN_HELPER, /* helper.h */
	AIF_OWN_JOINER, /* children.h */
	AIF_OWN_KINDS
};

/* True: it has ended only to make way, and is to be made again. */
typedef bool (*aif_own_run)(void);

struct aif_own_threads {
	_Atomic int pid; /* whose they are; a forked child has none of them */
	_Atomic uint32_t
		away; /* calls under way before which they end; the word that they sleep on */
	_Atomic uint32_t again;    /* bit i: a thread of kind i has made way */
	_Atomic uint32_t leaves;   /* how often they have */
	_Atomic bool is_shared;    /* our threads must use the program's table of descriptors */
	_Atomic uint64_t ended_ns; /* CPU time of those that have ended */
	_Atomic uint32_t listed;  /* how often the program has listed its threads (guard_alone.c) */
	_Atomic(void *) lists[4]; /* the lists that it reads */
	struct aif_own_thread {
		_Atomic uint32_t tid;  /* 0 = free */
		_Atomic bool is_apart; /* the thread has a table of descriptors of its own */
		_Atomic bool
			is_late; /* the thread did not end in time: it exits at its next look */
		_Atomic uint32_t parting; /* how far it is with that */
		_Atomic(aif_own_run) run;
		_Atomic(const void *) word; /* the futex word that it sleeps on, if not on `away` */
		struct aif_own_thread *becomes; /* its own: what it goes on as once it has ended */
	} at[AIF_OWN_KINDS];
};

/* Starts a detached thread which blocks all signals; while others make way, later. 0 or -errno, -EBUSY: there is one of
 * this kind. */
int aif_own_thread_start(enum aif_own_thread_kind kind, aif_own_run run);
/* True in one of them. */
bool aif_own_thread_is_here(void);
/* Returns whether a thread of this process is one of them. */
bool aif_own_thread_has(uint32_t tid);
/* Returns the CPU time of all of them, ended ones too, in this process. */
uint64_t aif_own_threads_cpu_ns(void);
/* The calling thread, one of them, is to end. */
bool aif_own_thread_is_to_leave(void);
/* Around a wait for a word that others change: so that it can be woken. */
void aif_own_thread_waits_on(const void *word);
/* Waits; less long if it is to leave. */
void aif_own_thread_sleep(uint64_t ns);

/* In any thread of the program: all of them end. Returns true if aif_own_threads_return() is to follow. */
bool aif_own_threads_leave(void);
/* The same, which waits for at most so many ns until they have. */
bool aif_own_threads_leave_within(uint64_t ns);
/* Starts again the threads that made way. 0, or -errno: it cannot. */
int aif_own_threads_return(void);
/* In the thread that starts a runtime: from now on they use the program's table of descriptors. False: one of them cannot. */
bool aif_own_threads_share_files(void);
/* Leaves it at that: the threads that made way do not start again. */
void aif_own_threads_stay_away(void);
