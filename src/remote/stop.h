/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "remote/walk.h"

/*
 * Looks at one thread of another process. One that sleeps in a system call is read as it is (/proc/PID/task/TID/syscall has
 * its stack pointer and pc), with no effect on it. One that runs, or whose frame pointer is needed, is stopped by ptrace for as long as
 * its registers and its stack are copied: some 50 us.
 *
 * A stop ends a sleep in the kernel, which goes on afterwards as if nothing had been; but for the calls of
 * aif_remote_call_restarts(), which would fail with EINTR: threads in these are never stopped.
 */

/* Bytes of a stack that are copied. */
#define AIF_REMOTE_STACK_MAX (512u << 10)

/* A system call in which a thread sleeps. */
struct aif_remote_call {
	long number; /* -1: asleep outside of system calls */
	uint64_t args[6];
	uint64_t sp, pc;
};

/* Parses a text of /proc/PID/task/TID/syscall. False: the thread runs, or the text is none of its. */
bool aif_remote_call_parse(const char *text, struct aif_remote_call *ret);

/* Reads it. 1: *ret is where it sleeps; 0: it runs; -errno, of which -EPERM and -EACCES: it may not be read. */
int aif_remote_call_read(int pid, int tid, struct aif_remote_call *ret);

/* True if the kernel goes on with the call after a stop. */
bool aif_remote_call_restarts(long number);

/* Counts how often the thread has left its CPU; the same before and after: it has not run meanwhile. False: it is gone. */
bool aif_remote_switches(int pid, int tid, uint64_t *ret);

/* Stops the thread, calls seen() and lets it go on. *ret_ns: how long it was stopped, from the last look that saw it run.
 * 0; -EPERM: it may not be traced, or somebody traces it; -ESRCH: there is none; -ETIMEDOUT: it did not stop, since it is in an
 * uninterruptible sleep: nothing of the attempt is left; or another -errno. */
int aif_remote_stop(int tid, void (*seen)(void *arg, const struct aif_remote_regs *regs), void *arg,
		    uint64_t *ret_ns);
