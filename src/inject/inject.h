/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "inject/stop_time.h"
#include "wire/injected.h"

#include <sys/types.h>

/*
 * Puts the agent into a running process that nobody prepared. An injector, a process of ours with one thread, borrows a
 * thread of the target that is at rest (borrow.h); that one makes a new thread, which loads the agent from a descriptor (a
 * memfd, so that nothing need exist in a container's file system) and calls it. Afterwards the process is as if it had been
 * started with the variables of `aiflame env`: the agent waits for recorders.
 *
 * What may take long, or hang, is in the new thread: no thread of the program waits for it. Why a process of its own: what
 * it traces is free when it ends, and the recorder has children of its own to wait for.
 *
 * Nobody but the kernel knows the injector, and it may not be killed: by SIGKILL in the half millisecond in which the thread
 * makes a system call for it, or while the thread that this makes has not mapped the payload (mapper.h), the program crashes; before and
 * after that it does not (payload_x86_64.S).
 */

/* An injection under way. */
struct aif_injection {
	pid_t pid;      /* the target */
	pid_t injector; /* 0: none */
	int fd;         /* its result */
	int program;    /* the target's (base/program_held.h) */
};

/* Memory of 40 KB that stays in a process when its last thread had to be given back too soon: the next injector uses it. */
struct aif_inject_left {
	uint64_t memory; /* 0: none */
	bool is_executable;
};

struct aif_inject_result {
	int error; /* 0: the agent is there; -ESRCH: the process has ended, or become another program */
	/* Without an error the program that the agent was put into (base/program_held.h), the caller's; else -1. */
	int program;
	struct aif_inject_left left;
	struct aif_inject_times times;
	uint64_t took_ns;
	char text[512]; /* what aif_err says; "" without an error */
};

/* Begins. `agent`: path of libaiflame-agent.so here; `left`: by the last injector in this process. 0, or -errno with *err: it is
 * not tried. */
int aif_inject_start(struct aif_injection *in, pid_t pid, const char *agent,
		     const struct aif_injected *about, const struct aif_inject_left *left,
		     struct aif_err *err);
/* True if it is over: *ret says how. Waits for it up to timeout_ms. */
bool aif_inject_poll(struct aif_injection *in, int timeout_ms, struct aif_inject_result *ret);
/* Waits no longer for one that is not over; it goes on, and ends by itself. */
void aif_inject_cancel(struct aif_injection *in);

/* True where this machine can do so; else *err says why not. */
bool aif_inject_is_possible(struct aif_err *err);
