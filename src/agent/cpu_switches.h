/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Threads that leave the CPU often. A perf_event of a thread costs each time that it does and comes back: 7 us in a virtual
 * machine (Linux 6.18 under Firecracker; a server and its client, 300,000 changes: 4.6 s of CPU time for 2.45 s). From so many
 * changes a second of CPU time on, two percent of it, a thread is sampled by the kernel's ticks alone; and by events again
 * once it changes half as often.
 */
#define AIF_CPU_SWITCHES_OFTEN UINT64_C(3000)
/* CPU time between two looks at a thread at least: less says nothing. */
#define AIF_CPU_SWITCHES_NS (AIF_NS_PER_S / 50)

/* Returns whether a thread that has left the CPU so many times in `cpu_ns` of its CPU time switches often; `was`: it did. */
static inline bool aif_cpu_switches_often(bool was, uint64_t switches, uint64_t cpu_ns)
{
	uint64_t least = was ? AIF_CPU_SWITCHES_OFTEN / 2 : AIF_CPU_SWITCHES_OFTEN;

	return (double)switches * (double)AIF_NS_PER_S >= (double)least * (double)cpu_ns;
}
