/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/session.h"

/*
 * A program may forbid itself system calls at any time (seccomp), and be ended at one that it never makes
 * itself but our helper does. So calls are made between begin and end only, and not once there is a
 * filter that was not there when the recorder gave its memory. Two know of it:
 *   - the recorder, which looks from outside (record/ingest/seccomp.c) and is asked before each round of calls. What
 *     installs a filter between its look and our last call may still end the program;
 *   - prctl(), which the agent stands in front of: a program without privileges must say
 *     PR_SET_NO_NEW_PRIVS before it may install a filter. That waits for the round under way, and
 *     there is no other for a second; later ones ask the recorder as before.
 * Afterwards the helper only waits, looks at the clock and at memory. Threads that have a ring go on writing to
 * it; others get none (thread.c), and children of a fork do not ask for one.
 */

/* Helper thread: may calls be made now? Asks the recorder if it is alive, which takes up to some 10 ms; if it was just
 * killed, 0.1 s, or until another one rings. `a`: its memory, or NULL. If true, aif_sandbox_end() follows. */
bool aif_sandbox_begin(const struct aif_attachment *a, bool alive);
void aif_sandbox_end(void);

/* True once there is a filter, and for ever then. */
bool aif_sandbox_is_on(void);
/* The same, or there may be one that the recorder has not seen yet. */
bool aif_sandbox_may_be_on(void);
