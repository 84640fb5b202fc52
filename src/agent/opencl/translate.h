/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/emit.h"
#include "agent/opencl/cl_abi.h"

/* The adapter's pure half: numbers of OpenCL -> ours. No call into OpenCL, tested without it. */

/*
 * Finds the host clock that stamps a device's events. Drivers use CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW (PoCL),
 * CLOCK_REALTIME or a counter of the device, and do not say. A probe is a command whose QUEUED stamp the driver must
 * have taken between two readings of all host clocks.
 */
#define AIF_CL_HOST_CLOCKS 4 /* MONOTONIC, MONOTONIC_RAW, REALTIME, BOOTTIME: enum aif_clock */

struct aif_cl_probe {
	uint64_t before[AIF_CL_HOST_CLOCKS], queued, after[AIF_CL_HOST_CLOCKS];
};

/* The host clock that fits all probes; AIF_WIRE_NONE if none does or if several do, since two clocks
 * that agree today drift apart. BOOTTIME differs from MONOTONIC only by time asleep, so where both fit
 * it is MONOTONIC. */
uint32_t aif_cl_clock_of(const struct aif_cl_probe *probes, unsigned n);

/* Did the driver give times that can be true? */
bool aif_cl_times_good(uint64_t start, uint64_t end);

enum aif_emit_device_kind aif_cl_device_kind(uint64_t type);

/* global NULL: one work item (clEnqueueTask). local NULL: 0, the driver chooses. */
void aif_cl_shape(uint32_t dims, const size_t *global, const size_t *local,
		  struct aif_emit_shape *ret);

/* Bytes of a box of elements; 0 without a region. */
uint64_t aif_cl_region_bytes(const size_t *region, size_t element);

/* A list of queue properties (key, value, ..., 0; NULL = empty). */
#define AIF_CL_PROPERTIES_MAX 32

/* Copies the list to out, with profiling on. Returns the length, 0 included, and what the list asks
 * for (the value of QUEUE_PROPERTIES); 0 when it is not to be touched: too long, or a queue that lives
 * on the device. */
unsigned aif_cl_properties_profiled(const uint64_t *list, uint64_t out[AIF_CL_PROPERTIES_MAX],
				    uint64_t *ret_asked);

/* "OpenCL 2.1 vendor text" is at least 2.1? */
bool aif_cl_version_at_least(const char *version, unsigned major, unsigned minor);
