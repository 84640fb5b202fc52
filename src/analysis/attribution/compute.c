/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/cache.h"
#include "analysis/attribution/pipeline.h"

int aif_attribution_compute(const struct aif_profile *p, const struct aif_selection *sel,
			    struct aif_attribution *ret, struct aif_err *err)
{
	bool is_whole = !aif_selection_is_part(sel) && !(sel && sel->by_range);
	int r;

	if (is_whole && aif_attribution_cache_get(p, ret) == 0)
		return 0;
	r = aif_attribution_run(p, sel, ret, err);
	if (!r && is_whole)
		aif_attribution_cache_put(p, ret);
	return r;
}
