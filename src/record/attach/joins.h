/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdint.h>

/*
 * `record -a --inject always`: puts the agent into the recorder's own user's processes that use a device and that nobody
 * prepared, as they appear. From then on they are on standby, where the recorder finds them.
 *
 * A process is looked at when it appears and then less and less often, five times a second at first, each five seconds at
 * last. It uses a device when it has mapped a driver: a program that is only linked to OpenCL's loader does not.
 */
struct aif_joins;

/* Result for a process, each once. */
struct aif_join {
	int pid;
	uint64_t stop_ns; /* the agent is in it: the longest time that a thread was stopped */
	char text[512];   /* why it was left alone; "": it was not */
};

/* `agent`: path of libaiflame-agent.so; `runtime`: the only one that is wanted, or NULL; `standby`: the recording's standby
 * directory. These live longer. NULL: no memory. */
struct aif_joins *aif_joins_open(const char *agent, const char *runtime, const char *standby);
/* Looks at processes, and after those that are being joined. Waits for nothing. */
void aif_joins_look(struct aif_joins *j, uint64_t now);
bool aif_joins_next(struct aif_joins *j, struct aif_join *ret);
/* NULL is allowed. Injections under way go on, and end by themselves. */
void aif_joins_close(struct aif_joins *j);
