/* SPDX-License-Identifier: Apache-2.0 */
#include "export/imported.h"

#include <string.h>

bool aif_is_imported(const struct aif_profile *p)
{
	return *aif_profile_meta(p, "imported");
}

bool aif_is_lengths(const struct aif_profile *p)
{
	const char *rows = aif_profile_meta(p, "imported.rows");

	return !strcmp(rows, "lengths") || !strcmp(rows, "samples");
}

bool aif_has_sample_numbers(const struct aif_profile *p)
{
	return strcmp(aif_profile_meta(p, "imported.rows"), "lengths") != 0;
}

bool aif_is_untimed(const struct aif_profile *p, const struct aif_attribution *a)
{
	return aif_attribution_is_untimed(a) ||
	       (a->rows_len && aif_is_lengths(p) && aif_has_sample_numbers(p) &&
		!*aif_profile_meta(p, "imported.count_ns"));
}

enum aif_cpu_weights aif_cpu_weights(const struct aif_profile *p)
{
	static const char *const words[] = {
		[AIF_CPU_WEIGHTS_WALL] = "wall",
		[AIF_CPU_WEIGHTS_SPANS] = "spans",
		[AIF_CPU_WEIGHTS_COUNTS] = "counts",
	};
	const char *is = aif_profile_meta(p, "cpu_sampling");

	for (unsigned i = AIF_CPU_WEIGHTS_WALL; i < AIF_ARRAY_LEN(words); i++)
		if (!strcmp(is, words[i]))
			return i;
	return AIF_CPU_WEIGHTS_TIME;
}

const char *aif_cpu_counts(const struct aif_profile *p)
{
	const char *of = aif_profile_meta(p, "cpu_counts");

	if (aif_cpu_weights(p) != AIF_CPU_WEIGHTS_COUNTS)
		return NULL;
	return *of ? of : "counts";
}
