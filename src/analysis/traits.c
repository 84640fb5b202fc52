/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/traits.h"

bool aif_is_untimed(const struct aif_profile *p, const struct aif_attribution *a)
{
	return aif_attribution_is_untimed(a) || (a->rows_len && p->traits.times_unknown);
}

const char *aif_cpu_counts(const struct aif_profile *p)
{
	const char *of = aif_profile_meta(p, "cpu_counts");

	if (p->traits.cpu_weights != AIF_CPU_WEIGHTS_COUNTS)
		return NULL;
	return *of ? of : "counts";
}
