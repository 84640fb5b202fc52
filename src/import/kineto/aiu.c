/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/aiu.h"

#include <string.h>
#include <strings.h>

enum aif_aiu_group aif_aiu_group_of(const char *name, size_t len)
{
	static const struct {
		const char *name;
		uint8_t len, group;
	} events[] = {
#define AIF_AIU_EVENT(name, group) {name, sizeof(name) - 1, AIF_AIU_##group},
#include "import/kineto/aiu_events.def"
	};

	if (len < 4 || memcmp(name, "aiu", 3) || name[3] < 'A' || name[3] > 'Z')
		return AIF_AIU_NONE;
	for (size_t i = 0; i < AIF_ARRAY_LEN(events); i++)
		if (events[i].len == len && !strncasecmp(events[i].name, name, len))
			return events[i].group;
	return AIF_AIU_OTHER;
}

const char *aif_aiu_group_name(enum aif_aiu_group group)
{
	static const char *const names[AIF_AIU_GROUP_COUNT] = {
		[AIF_AIU_NONE] = "none",     [AIF_AIU_LAUNCH] = "launch",
		[AIF_AIU_WAIT] = "wait",     [AIF_AIU_GRAPH] = "graph",
		[AIF_AIU_MEMORY] = "memory", [AIF_AIU_DMA] = "DMA",
		[AIF_AIU_RDMA] = "RDMA",     [AIF_AIU_RDMA_WAIT] = "RDMA wait",
		[AIF_AIU_CACHE] = "cache",   [AIF_AIU_COMPILE] = "compile",
		[AIF_AIU_OTHER] = "other",   [AIF_AIU_CALIBRATION] = "calibration",
	};

	return (unsigned)group < AIF_AIU_GROUP_COUNT ? names[group] : "?";
}

enum aif_aiu_flex aif_aiu_flex_of(const char *name, size_t len, size_t *ret_len)
{
	static const struct {
		const char *suffix;
		enum aif_aiu_flex is;
	} suffixes[] = {
		{" Cmpt Exec", AIF_FLEX_KERNEL},
		{" DmaI", AIF_FLEX_IN},
		{" DmaO", AIF_FLEX_OUT},
		{" Cmpt Prep", AIF_FLEX_PREPARE},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(suffixes); i++) {
		size_t n = strlen(suffixes[i].suffix);

		if (len <= n || memcmp(name + len - n, suffixes[i].suffix, n))
			continue;
		*ret_len = len - n;
		return suffixes[i].is;
	}
	return AIF_FLEX_NONE;
}
