/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/model_event.h"

#include "base/proc.h"

#include <stdlib.h>
#include <string.h>

/*
 * Intel's numbers of the TLBs' events differ by generation: those of Linux's lists (tools/perf/pmu-events/arch/x86: skylakex,
 * icelakex, sapphirerapids, emeraldrapids, graniterapids), of which clients have the same cores. Never run on one of them. Cores of two
 * kinds (Alder Lake and later clients) have two PMUs, whose events are not these.
 */
enum generation { NONE, SKYLAKE, GOLDEN_COVE, REDWOOD_COVE, GENERATIONS };

static const struct {
	uint8_t model;
	enum generation generation;
} models[] = {
	{0x4e, SKYLAKE},      {0x5e, SKYLAKE},     {0x55, SKYLAKE},
	{0x8e, SKYLAKE},      {0x9e, SKYLAKE},     {0xa5, SKYLAKE},
	{0xa6, SKYLAKE},      {0x6a, SKYLAKE}, /* Ice Lake */
	{0x6c, SKYLAKE},      {0x7d, SKYLAKE},     {0x7e, SKYLAKE},
	{0x8c, SKYLAKE},      {0x8d, SKYLAKE},     {0xa7, SKYLAKE},
	{0x8f, GOLDEN_COVE},  {0xcf, GOLDEN_COVE}, {0xad, REDWOOD_COVE},
	{0xae, REDWOOD_COVE},
};

/* umask, event; 0: not in the list */
static const struct {
	const char *name;
	uint64_t config[GENERATIONS];
} events[] = {
	{"dtlb_load_misses.walk_completed", {0, 0x0e08, 0x0e12, 0x0e12}},
	{"dtlb_store_misses.walk_completed", {0, 0x0e49, 0x0e13, 0x0e13}},
	{"itlb_misses.walk_completed", {0, 0x0e85, 0x0e11, 0x0e11}},
	{"dtlb_load_misses.stlb_hit", {0, 0x2008, 0x2012, 0}},
	{"itlb_misses.stlb_hit", {0, 0x2085, 0x2011, 0}},
};

/* Returns what stands behind a key of the first CPU, NULL where there is none. */
static const char *value_of(const char *cpuinfo, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = cpuinfo; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len + strspn(line + len, "\t ")] == ':')
			return line + len + strspn(line + len, "\t :");
	}
	return NULL;
}

static enum generation generation_of(const char *cpuinfo)
{
	const char *vendor = value_of(cpuinfo, "vendor_id"),
		   *family = value_of(cpuinfo, "cpu family"), *model = value_of(cpuinfo, "model");
	unsigned long number;

	if (!vendor || !family || !model || strncmp(vendor, "GenuineIntel\n", 13) != 0 ||
	    strtoul(family, NULL, 10) != 6)
		return NONE;
	number = strtoul(model, NULL, 10);
	for (size_t i = 0; i < AIF_ARRAY_LEN(models); i++)
		if (models[i].model == number)
			return models[i].generation;
	return NONE;
}

bool aif_stat_model_event_of(const char *cpuinfo, const char *name, uint64_t *ret_config)
{
	enum generation g = generation_of(cpuinfo);

	for (size_t i = 0; i < AIF_ARRAY_LEN(events); i++)
		if (!strcmp(events[i].name, name)) {
			*ret_config = events[i].config[g];
			return *ret_config != 0;
		}
	return false;
}

bool aif_stat_model_event(const char *name, uint64_t *ret_config)
{
	char text[2048];

	return aif_proc_read("/proc/cpuinfo", text, sizeof(text)) > 0 &&
	       aif_stat_model_event_of(text, name, ret_config);
}
