/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* A process's place in a job of several, as its launcher tells it by environment variables: torchrun, Open MPI, MPICH and
 * Intel MPI, PMIx, MVAPICH, Slurm. torchrun's come first: it may itself have been started by one of the others. */
struct aif_job_rank {
	bool is_known;
	uint32_t rank;
	uint32_t local_rank,
		world; /* among those of its host; how many there are. UINT32_MAX, 0: not known */
	uint32_t local_world; /* how many its host has; 0: not known */
};

/* Finds it in a block of NAME=VALUE strings that end with a zero byte each, as /proc/PID/environ has them. */
struct aif_job_rank aif_job_rank_find(const char *block, size_t size);
/* Returns a number of the job, by the names that its launcher gave it, which all of its ranks have; 0: the process is not one of
 * several ranks. */
uint64_t aif_job_number(const char *block, size_t size);
/* True if the address by which its ranks meet is a host's own, such as "localhost": another network has the same one. */
bool aif_job_is_local(const char *block, size_t size);
/* Returns the value of this process's own variable with its rank, or NULL. */
const char *aif_job_rank_own(void);
