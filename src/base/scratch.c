/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scratch.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

void aif_scratch_put(struct aif_scratch *s, const char *path)
{
	size_t at = AIF_SCRATCH_MAX;

	if (!s || !path || strlen(path) >= AIF_SCRATCH_PATH)
		return;
	/* Takes the slot behind all that are used: a directory is put before its files, and removed
	 * after them. */
	while (at && !s->is_used[at - 1])
		at--;
	if (at == AIF_SCRATCH_MAX)
		return;
	strcpy(s->paths[at], path);
	atomic_signal_fence(memory_order_seq_cst);
	s->is_used[at] = 1;
}

void aif_scratch_take(struct aif_scratch *s, const char *path)
{
	for (size_t i = AIF_SCRATCH_MAX; s && path && i-- > 0;)
		if (s->is_used[i] && !strcmp(s->paths[i], path)) {
			s->is_used[i] = 0;
			return;
		}
}

void aif_scratch_remove(struct aif_scratch *s)
{
	for (size_t i = AIF_SCRATCH_MAX; i-- > 0;)
		if (s->is_used[i] && unlink(s->paths[i]) < 0)
			rmdir(s->paths[i]);
}
