/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/attribution.h"

/*
 * Counters of devices (struct aif_counter_row), each with its values in the order of their times, as tables and time
 * lines show them. What a damaged file has that is no finite number is left out. All of it is in memory, 16 bytes a value.
 */
struct aif_counter_value {
	int64_t at; /* ns since the recording's start: the end of what it was measured over */
	double value;
};
struct aif_counter {
	uint32_t device, name, unit, process; /* as struct aif_counter_row */
	size_t first, len;                    /* of .values; len is never 0 */
};
struct aif_counters {
	struct aif_counter *at; /* by device, process (of all of it first), then as they came */
	size_t len, cap;
	struct aif_counter_value *values;
	size_t values_len, values_cap;
	uint64_t damaged; /* chunks that could not be read */
};

/* Reads the counters of the time, the devices and the processes of `sel`; a counter of no process is of each. 0 or
 * -ENOMEM; finished by the caller in any case. */
int aif_counters_read(const struct aif_profile *p, const struct aif_selection *sel,
		      struct aif_counters *ret);
void aif_counters_finish(struct aif_counters *c);

/* "GpuBusy", of a process "GpuBusy of 1234". */
void aif_counter_name(const struct aif_profile *p, const struct aif_counter *c,
		      struct aif_buf *out);

/* Returns when the measurement of value i of a counter began, as far as that is known: where a time line draws
 * it. */
int64_t aif_counter_since(const struct aif_counters *c, const struct aif_counter *of, size_t i);

struct aif_counter_sums {
	double min, median, max, mean;
};
/* 0 or -ENOMEM. */
int aif_counter_sum_up(const struct aif_counters *c, const struct aif_counter *of,
		       struct aif_counter_sums *ret);
