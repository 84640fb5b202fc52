/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/filter_check.h"
#include "agent/session.h"

/*
 * A program may forbid itself system calls at any time (seccomp), and be ended at one that it never makes
 * itself but the agent does. Who knows of it:
 *   - the agent, which stands in front of the functions that install filters (guard.c). It runs the filter on its own
 *     calls (filter_check.h). One that allows them all changes nothing. Before any other one samples end, and with
 *     SECCOMP_FILTER_FLAG_TSYNC the agent's threads, which it would hold for, too;
 *   - the recorder, which looks from outside (record/ingest/seccomp.c) and is asked before each round of calls. What has
 *     code to install a filter by an instruction of its own gets no signals, and without a device no thread of ours
 *     (record/sources/filter_code.h): between that look and our last call it could still be ended;
 *   - prctl(PR_SET_NO_NEW_PRIVS), which a program without privileges must call first. That waits for the round under
 *     way, and there is no other for a second; later ones ask the recorder as before.
 * Afterwards the helper only waits, looks at the clock and at memory. Threads that have a ring go on writing to
 * it; others get none (thread.c), and children of a fork do not ask for one. A program that is started under a filter
 * which its recorder did not have is left alone (agent.c).
 */

/* Helper thread: may calls be made now? Asks the recorder if it is alive, which takes up to some 10 ms; if it was just
 * killed, 0.1 s, or until another one rings. `a`: its memory, or NULL. If true, aif_sandbox_end() follows. */
bool aif_sandbox_begin(const struct aif_attachment *a, bool alive);
void aif_sandbox_end(void);

/* True once there is a filter, and for ever then. */
bool aif_sandbox_is_on(void);
/* The same, or there may be one that the recorder has not seen yet. */
bool aif_sandbox_may_be_on(void);

/* In the program's thread, around the call that installs a filter. `filter` NULL: of nothing but read(), write(), exit()
 * and the return from a handler; or it cannot be read. */
struct aif_sandbox_install {
	bool is_harmless, is_begun, has_left;
	bool is_counted; /* by the recorder, too, which looks at the first thread */
	enum aif_filter_allows allows;
};
void aif_sandbox_install_begin(struct aif_sandbox_install *i, const struct sock_fprog *filter,
			       bool is_for_all);
void aif_sandbox_install_end(const struct aif_sandbox_install *i, bool is_installed);
/* The program says that it will not get more privileges, as it must before it installs a filter. */
void aif_sandbox_expect(void);
