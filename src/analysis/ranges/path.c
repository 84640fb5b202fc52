/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/range_index.h"

#include <string.h>

unsigned aif_range_path(const struct aif_range_index *x, uint32_t range, bool in_graph,
			uint32_t path[AIF_RANGE_DEPTH])
{
	unsigned n = 0;

	for (uint32_t c = range - 1; range && c != AIF_NONE && n < AIF_RANGE_DEPTH;
	     c = x->chains[c].parent)
		if (x->chains[c].in_graph == in_graph)
			path[n++] = c;
	for (unsigned i = 0, j = n; i + 1 < j; i++) {
		uint32_t c = path[i];

		path[i] = path[--j];
		path[j] = c;
	}
	return n;
}

unsigned aif_range_node_path(const struct aif_range_index *x, uint32_t range, uint32_t made_in,
			     uint32_t path[AIF_RANGE_DEPTH])
{
	uint32_t replay[AIF_RANGE_DEPTH];
	unsigned made_len = aif_range_path(x, made_in, false, path), replay_len, i = 0;

	replay_len = aif_range_path(x, range, true, replay);
	if (replay_len && !(made_len && x->chains[path[made_len - 1]].kind == AIF_RANGE_HLO)) {
		memcpy(path, replay, replay_len * sizeof(*path));
		return replay_len;
	}
	replay_len = aif_range_path(x, range, false, replay);
	while (i < made_len && i < replay_len &&
	       x->chains[path[i]].name == x->chains[replay[i]].name)
		i++;
	memmove(path, path + i, (made_len - i) * sizeof(*path));
	return made_len - i;
}
