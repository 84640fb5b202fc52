/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/cache.h"
#include "analysis/attribution/classify.h"
#include "analysis/attribution/pipeline.h"

#include "profile/chunk.h"
#include "profile/file.h"

/* Bytes a row. Sorting takes runs and samples twice; launches are freed before runs are sorted. A launch takes 16 bytes in
 * load.h, and two flags in classify.c. */
#define LAUNCH_BYTES 18
#define RUN_BYTES    sizeof(struct aif_run)
#define SAMPLE_BYTES sizeof(struct aif_sample_row)

uint64_t aif_attribution_memory(const struct aif_profile *p)
{
	uint64_t runs = aif_profile_rows(p, AIF_CHUNK_EXECS) * RUN_BYTES,
		 launches = aif_profile_rows(p, AIF_CHUNK_LAUNCHES) * LAUNCH_BYTES;

	return runs + AIF_MAX(runs, launches) +
	       aif_profile_rows(p, AIF_CHUNK_SAMPLES) * 2 * SAMPLE_BYTES;
}

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
