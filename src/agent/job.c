/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/job.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, const char *variable)
{
	const char *value = getenv(variable);

	return value ? aif_mix64(hash ^ aif_hash_bytes(value, strlen(value))) : hash;
}

/* Takes the first launcher's name that there is, alone: of those further out not all ranks have the same. Open MPI and Hydra start
 * ranks of other hosts in a step of Slurm's, and those of the first host in none. */
uint64_t aif_job_number(void)
{
	uint64_t job = mix(0, "PMIX_NAMESPACE");

	if (!job)
		job = mix(0, "PMI_JOBID");
	if (!job && !getenv("PMI_RANK") && !getenv("OMPI_COMM_WORLD_RANK"))
		job = mix(mix(0, "SLURM_JOB_ID"), "SLURM_STEP_ID");
	return job;
}
