/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* State of a thread of this process, by the OS kernel: signals, and how often it has left the CPU. */
struct aif_task_status {
	uint64_t blocked;
	uint64_t waiting;  /* for this thread */
	uint64_t shared;   /* for any of the process */
	uint64_t switches; /* wanted or not */
};

/* Reads it from /proc; of a thread that has ended all is 0. */
struct aif_task_status aif_task_status_read(uint32_t tid);

static inline bool aif_task_has_signal(uint64_t set, int signal)
{
	return set >> (signal - 1) & 1;
}

/* The C library's own first signal. Applications cannot block it (sigfillset() and sigprocmask() leave it out), our
 * handler does: so a mask that has it is of a thread in our handler, or of one that begins or ends. */
#define AIF_LIBRARY_SIGNAL 32
