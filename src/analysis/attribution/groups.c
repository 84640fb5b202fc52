/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/groups.h"

#include <errno.h>

static bool is_same(const struct aif_group *x, const struct aif_group *y)
{
	return x->process == y->process && x->device == y->device && x->stream == y->stream &&
	       x->kind == y->kind && x->kernel == y->kernel && x->stack == y->stack &&
	       x->graph == y->graph && x->range == y->range && x->capture == y->capture &&
	       x->capture_range == y->capture_range;
}

int aif_groups_find_or_add(struct aif_groups *g, const struct aif_group *like, uint32_t *ret)
{
	uint32_t words[] = {like->process, like->device,       like->stream, like->kind,
			    like->kernel,  like->stack,        like->graph,  like->range,
			    like->capture, like->capture_range};
	uint64_t key = aif_hash_bytes(words, sizeof(words)), id;

	for (; aif_map_get(&g->ids, key, &id); key++)
		if (is_same(&g->at[id], like)) {
			*ret = (uint32_t)id;
			return 0;
		}
	id = g->len;
	if (aif_grow(&g->at, &g->cap, id + 1, sizeof(*like)) < 0 ||
	    aif_map_put(&g->ids, key, id) < 0)
		return -ENOMEM;
	g->at[g->len++] = *like;
	*ret = (uint32_t)id;
	return 0;
}

void aif_groups_seal(struct aif_groups *g)
{
	aif_map_finish(&g->ids);
}

void aif_groups_finish(struct aif_groups *g)
{
	free(g->at);
	aif_map_finish(&g->ids);
	*g = (struct aif_groups){0};
}
