/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The config of an event that sysfs does not name, by the CPU's model: page walks and hits of the second TLB. False:
 * the CPU does not have it, or its number is not known here. */
bool aif_stat_model_event(const char *name, uint64_t *ret_config);

/* The same for a CPU as the first lines of /proc/cpuinfo describe it. */
bool aif_stat_model_event_of(const char *cpuinfo, const char *name, uint64_t *ret_config);
