/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <sys/types.h>

/* The environment with which a process carries the agent of this recording. */
struct aif_spawn_env {
	const char *agent, *socket, *token;
	const char *runtime; /* the only one that the agent listens to; NULL = all */
	bool metrics; /* Level Zero's driver is to have metrics, unless the variable says something */
	bool children;       /* the agent joins where no runtime starts, too */
	bool cpu;            /* and does so at once */
	bool nvtx;           /* NVTX opens the agent */
	bool ignore_sigchld; /* as the recorder found it */
};

/* Starts argv with that environment, existing values of LD_PRELOAD and OPENCL_LAYERS kept behind
 * ours, the signal mask `mask` and the descriptor limit as they were before the recorder changed
 * them. 0; or -errno with *err and *ret_exit_code 126 (cannot be executed) or 127 (not found), 125
 * for failures of our own. */
int aif_spawn(char *const argv[], const struct aif_spawn_env *env, const void *mask,
	      unsigned long nofile, pid_t *ret_pid, int *ret_exit_code, struct aif_err *err);
