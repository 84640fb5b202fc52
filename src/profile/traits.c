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

unsigned aif_lack_after(uint32_t reason)
{
	static const struct {
		enum aif_reason reason;
		enum aif_lack lack;
	} rows[] = {
#define AIF_LACK_AFTER(reason, id) {AIF_REASON_##reason, AIF_LACK_##id},
#include "profile/lacks.def"
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++)
		if (rows[i].reason == reason)
			return rows[i].lack;
	return 0;
}

bool aif_lacks_say(const struct aif_traits *t, unsigned of, struct aif_buf *out)
{
	static const char *const words[] = {
#define AIF_LACK(id, words) words,
#include "profile/lacks.def"
	};
	const char *before = "incomplete: ";

	for (unsigned i = 0; i < AIF_LACK_COUNT; i++)
		if (t->lacks & of & (1u << i)) {
			aif_buf_printf(out, "%s%s", before, words[i]);
			before = ", ";
		}
	return t->lacks & of;
}

static unsigned lacks_of(const struct aif_profile *p)
{
	unsigned lacks = 0;

	for (size_t i = 0; i < p->losses_len; i++)
		lacks |= aif_lack_after(p->losses[i].reason);
	if (*aif_profile_meta(p, "imported.device_work"))
		lacks |= AIF_LACK_WORK;
	return lacks;
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
		.lacks = lacks_of(p),
		.cpu_weights = cpu_weights(p),
	};
}
