/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <sys/types.h>

/*
 * A command that stops itself (`kill -STOP $$`), or is stopped by another program. The recorder is the job of a shell,
 * which takes the terminal back when the job stops: so the recorder stops, too. Ctrl-Z needs no help: the terminal stops
 * both.
 */
struct aif_job {
	uint64_t stopped_ns; /* the command was first seen stopped then; 0 = it runs */
};

/* Stops the recorder if it is the foreground job of a shell with job control and the command, a process of that job, has
 * been stopped for a while. Returns when the recorder is continued; the command is then, too. */
void aif_job_look(struct aif_job *j, pid_t command, uint64_t now);
