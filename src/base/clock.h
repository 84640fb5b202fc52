/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Clock ids as they are written in records and profiles. The first four are host clocks, in ns;
 * ids from AIF_CLOCK_DEVICE on are a device's own clock (AIF_CLOCK_DEVICE + device), ns or ticks,
 * of unknown origin: they mean nothing without clock pairs. */
enum aif_clock {
	AIF_CLOCK_MONOTONIC = 0, /* the base: what every time is mapped to */
	AIF_CLOCK_MONOTONIC_RAW = 1,
	AIF_CLOCK_REALTIME = 2,
	AIF_CLOCK_BOOTTIME = 3,
	AIF_CLOCK_HOST_COUNT = 4,
	AIF_CLOCK_DEVICE = 16,
};

/* True: clocks are read by system calls. A thread may forbid itself, what it forks and the threads that it makes the processor's
 * clock (PR_SET_TSC), which clock_gettime() reads: that ends the process. Or a library has put its own function in front of
 * the C library's, whose times are others (libfaketime). Weak: what only reads clocks links nothing for it. */
__attribute__((weak, visibility("hidden"))) atomic_bool aif_clock_by_call;

/* 0: there is no such clock (any more), as that of a thread which has ended. */
static inline uint64_t aif_clock_ns(clockid_t id)
{
	struct timespec t;

	if ((atomic_load_explicit(&aif_clock_by_call, memory_order_relaxed)
		     ? (int)syscall(SYS_clock_gettime, id, &t)
		     : clock_gettime(id, &t)) < 0)
		return 0;
	return (uint64_t)t.tv_sec * AIF_NS_PER_S + (uint64_t)t.tv_nsec;
}

static inline uint64_t aif_now_ns(void)
{
	return aif_clock_ns(CLOCK_MONOTONIC);
}

/* A clock's value, read between two readings of CLOCK_MONOTONIC, ns. */
struct aif_clock_reading {
	uint64_t before, after, value;
};

/* Takes five readings and returns the narrowest: one in which the thread lost its CPU says
 * little of the two clocks, and could be the only one that a short recording has. False: read()
 * fails. */
bool aif_clock_read(bool (*read)(void *arg, uint64_t *ret_value), void *arg,
		    struct aif_clock_reading *ret);
