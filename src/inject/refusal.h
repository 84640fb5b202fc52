/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <sys/types.h>

/* Says why the agent is not put into a process, before anything is done to it. 0 or -errno with *err, one sentence and what
 * to do. -ENOTSUP: never into this program; -EPERM: not by this user; -ESRCH: it has ended; -EBUSY: not now; -EINPROGRESS: it has just been
 * started, and has no C library yet, or may be about to become another program. *ret_program: by which to tell the program that was
 * looked at (base/program_held.h), the caller's; -1 with an error. */
int aif_inject_refusal(pid_t pid, int *ret_program, struct aif_err *err);

/* The same after ptrace was refused: names the setting or the capability that is missing. */
int aif_inject_why_not_traced(pid_t pid, int error, struct aif_err *err);
