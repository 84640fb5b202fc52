/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/lock.h"

#include "agent/cuda/cuda.h"

bool aif_cuda_trylock_briefly(struct aif_cuda *cuda)
{
	for (int i = 0; pthread_mutex_trylock(&cuda->switching); i++) {
		if (i > 1000)
			return false;
		aif_cuda_sleep(100000);
	}
	return true;
}
