/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/claim.h"

#include "agent/cuda/cuda.h"
#include "agent/cuda/names.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <unistd.h>

/*
 * A GPU has one sampling unit, and one process can have it. CUPTI lets a second one in, and then
 * fails: no data, calls that never return, a crash in the next cuptiActivityDisable() (13.0;
 * bench/gpu/toggle.c with sampling=1 and 2 in several processes). So a process claims the unit of a
 * GPU before it asks CUPTI for it.
 *
 * The claim is a System V semaphore: it needs no descriptor in a process that is not ours, is
 * undone by the kernel whatever the process dies of, and is the machine's (an IPC namespace's). Its
 * value is 1 while it is claimed. Where there are no semaphores everybody may sample.
 */

#define KEY UINT32_C(0xa1f00000)

/* Read once: an application may set variables while the helper runs. */
void aif_cuda_claim_init(struct aif_cuda *cuda)
{
	/* For tests: the GPUs of processes with another number are others. */
	const char *salt = getenv("AIFLAME_SAMPLING_KEY");

	cuda->claim_salt = salt ? (uint32_t)atoi(salt) & 0xfff : 0;
}

static key_t key_of(const struct aif_cuda *cuda, uint32_t pci)
{
	return (key_t)(KEY ^ (pci >> 3) ^ (pci >> 23) ^ cuda->claim_salt << 8);
}

static bool has_claim(const struct aif_cuda *cuda, int set)
{
	for (unsigned i = 0; i < AIF_CUDA_CONTEXTS; i++)
		if (cuda->sampling.contexts[i].claim == set + 1)
			return true;
	return false;
}

bool aif_cuda_claim(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	struct sembuf take[] = {{.sem_op = 0, .sem_flg = IPC_NOWAIT},
				{.sem_op = 1, .sem_flg = IPC_NOWAIT | SEM_UNDO}};
	bool has = false, is_taken = false;
	int saved = errno, set;

	if (c->claim)
		return true;
	set = semget(key_of(cuda, aif_cuda_bus_address(cuda, c->device)), 1, IPC_CREAT | 0666);
	if (set >= 0) {
		has = !semop(set, take, AIF_ARRAY_LEN(take));
		is_taken = !has && errno == EAGAIN;
	}
	/* A claim of the program that this process was before execve() is still this process's. */
	if (is_taken && !has_claim(cuda, set) && semctl(set, 0, GETPID) == getpid()) {
		has = true;
		is_taken = false;
	}
	if (has)
		c->claim = set + 1;
	errno = saved;
	return !is_taken;
}

void aif_cuda_unclaim(struct aif_cuda_sampled *c)
{
	struct sembuf give = {.sem_op = -1, .sem_flg = IPC_NOWAIT | SEM_UNDO};
	int saved = errno;

	if (c->claim)
		(void)semop(c->claim - 1, &give, 1);
	c->claim = 0;
	errno = saved;
}
