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
};

/* Finds it in a block of NAME=VALUE strings that end with a zero byte each, as /proc/PID/environ has them. */
struct aif_job_rank aif_job_rank_find(const char *block, size_t size);
/* Returns the value of this process's own variable with its rank, or NULL. */
const char *aif_job_rank_own(void);
