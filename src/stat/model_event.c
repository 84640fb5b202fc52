/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/model_event.h"

#include "base/base.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Intel's numbers of the TLBs' events differ by generation. Cores of two kinds (Alder Lake and later clients) have two
 * PMUs, whose events are not these.
 */
enum generation { NONE, SKYLAKE, GOLDEN_COVE };

static const uint8_t skylake[] = {0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6, /* Ice Lake: */ 0x6a,
				  0x6c, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7};
static const uint8_t golden_cove[] = {0x8f, 0xcf, 0xad, 0xae}; /* Sapphire to Granite Rapids */

static const struct {
	const char *name;
	uint64_t skylake, golden_cove; /* umask, event */
} events[] = {
	{"dtlb_load_misses.walk_completed", 0x0e08, 0x0e12},
	{"dtlb_store_misses.walk_completed", 0x0e49, 0x0e13},
	{"itlb_misses.walk_completed", 0x0e85, 0x0e11},
	{"dtlb_load_misses.stlb_hit", 0x2008, 0x2012},
	{"itlb_misses.stlb_hit", 0x2085, 0x2011},
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
	for (size_t i = 0; i < AIF_ARRAY_LEN(skylake); i++)
		if (skylake[i] == number)
			return SKYLAKE;
	for (size_t i = 0; i < AIF_ARRAY_LEN(golden_cove); i++)
		if (golden_cove[i] == number)
			return GOLDEN_COVE;
	return NONE;
}

bool aif_stat_model_event_of(const char *cpuinfo, const char *name, uint64_t *ret_config)
{
	enum generation g = generation_of(cpuinfo);

	for (size_t i = 0; i < AIF_ARRAY_LEN(events) && g != NONE; i++)
		if (!strcmp(events[i].name, name)) {
			*ret_config = g == SKYLAKE ? events[i].skylake : events[i].golden_cove;
			return true;
		}
	return false;
}

bool aif_stat_model_event(const char *name, uint64_t *ret_config)
{
	char text[2048];
	ssize_t n;
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return aif_stat_model_event_of(text, name, ret_config);
}
