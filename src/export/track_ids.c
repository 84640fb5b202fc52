/* SPDX-License-Identifier: Apache-2.0 */
#include "export/track_ids.h"

#include <errno.h>

/* `number` if nothing in `used` has it in `scope`, else one of its own. */
static int number_take(struct aif_map *used, uint32_t scope, uint32_t number, uint32_t own,
		       uint32_t *ret)
{
	uint64_t key = (uint64_t)scope << 32 | number, i;

	*ret = number && number < AIF_TRACK_ID_DEVICE - 1 && !aif_map_get(used, key, &i)
		       ? number
		       : AIF_TRACK_ID_AGAIN + own;
	return aif_map_put(used, key, 0);
}

int aif_track_ids_init(struct aif_track_ids *t, const struct aif_profile *p)
{
	struct aif_map used = {0};
	int r = 0;

	*t = (struct aif_track_ids){
		.processes = calloc(p->processes_len + 1, sizeof(*t->processes)),
		.threads = calloc(p->threads_len + 1, sizeof(*t->threads)),
	};
	if (!t->processes || !t->threads)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->processes_len && !r; i++)
		r = number_take(&used, AIF_NONE, p->processes[i].pid, i, &t->processes[i]);
	for (uint32_t i = 0; i < p->threads_len && !r; i++)
		r = number_take(&used, p->threads[i].process, p->threads[i].tid, i, &t->threads[i]);
	aif_map_finish(&used);
	return r;
}

void aif_track_ids_finish(struct aif_track_ids *t)
{
	free(t->processes);
	free(t->threads);
	*t = (struct aif_track_ids){0};
}
