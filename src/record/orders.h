/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/drain.h"
#include "wire/handshake.h"
#include "wire/shm.h"

/* Bytes of a process's environment that are read. */
#define ENVIRONMENT_MAX ((size_t)1 << 18)

/* Writes what the agent of a process that said hello is to record, and how, into its memory: the recording's options, and the job that
 * the process is of (0: pid is not known). */
void aif_orders_write(const struct aif_record_opts *o, int pid, const struct aif_hello *h,
		      struct aif_shm *shm);
