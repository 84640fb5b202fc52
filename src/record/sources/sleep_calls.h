/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A system call in which a thread sleeps, as /proc/PID/task/TID/syscall has it. */
struct aif_sleep_call {
	long number; /* -1: asleep outside of system calls, waiting for a page */
	uint64_t args[6];
	uint64_t sp, pc; /* 0: the text has none */
};

/* Reads the text of such a file. False: the thread runs, or the text is none of its. */
bool aif_sleep_call_parse(const char *text, struct aif_sleep_call *ret);

/* Addresses of the data of a process's Python interpreter, of which its global lock is a part; .end 0: not found. */
struct aif_sleep_python {
	uint64_t start, end;
};
/* Reads them from the text of /proc/PID/maps. */
struct aif_sleep_python aif_sleep_python_find(const char *maps);

/* Puts what a thread of process `pid` sleeps in: "epoll_wait", "read of a socket", "poll of an eventfd", "system call 42", "futex of Python's GIL". Of several descriptors
 * the likeliest to bring work is named: a socket, then a terminal. What may not be looked at is left out. */
#define AIF_SLEEP_NAME 64
void aif_sleep_call_name(int pid, const struct aif_sleep_call *call,
			 const struct aif_sleep_python *python, char ret[AIF_SLEEP_NAME]);
