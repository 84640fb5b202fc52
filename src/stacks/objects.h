/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Puts what a descriptor of a process is: "3 (pipe 4711)", "5 (tcp 127.0.0.1:80, from 10.0.0.1:4000)", "7 (/tmp/x)". */
void aif_stacks_put_descriptor(int pid, int fd, struct aif_buf *b);
/* Puts the child that process `parent` waits for: "the end of process 12 (sleep)"; pid <= 0: of any. */
void aif_stacks_put_child(int pid, int parent, struct aif_buf *b);

/* Finds a socket in a text of /proc/PID/net/{tcp,tcp6,udp,udp6,unix}, by its inode. False: it is not there. */
bool aif_stacks_find_socket(const char *table, const char *protocol, uint64_t inode,
			    struct aif_buf *b);
