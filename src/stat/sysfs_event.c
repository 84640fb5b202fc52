/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/sysfs_event.h"

#include "base/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool aif_stat_sysfs_parse(const char *text, uint64_t *ret_config)
{
	uint64_t config = 0;
	bool has_event = false;

	while (*text && *text != '\n') {
		bool is_event = !strncmp(text, "event=", 6);
		unsigned long value;
		char *end;

		if (!is_event && strncmp(text, "umask=", 6) != 0)
			return false;
		value = strtoul(text + 6, &end, 0);
		if (end == text + 6 || value > 0xff || (*end && *end != ',' && *end != '\n'))
			return false;
		config |= value << (is_event ? 0 : 8);
		has_event |= is_event;
		text = end + (*end == ',');
	}
	if (has_event)
		*ret_config = config;
	return has_event;
}

bool aif_stat_sysfs_event(const char *name, uint64_t *ret_config)
{
	char path[128], text[256];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/cpu/events/%s", name);
	return aif_proc_read(path, text, sizeof(text)) > 0 &&
	       aif_stat_sysfs_parse(text, ret_config);
}
