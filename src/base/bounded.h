/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdatomic.h>

/*
 * Calls about another process which that process can keep waiting.
 *
 * The texts `environ`, `cmdline` and `maps` are as long as the process likes; and they, map_files and the memory itself
 * are behind a lock that a process can keep for ever: one of its threads waits for memory that a file system of its
 * user's does not deliver, and another for the lock. So root, and whoever looks at another user's process, has a thread
 * make the call, and goes on without it when it has taken too long. The kernel ends such a wait with the program.
 *
 * While a user keeps a thread waiting, nothing of that user's other processes is looked at; and a user's texts may take
 * 2 s in 10 s. The first wait lasts 2 s, each that begins while others are still waiting half as long as the one before:
 * however many users do so, it takes some seconds in all; twice as long where processors are short.
 */
struct aif_bounded {
	/* `is_abandoned`: nobody waits for it any more. */
	void (*run)(void *arg, const atomic_bool *is_abandoned);
	void (*release)(void *arg); /* frees it, with what run() has put there */
};

/* True if calls about some processes are made by a thread: this process may look at those of other users. Else it looks at
 * its own user's alone, which can do to it what they like. */
bool aif_bounded_is_needed(void);

/* Makes the call; `is_text`: it is of those that may take 2 s. 0: it was made, and `arg` is still the caller's. Else
 * `arg` is not: -ETIMEDOUT, -ESRCH (no such process) or -ENOMEM. */
int aif_bounded_call(const struct aif_bounded *call, void *arg, int pid, bool is_text);
