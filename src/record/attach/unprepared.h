/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "inject/inject.h"

/*
 * Processes that were started without the variables of `aiflame env`: the agent is put into them (inject/inject.h), and they
 * are on standby from then on.
 */

/* Chooses the standby directory of a process without an agent, as the process will see it. */
void aif_unprepared_standby(int pid, uid_t uid, char standby[AIF_STANDBY_DIR_MAX]);

/* Begins to put the agent into a process of user `uid`, which then is on standby in `standby` below its root. `left`: as of
 * aif_inject_start(). 0 or -errno with *err. */
int aif_unprepared_start(struct aif_injection *in, int pid, uid_t uid, const char *agent,
			 const char *runtime, const struct aif_inject_left *left,
			 char standby[AIF_STANDBY_DIR_MAX], struct aif_err *err);

/* Waits until the agent is there. 0 or -errno with *err: -ESRCH if the process has ended, or become another program. *ret_times: what it
 * took; *ret_program: the program that has it now (base/program_held.h), the caller's, or -1. */
int aif_unprepared_finish(struct aif_injection *in, struct aif_inject_times *ret_times,
			  int *ret_program, struct aif_err *err);
