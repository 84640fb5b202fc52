/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <sys/types.h>

/* Reads who started a process, and when it started (ticks since boot: with its number that is one process). False, and
 * nothing is said, if there is none. */
bool aif_proc_stat(int pid, int *ret_parent, uint64_t *ret_start);

/* True if there is no such process, or all that is left of it waits for its parent to ask how it ended. */
bool aif_proc_has_ended(int pid);

/* Offsets from a process's clocks to this one's (time_namespaces(7)), to be added. */
struct aif_proc_clocks {
	uint64_t monotonic, boottime; /* ns, modulo 2^64 */
};

/* Reads the offsets of a process's clocks. False: it lives in another time namespace than this one, and how far
 * that is from this one's cannot be read. */
bool aif_proc_clocks(int pid, struct aif_proc_clocks *ret);

/* Reads the process's real user, also where root owns /proc/PID because the process was another user's before. False:
 * there is none. */
bool aif_proc_user(int pid, uid_t *ret);
