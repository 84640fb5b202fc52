/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Our own declarations of Level Zero's metric groups (specification 1.0 to 1.13, ze_api.h and
 * zet_api.h), for the agent, which reads them (agent/level_zero/ze_abi.h), and for `record
 * --counters help`, which lists them.
 */
#define AIF_ZE_SUCCESS      0u
#define AIF_ZE_DEVICE_PROPS 0x20006 /* those of 1.2: ticks are told in Hz */
#define AIF_ZE_DEVICE_GPU   1
#define AIF_ZE_GROUP_PROPS  0x1
#define AIF_ZE_METRIC_PROPS 0x2
#define AIF_ZE_EVENT_BASED  1u /* flag of a metric group: it is read around commands */
#define AIF_ZE_TIME_BASED   2u /* flag of a metric group: it can be streamed */
#define AIF_ZE_METRIC_EVENT 1
#define AIF_ZE_METRIC_RANGE 2 /* an event with a range */
#define AIF_ZE_METRIC_TIME  4 /* a stamp */
#define AIF_ZE_METRIC_RAW   7
#define AIF_ZE_METRIC_IP    0x7ffffffe /* in units of 8 bytes; experimental in all versions */
#define AIF_ZE_VALUE_32     0
#define AIF_ZE_VALUE_64     1
#define AIF_ZE_VALUE_FLOAT  2
#define AIF_ZE_VALUE_DOUBLE 3
#define AIF_ZE_VALUE_BOOL   4

struct aif_ze_device_properties {
	uint32_t stype;
	void *next;
	uint32_t type, vendor, device, flags, subdevice, clock_mhz;
	uint64_t max_alloc;
	uint32_t contexts, priority, threads_per_eu, simd, eus_per_subslice, subslices_per_slice,
		slices;
	uint64_t timer_resolution; /* Hz, before 1.2 ns of a tick */
	uint32_t timestamp_bits, kernel_timestamp_bits;
	uint8_t uuid[16];
	char name[256];
};

struct aif_ze_group_properties {
	uint32_t stype;
	void *next;
	char name[256], description[256];
	uint32_t sampling, domain, metrics;
};

struct aif_ze_metric_properties {
	uint32_t stype;
	void *next;
	char name[256], description[256], component[256];
	uint32_t tier, type, result;
	char units[256];
};

/* A group of counters that can be read over time is one without instructions' addresses; of its
 * metrics, those are counters that have a number. */
static inline bool aif_ze_is_number(const struct aif_ze_metric_properties *m)
{
	return m->result <= AIF_ZE_VALUE_BOOL;
}
