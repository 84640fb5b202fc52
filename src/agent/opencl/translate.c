/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/opencl/translate.h"

#include <string.h>

/* Drivers that count in microseconds round a stamp down. */
#define SLACK_NS 1000

uint32_t aif_cl_clock_of(const struct aif_cl_probe *probes, unsigned n)
{
	bool fits[AIF_CL_HOST_CLOCKS];
	uint32_t clock = AIF_WIRE_NONE;

	for (uint32_t c = 0; c < AIF_CL_HOST_CLOCKS; c++) {
		fits[c] = n > 0;
		for (unsigned i = 0; i < n; i++)
			fits[c] &= probes[i].queued + SLACK_NS >= probes[i].before[c] &&
				   probes[i].queued <= probes[i].after[c] + SLACK_NS;
	}
	if (fits[AIF_CLOCK_MONOTONIC])
		fits[AIF_CLOCK_BOOTTIME] = false;
	for (uint32_t c = 0; c < AIF_CL_HOST_CLOCKS; c++) {
		if (!fits[c])
			continue;
		if (clock != AIF_WIRE_NONE)
			return AIF_WIRE_NONE;
		clock = c;
	}
	return clock;
}

bool aif_cl_times_good(uint64_t start, uint64_t end)
{
	return start && start != UINT64_MAX && end >= start && end != UINT64_MAX;
}

enum aif_emit_device_kind aif_cl_device_kind(uint64_t type)
{
	return type & AIF_CL_DEVICE_TYPE_GPU           ? AIF_EMIT_DEVICE_GPU
	       : type & AIF_CL_DEVICE_TYPE_ACCELERATOR ? AIF_EMIT_DEVICE_ACCELERATOR
	       : type & AIF_CL_DEVICE_TYPE_CPU         ? AIF_EMIT_DEVICE_CPU
						       : AIF_EMIT_DEVICE_OTHER;
}

void aif_cl_shape(uint32_t dims, const size_t *global, const size_t *local,
		  struct aif_emit_shape *ret)
{
	for (uint32_t i = 0; i < 3; i++) {
		size_t g = i < dims && global ? global[i] : 1, l = i < dims && local ? local[i] : 1;

		ret->grid[i] = (uint32_t)AIF_MIN(g, (size_t)UINT32_MAX);
		ret->block[i] = local ? (uint32_t)AIF_MIN(l, (size_t)UINT32_MAX) : 0;
	}
}

uint64_t aif_cl_region_bytes(const size_t *region, size_t element)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] * element : 0;
}

unsigned aif_cl_properties_profiled(const uint64_t *list, uint64_t out[AIF_CL_PROPERTIES_MAX],
				    uint64_t *ret_asked)
{
	uint64_t asked = 0;
	bool seen = false;
	unsigned n = 0;

	for (; list && list[n]; n += 2) {
		/* Room for one more pair and the end. */
		if (n + 5 > AIF_CL_PROPERTIES_MAX)
			return 0;
		out[n] = list[n];
		out[n + 1] = list[n + 1];
		if (list[n] == AIF_CL_QUEUE_PROPERTIES) {
			asked = list[n + 1];
			out[n + 1] |= AIF_CL_QUEUE_PROFILING_ENABLE;
			seen = true;
		}
	}
	if (asked & AIF_CL_QUEUE_ON_DEVICE)
		return 0;
	if (!seen) {
		out[n++] = AIF_CL_QUEUE_PROPERTIES;
		out[n++] = AIF_CL_QUEUE_PROFILING_ENABLE;
	}
	out[n++] = 0;
	*ret_asked = asked;
	return n;
}

bool aif_cl_version_at_least(const char *version, unsigned major, unsigned minor)
{
	char *end;
	unsigned long have;

	if (strncmp(version, "OpenCL ", 7))
		return false;
	have = strtoul(version + 7, &end, 10);
	if (*end != '.' || have != major)
		return *end == '.' && have > major;
	return strtoul(end + 1, NULL, 10) >= minor;
}
