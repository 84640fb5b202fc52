/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/*
 * Processes that use no device, with `aiflame record --children` or `--cpu`: programs that the command starts, and what recorded
 * processes fork, such as the workers of a data loader. No runtime starts in them, so a thread of the agent's meets the
 * recorder, for CPU samples alone, when the process is AIF_CHILD_AGE_NS old: a shell's short commands, and children
 * that are about to call exec, are left alone.
 *
 * The thread is made in the constructor, and in fork()'s child by a handler of pthread_atfork(). Formally a child of a
 * process with threads may not do that; glibc's fork() has repaired malloc and its own locks by then, and an allocator
 * that registered its handlers before us has done the same. That is why this is an option.
 */
#define AIF_CHILD_AGE_NS 100000000
/* With `record --cpu`, whose programs are the ones to be looked at: from the start, but for a child that is about to
 * call exec, which takes it some 100 us. */
#define AIF_CHILD_AT_ONCE_NS 2000000

/* Starts the thread that meets the recorder. */
void aif_children_join_soon(void);

/* A recorder wants forked children, too: registers the handler, once. In the constructor, or in any thread later. */
void aif_children_watch_forks(bool in_constructor);
