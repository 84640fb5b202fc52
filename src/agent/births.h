/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * Threads of the program, from their first instruction on. The agent stands in front of pthread_create(): where CPU samples
 * are on, the new thread begins in birth_start.S, which arms its sampling (cpu_place.c) and goes on, by a jump, to the
 * program's start routine. So no frame of the agent is on its stack, and it ends as it would without: by returning, by
 * pthread_exit(), cancelled, or by an exception that nothing catches.
 *
 * The program's routine and its argument lie in an entry that belongs to this one creation from before the call until the
 * thread has read them, or until the call has failed. No handler of fork() touches the entries: one that was in use then
 * stays so in the child, whose copy nobody gives back. None of this locks, allocates, or is a point of cancellation.
 *
 * Not seen, and found by looking four times a second (cpu.c): threads of thrd_create(), SIGEV_THREAD and clone(), which pass
 * by this function; of libraries that prefer their own symbols (RTLD_DEEPBIND); of programs that the agent was put into
 * while they ran. The same goes for threads with stacks of less than AIF_BIRTH_STACK_MIN, a signal on which may be one too
 * many.
 */

/* Threads that are being created at one time. */
#define AIF_BIRTHS          128
#define AIF_BIRTH_STACK_MIN 65536

struct aif_birth {
	atomic_bool is_used;
	void *(*start)(void *);
	void *arg;
};

struct aif_births {
	_Atomic uint32_t hint; /* where the next search begins */
	struct aif_birth at[AIF_BIRTHS];
};

/* Creates a thread that is never sampled from its beginning: the agent's own. */
int aif_birth_create_own(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			 void *arg);
