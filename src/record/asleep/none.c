/* SPDX-License-Identifier: Apache-2.0 */
#include "record/asleep/asleep.h"

/* Stands in on machines whose registers are not known (unwind/arch.h). */

struct aif_asleep *aif_asleep_new(int pid, bool with_python)
{
	(void)pid;
	(void)with_python;
	return NULL;
}

void aif_asleep_free(struct aif_asleep *a)
{
	(void)a;
}

uint32_t aif_asleep_stack(struct aif_asleep *a, struct aif_drainer *d, struct aif_target *t,
			  const struct aif_asleep_thread *thread, const uint32_t *tids,
			  size_t tids_len, bool (*is_asleep)(void *arg), void *arg)
{
	(void)a;
	(void)d;
	(void)t;
	(void)thread;
	(void)tids;
	(void)tids_len;
	(void)is_asleep;
	(void)arg;
	return AIF_NONE;
}
