/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"
#include "inject/stop_time.h"
#include "wire/standby.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * `record -a`: puts the agent into the recorder's own user's processes, and into those of all users if it is root's, that use a device
 * and that nobody prepared, as they appear. From then on they are on standby, where the recorder finds them (owners.h: in
 * directories other than its own).
 *
 * Processes are listed five times a second. The map of one is read when it appears, when its address space has grown by as
 * much as a driver takes, and now and then. It uses a device when a runtime's library is in it: a driver of CUDA or OpenCL,
 * or OpenCL's loader, behind which a driver comes.
 */
struct aif_joins;

/* Result for a process. A process that is tried again has several: the last one counts. */
struct aif_join {
	int pid;
	uid_t uid; /* its user */
	char name[16];
	struct aif_inject_times times; /* the agent was put into it; no stops: it was there */
	char text[512];                /* why it was left alone; "": it was not */
	char standby
		[AIF_STANDBY_DIR_MAX]; /* where it is on standby, if not in the recording's directory; "" */
};

struct aif_joins_opts {
	const char *agent;   /* path of libaiflame-agent.so */
	const char *runtime; /* the only one that is wanted, or NULL */
	const char *standby; /* the recording's standby directory */
	bool all;            /* processes without a device, too */
};

/* Keeps the options' pointers. NULL: no memory. */
struct aif_joins *aif_joins_open(const struct aif_joins_opts *opts);
/* Looks at processes, and after those that are being joined. Waits for nothing. */
void aif_joins_look(struct aif_joins *j, uint64_t now);
bool aif_joins_next(struct aif_joins *j, struct aif_join *ret);
/* Waits for a moment for the results of injections that are all but over. NULL is allowed. */
void aif_joins_settle(struct aif_joins *j);
/* NULL is allowed. Injections under way go on, and end by themselves. */
void aif_joins_close(struct aif_joins *j);
