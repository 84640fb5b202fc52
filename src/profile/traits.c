/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/traits.h"
#include "base/reasons.h"
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

/* Losses after which a device that seems idle may have worked. */
static bool lacks_device_work(const struct aif_profile *p)
{
	static const enum aif_reason reasons[] = {
		AIF_REASON_IMPORT_CUT_WORK,
		AIF_REASON_IMPORT_NO_TIME,
		AIF_REASON_IMPORT_GRAPH_UNKNOWN,
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(reasons); i++)
		if (aif_profile_loss(p, reasons[i]))
			return true;
	/* Some launches without work are those at a trace's end. */
	return *aif_profile_meta(p, "imported.device_work");
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
		.device_work_missing = lacks_device_work(p),
		.cpu_weights = cpu_weights(p),
	};
}
