/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/* Appends what this machine's CPUs are as a JSON object, with the keys of perf_stat_summary.json's cpu_topology, from
 * /proc/cpuinfo and /sys/devices/system/cpu. What is not known there is absent. */
void aif_stat_topology_json(struct aif_buf *out);
