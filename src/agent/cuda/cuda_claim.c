/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/cuda.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/sem.h>

/*
 * A GPU has one sampling unit, and one process can have it. CUPTI lets a second one in, and then fails: no data, calls
 * that never return, a crash in the next cuptiActivityDisable() (13.0; bench/gpu/toggle.c with sampling=1 and 2 in several
 * processes). So a process claims the unit of a GPU before it asks CUPTI for it.
 *
 * The claim is a System V semaphore: it needs no descriptor in a process that is not ours, is undone by the kernel whatever the
 * process dies of, and is the machine's (an IPC namespace's). Its value is 1 while it is claimed. Where there are no
 * semaphores everybody may sample.
 */

#define KEY UINT32_C(0xa1f00000)

static key_t key_of(uint32_t pci)
{
	const char *salt =
		getenv("AIFLAME_SAMPLING_KEY"); /* for tests: other processes' GPUs are others */
	uint32_t k =
		KEY ^ (pci >> 3) ^ (pci >> 23) ^ (salt ? ((uint32_t)atoi(salt) & 0xfff) << 8 : 0);

	return (key_t)k;
}

bool aif_cuda_claim(struct aif_cuda *cuda, struct aif_cuda_sampled *c)
{
	struct sembuf take[] = {{.sem_op = 0, .sem_flg = IPC_NOWAIT},
				{.sem_op = 1, .sem_flg = IPC_NOWAIT | SEM_UNDO}};
	int saved = errno, set;
	bool ok;

	if (c->claim)
		return true;
	set = semget(key_of(aif_cuda_bus_address(cuda, c->device)), 1, IPC_CREAT | 0666);
	ok = set < 0 || !semop(set, take, AIF_ARRAY_LEN(take)) || errno != EAGAIN;
	if (ok && set >= 0)
		c->claim = set + 1;
	errno = saved;
	return ok;
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
