/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

#include <sys/types.h>

/* Reads what a child process prints that may hang or print without end. Takes over both: `fd`,
 * from which it is read, and the child, which is over afterwards. 0: it ended well and printed
 * something, at most `max` bytes, appended to *ret. -EINVAL: it did not. -ETIMEDOUT: it did not
 * end in time (or never began): do not ask again. On failure *ret is empty. */
int aif_tool_output(pid_t pid, int fd, size_t max, struct aif_buf *ret);

/* Runs a program, which ends with its parent: argv[0], looked for in PATH, or, with is_self, this one. SIGINT and SIGQUIT go to
 * it alone meanwhile. Returns its exit status, 127 where it cannot be started, 128 + n for signal n, or -errno. */
int aif_tool_run(char *const *argv, bool is_self);

/* Waits for a child process. Returns its exit status, 128 + n for signal n as shells do, or -errno. */
int aif_tool_wait(pid_t pid);
