/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "inject/borrow.h"

/*
 * Maps the payload in a running process. A mapping waits for the lock of the process's memory map: for hundreds of milliseconds on a
 * busy machine, where a thread that holds it has lost its processor. No thread of the program is to wait for that. So one is stopped for
 * one system call, clone(), and goes on; the thread that this makes, unknown to the C library, calls nothing of it, makes the system
 * calls that the injector steps it through, and ends.
 *
 * What it maps is shared with the injector, which reads and writes it without that lock. There it also copies the stack of a thread that
 * is stopped, for the kernel takes the lock to read another process's memory.
 */

/* Makes that thread, by one that is stopped and that has its signal mask set. 0; -EAGAIN, -ENOMEM: there is no room for one more; -ESRCH. */
int aif_mapper_clone(struct aif_stopped *by, uint64_t syscall_at);

/* Has the thread map what is missing of b->memory, b->is_executable and b->page; the one that made it has been let go. 0;
 * -EMFILE: no descriptor; -EACCES: no memory for code; -ENOMEM; -EAGAIN: the descriptor was taken from it; -ESRCH. */
int aif_mapper_map(struct aif_borrow *b);

/* Waits until nobody holds the lock of the memory map: who has just had it at once will in the next moment, as a rule. False: it is not free. */
bool aif_mapper_finds_map_free(struct aif_borrow *b);

/* Has the thread copy so much of a stack, all of it in memory, for b->im to read from. Where that takes long it goes on, and
 * aif_mapper_end() has to follow. */
void aif_mapper_copy_stack(struct aif_borrow *b, uint64_t at, size_t len);

/* Lets go of the shared memory, here. */
void aif_mapper_forget(struct aif_borrow *b);

/* Returns true while a copy is not over. */
bool aif_mapper_is_copying(const struct aif_borrow *b);

/* Has the thread end; the target's exec() waits for it. False: it is still copying, and ends by itself behind that. */
bool aif_mapper_end(struct aif_borrow *b);

/* True if the payload's code is in this program; by exec() it has become another. */
bool aif_mapper_has_code(const struct aif_borrow *b);
