/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/traits.h"

#include "base/human.h"
#include "base/name_sanitize.h"

#include <string.h>

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

void aif_cpu_weight_say(const struct aif_profile *p, uint64_t weight, struct aif_buf *out)
{
	const char *counts = aif_cpu_counts(p);

	if (!counts) {
		aif_human_ns(out, weight);
		return;
	}
	aif_human_count(out, weight);
	aif_buf_putc(out, ' ');
	aif_name_sanitize(counts, strlen(counts), out);
}
