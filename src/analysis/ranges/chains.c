/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranges/building.h"

#include <errno.h>

static int chain_of_element(struct aif_range_building *b, uint32_t parent,
			    const struct aif_range_element *e, bool in_graph, uint32_t *ret)
{
	struct aif_range_index *x = b->x;
	const struct aif_range_chain *around = parent == AIF_NONE ? NULL : &x->chains[parent];
	bool is_kept = e->is_kept || (around && around->is_kept);
	uint64_t key = (uint64_t)parent << 32 | (uint64_t)e->name << 5 | (uint64_t)e->kind << 2 |
		       in_graph << 1 | is_kept,
		 id;
	uint16_t depth = around ? around->depth + 1 : 0;

	if (depth >= AIF_RANGE_DEPTH) {
		*ret = parent;
		return 0;
	}
	if (aif_map_get(&b->chain_ids, key, &id)) {
		*ret = (uint32_t)id;
		return 0;
	}
	if (x->chains_len >= AIF_NONE - 1 || e->name >= UINT32_MAX >> 5 ||
	    aif_grow(&x->chains, &x->chains_cap, x->chains_len + 1, sizeof(*x->chains)) < 0 ||
	    aif_map_put(&b->chain_ids, key, x->chains_len) < 0)
		return -ENOMEM;
	x->chains[x->chains_len] = (struct aif_range_chain){.parent = parent,
							    .name = e->name,
							    .depth = depth,
							    .kind = e->kind,
							    .is_kept = is_kept,
							    .in_graph = in_graph};
	*ret = (uint32_t)x->chains_len++;
	return 0;
}

/* op_name begins with what names the module: "jit(update)" is not said twice. */
static bool is_said(const struct aif_range_index *x, uint32_t chain,
		    const struct aif_range_element *e)
{
	for (; chain != AIF_NONE && e->kind == AIF_RANGE_SCOPE; chain = x->chains[chain].parent)
		if (x->chains[chain].kind == AIF_RANGE_MODULE)
			return x->chains[chain].name == e->name;
	return false;
}

int aif_range_chain_of(struct aif_range_building *b, uint32_t parent, uint32_t name, bool in_graph,
		       uint32_t *ret)
{
	const struct aif_range_name *n = &b->names[name];
	int r = 0;

	*ret = parent;
	for (uint32_t i = 0; i < n->len && !r; i++)
		if (i || !is_said(b->x, parent, &b->elements[n->first]))
			r = chain_of_element(b, *ret, &b->elements[n->first + i], in_graph, ret);
	return r;
}
