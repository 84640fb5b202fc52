/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 * Locks of the loader, which threads of the agent's look at before they call what waits for them. A thread of the program
 * may have one for long, in a callback of dl_iterate_phdr() or in a constructor of a library that it opens. And in a forked
 * child the lock of the list of modules is locked for good where another thread had it at the fork: the C library makes
 * new its other locks only. A thread of ours that waits there would keep what it may do, which the program may give up.
 *
 * The C library does not say where they are. The lock of the list is found by what dl_iterate_phdr() does to it: of the
 * mutexes among the loader's variables that a callback finds held, it is the one that is held once more in a callback's
 * callback. The lock of dlopen() and dlsym() lies before that one, in all versions of glibc.
 */

struct aif_loader {
	const pthread_mutex_t *list; /* NULL: not found */
	const pthread_mutex_t *open; /* the same */
};

/* Finds them. In the agent's constructor: makes no system call. */
void aif_loader_find(struct aif_loader *l);
/* True if no thread has the lock of the list; false where that is not known. Lock-free. */
bool aif_loader_list_is_free(const struct aif_loader *l);
/* Waits for some ms at most while a thread has it. False: one has it for long, and what waits for it may wait for ever. */
bool aif_loader_await_list(const struct aif_loader *l);
/* True if a thread has one of the two at this moment. Lock-free. */
bool aif_loader_is_busy(const struct aif_loader *l);
