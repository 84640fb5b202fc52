/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "inject/stop_time.h"
#include "record/ingest/opts.h"

#include <sys/types.h>

/* Progress of a recording. */
struct aif_record_progress {
	uint64_t elapsed_ns, launches, samples;
	uint64_t bytes;     /* of the profile's file */
	unsigned targets;   /* processes that are recorded now */
	unsigned processes; /* the command and its children so far, with an agent or without */
	int command;        /* its process number; 0 = there is none */
	bool is_over;       /* nothing is collected any more: the last call */
};

/* A process of `record -a` that uses a device, and that nobody prepared; or a named one that has become another program. */
struct aif_record_joined {
	int pid;
	uid_t uid;        /* its user */
	const char *name; /* NULL: not known */
	struct aif_inject_times times;
	const char *why; /* why the agent was not put into it; "": it was */
};

/* Is told how a recording goes on, on the thread that called aif_record_run(); a function may be NULL. */
struct aif_record_observer {
	void *arg;
	/* Is called four times a second. */
	void (*progress)(void *arg, const struct aif_record_progress *p);
	/* Process `pid` (-p) has no accelerator runtime yet: recording it begins when one starts. */
	void (*awaits)(void *arg, int pid);
	/* Collecting begins at `due_ns` of the wall clock (--activate). Optional. */
	void (*waits)(void *arg, uint64_t due_ns);
	/* The agent was put into a process. Optional. */
	void (*injected)(void *arg, int pid, const struct aif_inject_times *times);
	/* A named process has become another program, into which the agent was put, or why not. Optional. */
	void (*became)(void *arg, const struct aif_record_joined *j);
	/* Says of a process of -a that the agent was put into it, or why not. The last call for a number counts. Optional. */
	void (*joined)(void *arg, const struct aif_record_joined *j);
};

/* Result of a recording. */
struct aif_record_result {
	int exit_code;   /* for `record` to end with: the command's, 128 + signal, or 125 to 127 */
	char path[4096]; /* of the profile, "" if none was written */
	bool have_profile; /* the file is complete and can be opened */
	int goes_on;       /* the command's process, which was left running; 0 = none */
};

/*
 * Runs the command under the profiler until it ends, the duration is over, or a second Ctrl-C.
 * Prints nothing; `observer` may be NULL. Returns 0 when there is a result, even if the command
 * failed; else -errno with *err and ret->exit_code (125, 126, 127).
 */
int aif_record_run(const struct aif_record_opts *opts, const struct aif_record_observer *observer,
		   struct aif_record_result *ret, struct aif_err *err);
