/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/roles.h"

#include "analysis/utilization.h"
#include "base/glob.h"

#include <string.h>

/* Patterns are about a name's first part, and template arguments go on for kilobytes. */
#define NAME_MAX_LEN 1024

enum aif_role aif_role_of(const char *kernel)
{
	static const struct {
		enum aif_role of;
		const char *pattern;
	} rules[] = {
#define AIF_ROLE_RULE(role, pattern) {AIF_ROLE_##role, pattern},
#include "analysis/role_rules.def"
	};
	char lower[NAME_MAX_LEN];
	size_t len = strnlen(kernel, sizeof(lower));

	switch (aif_work_class_of(kernel)) {
	case AIF_WORK_COMMUNICATION:
		return AIF_ROLE_COLLECTIVES;
	case AIF_WORK_MEMORY:
		return AIF_ROLE_COPIES;
	default:
		break;
	}
	for (size_t i = 0; i < len; i++)
		lower[i] = kernel[i] >= 'A' && kernel[i] <= 'Z' ? (char)(kernel[i] - 'A' + 'a')
								: kernel[i];
	for (size_t i = 0; i < AIF_ARRAY_LEN(rules); i++)
		if (aif_glob(rules[i].pattern, lower, len, NULL))
			return rules[i].of;
	return AIF_ROLE_OTHER;
}

const char *aif_role_name(enum aif_role role)
{
	static const char *const names[AIF_ROLE_COUNT] = {
		[AIF_ROLE_OTHER] = "other",
		[AIF_ROLE_ATTENTION] = "attention",
		[AIF_ROLE_KV_CACHE] = "KV cache",
		[AIF_ROLE_PRODUCTS] = "matrix products",
		[AIF_ROLE_EXPERTS] = "expert routing",
		[AIF_ROLE_QUANTIZATION] = "quantisation",
		[AIF_ROLE_NORMALIZATION] = "normalisation",
		[AIF_ROLE_SAMPLING] = "sampling",
		[AIF_ROLE_COLLECTIVES] = "collectives",
		[AIF_ROLE_COPIES] = "copies",
		[AIF_ROLE_ELEMENTWISE] = "element-wise",
	};

	return names[role];
}
