/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Chooses how much of the time a process is sampled by perf_event.
 *
 * A sample is cheap, being ready for one is not: whenever a sampled thread gets or leaves a CPU, the
 * kernel sets a timer, which on a virtual machine leaves the guest. A loop of empty kernels that waits
 * for each of them (PoCL, 8 switches a kernel) took 34 us a kernel alone, 53 at 99 Hz, 70 at 999 Hz.
 * Kernels worth looking into run long and switch little; so switches are counted, and where being
 * ready at each of them would cost more than is allowed, sampling is on in short blocks only. The time
 * between them is random, so that no loop can run in step with it. Widths do not come from samples,
 * and which part of a kernel a sample hits has nothing to do with how many there are.
 */

/* Most that a switch costs: (70 - 34) us / 8, rounded up. */
#define AIF_PERF_SWITCH_NS 5000
/* The launching and the executing thread take turns: the busiest thread's switches are half of the
 * delay. */
#define AIF_PERF_IN_TURN 2
/* A few samples, and long against the drain's turns, which begin and end it. */
#define AIF_PERF_ON_NS UINT64_C(30000000)

struct aif_perf_pace {
	uint32_t allowed_ppm; /* slowdown, in 1/1,000,000; 0 = no limit */
	uint64_t random;
	double cost; /* slowdown while it is on, as a fraction */
	bool is_on;
	uint64_t since, began, until; /* since: the last turn; began, until: the block */
	uint64_t on_ns, cost_ns;      /* so far; cost: about, of the target's time */
};

void aif_perf_pace_init(struct aif_perf_pace *p, uint32_t allowed_ppm, uint64_t seed, uint64_t now);

/* The busiest thread's switches a second, as counted last. */
void aif_perf_pace_rate(struct aif_perf_pace *p, double switches_per_s);

/* Whether to sample from now on. */
bool aif_perf_pace_turn(struct aif_perf_pace *p, uint64_t now);
