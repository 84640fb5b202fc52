/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <sys/types.h>

/* Who started a process, and when it started (ticks since boot: with its number that is one process). False, with
 * nothing said, if there is none. */
bool aif_proc_stat(int pid, int *ret_parent, uint64_t *ret_start);

/* There is none, or all that is left of it waits for its parent to ask how it ended. */
bool aif_proc_has_ended(int pid);

/* Its monotonic clock is another than ours, or may be: it lives in a time namespace (time_namespaces(7)) with an offset. */
bool aif_proc_has_other_clock(int pid);

/* Its real user, also where the owner of /proc/PID is root because it was another's before. False: there is none. */
bool aif_proc_user(int pid, uid_t *ret);
