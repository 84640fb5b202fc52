/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/target.h"
#include "record/sources/sleep_calls.h"

/*
 * The stack of a thread that sleeps, read from its process's memory: its Python frames, and the native ones around them. The
 * process does nothing for it and is not stopped. A frame pointer that is needed and not known is searched in the stack, and the
 * stack is marked as guessed.
 */
struct aif_asleep;

/* Returns the reader of a process's stacks, with Python's frames or without. NULL: no memory, or a machine whose registers are not
 * known. */
struct aif_asleep *aif_asleep_new(int pid, bool with_python);
void aif_asleep_free(struct aif_asleep *a);

/* A thread that sleeps: its number in its own pid namespace, and in which call it does. */
struct aif_asleep_thread {
	uint32_t tid;
	const struct aif_sleep_call *call;
};

/* Returns the store's stack of a thread, AIF_NONE: none could be read. `tids`: all threads' numbers, in any order. What was
 * read holds if the thread still sleeps there afterwards: is_asleep() is called between reading and the store. Needs the store's lock. */
uint32_t aif_asleep_stack(struct aif_asleep *a, struct aif_drainer *d, struct aif_target *t,
			  const struct aif_asleep_thread *thread, const uint32_t *tids,
			  size_t tids_len, bool (*is_asleep)(void *arg), void *arg);
