/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/traits.h"
#include "profile/model.h"

#include <string.h>

static enum aif_cpu_weights cpu_weights(const struct aif_profile *p)
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

struct aif_traits aif_traits_of(const struct aif_profile *p)
{
	const char *rows = aif_profile_meta(p, "imported.rows");
	bool is_samples = !strcmp(rows, "samples"), is_lengths = !strcmp(rows, "lengths");

	return (struct aif_traits){
		.is_imported = *aif_profile_meta(p, "imported"),
		.is_lengths = is_lengths || is_samples,
		.samples_unknown = is_lengths,
		.times_unknown = is_samples && !*aif_profile_meta(p, "imported.count_ns"),
		.cpu_weights = cpu_weights(p),
	};
}
