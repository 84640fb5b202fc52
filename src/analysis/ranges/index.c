/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/range_index.h"

#include <stdlib.h>

void aif_range_index_finish(struct aif_range_index *x)
{
	aif_strset_finish(&x->names);
	free(x->chains);
	free(x->moments);
	free(x->first);
	free(x->processes);
	aif_sole_threads_finish(&x->inside);
	free(x->commands);
	aif_map_finish(&x->graphs);
	aif_map_finish(&x->nodes);
	aif_map_finish(&x->placed);
	*x = (struct aif_range_index){0};
}

uint32_t aif_range_index_at(const struct aif_range_index *x, uint32_t thread, int64_t at)
{
	size_t lo, hi;

	if (thread >= x->threads)
		return AIF_NONE;
	lo = x->first[thread];
	hi = x->first[thread + 1];
	if (lo == hi || x->moments[lo].from > at)
		return AIF_NONE;
	/* Takes the last one that is not later. */
	return x->moments[AIF_BISECT(i, lo, hi, x->moments[i].from <= at) - 1].chain;
}

uint32_t aif_range_index_of_launch(const struct aif_range_index *x, uint32_t thread, int64_t at,
				   bool *ret_is_other)
{
	uint32_t chain = aif_range_index_at(x, thread, at);

	*ret_is_other = false;
	if (chain != AIF_NONE || thread >= x->threads)
		return chain;
	chain = aif_range_index_at(x, aif_sole_threads_at(&x->inside, x->processes[thread], at),
				   at);
	*ret_is_other = chain != AIF_NONE;
	return chain;
}
