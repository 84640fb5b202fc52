/* SPDX-License-Identifier: Apache-2.0 */
#include "names/stall_rules.h"

#include "base/glob.h"

#include <string.h>

static const struct aif_stall rules[] = {
#define AIF_STALL(pattern, of, pairs, meaning, helps) \
	{pattern, AIF_STALL_##of, pairs, meaning, helps},
#include "names/stall_rules.def"
#undef AIF_STALL
};
static const struct aif_stall unknown = {"*", AIF_STALL_OTHER, false, "", ""};

#define EXPOSED "_not_issued"

const char *aif_stall_class_name(enum aif_stall_class of)
{
	static const char *const names[AIF_STALL_CLASS_COUNT] = {
		[AIF_STALL_MEMORY] = "memory", [AIF_STALL_EXECUTION] = "execution",
		[AIF_STALL_SYNC] = "sync",     [AIF_STALL_FETCH] = "fetch",
		[AIF_STALL_ISSUE] = "issue",   [AIF_STALL_OTHER] = "other",
	};

	return names[of];
}

size_t aif_stall_base(const char *reason, size_t len, bool *ret_exposed)
{
	size_t ending = strlen(EXPOSED);
	bool is_exposed = len > ending && !memcmp(reason + len - ending, EXPOSED, ending);

	if (ret_exposed)
		*ret_exposed = is_exposed;
	return is_exposed ? len - ending : len;
}

const struct aif_stall *aif_stall_find(const char *reason, size_t len)
{
	len = aif_stall_base(reason, len, NULL);
	for (size_t i = 0; i < AIF_ARRAY_LEN(rules); i++)
		if (aif_glob(rules[i].pattern, reason, len, NULL))
			return &rules[i];
	return &unknown;
}
