/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/level_zero/ze_abi.h"

/* Values of metric groups of performance counters, and the list of those asked for. Pure; any values come to
 * something. */

/* A value that is no finite number is none: NaN. */
double aif_ze_number(const struct aif_ze_value *v);

/* Is `name` one of the names in `list`, which has commas between them? Case does not matter. */
bool aif_ze_list_has(const char *list, const char *name);
/* The list's next name from *at on, cut to size; false: there is none. */
bool aif_ze_list_next(const char **at, char *ret, size_t size);
/* All of a good group that the driver chooses. */
#define AIF_ZE_COUNTERS_DEFAULT "default"

/*
 * Clock of reports. A report's stamp is of a clock of the device's, in ns, whose zero is not known; but each was made
 * before it was read, and some are read at once: so the offset is the least delay that was seen, which may grow as two
 * clocks drift apart. A stamp that jumps begins anew.
 */
struct aif_ze_report_clock {
	bool is_set;
	uint64_t now;    /* when it was last read */
	uint64_t offset; /* CLOCK_MONOTONIC - stamp, modulo 2^64 */
};
/* Before the reports of one reading, at `now`: their last one's stamp. */
void aif_ze_report_read(struct aif_ze_report_clock *c, uint64_t last_stamp, uint64_t now);
/* CLOCK_MONOTONIC ns of a report of that reading; never later than now. */
uint64_t aif_ze_report_time(const struct aif_ze_report_clock *c, uint64_t stamp, uint64_t now);
