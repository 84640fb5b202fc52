/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/level_zero/ze_abi.h"

/*
 * Values of a metric group with instructions' addresses: rows of as many values as it has metrics, one of them the
 * address, others how often a thread stood there by what it waited for. Pure; any values come to something.
 */
#define AIF_ZE_METRICS_MAX 64
#define AIF_ZE_REASONS_MAX 32
#define AIF_ZE_NO_REASON   UINT8_MAX

struct aif_ze_layout {
	uint32_t metrics, ip;               /* how many; which is the address */
	uint8_t reason[AIF_ZE_METRICS_MAX]; /* below AIF_ZE_REASONS_MAX, or AIF_ZE_NO_REASON */
};

/* Sums by address, in units of 8 bytes: a hash table. */
#define AIF_ZE_SUMS 8192
struct aif_ze_sums {
	struct aif_ze_sum {
		uint64_t ip;
		uint32_t counts[AIF_ZE_REASONS_MAX];
		bool used;
	} at[AIF_ZE_SUMS];
	uint32_t len;
	uint64_t samples; /* in all; less than 2^32 */
	uint64_t bad;     /* rows that cannot be true */
};
void aif_ze_sums_clear(struct aif_ze_sums *s);

/* Takes whole rows, and returns how many of the n values that is: less than there are whole rows for if the table is
 * full, and then goes on with an empty one. */
size_t aif_ze_sums_add(struct aif_ze_sums *s, const struct aif_ze_layout *l,
		       const struct aif_ze_value *values, size_t n);

/* The field's name of a stall metric ("SbidStall": "sbid"); one that is not known keeps its own. */
const char *aif_ze_stall_name(const char *metric);

/* Returns the time between two reads, ns: short enough that there is little to read and the
 * hardware's buffer is far from full. */
uint64_t aif_ze_read_interval(uint64_t period_ns);
