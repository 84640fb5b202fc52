/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <signal.h>

/*
 * Samples the threads of a CPU device by timers, where the recorder may not use perf_event. A timer per thread sends a
 * signal to that thread, whose handler notes the interrupted pc.
 *
 * Two kinds of timer, because a signal to a thread that sleeps in poll() or nanosleep() makes that call
 * fail with EINTR, which a guest must not do to an application's thread:
 *   - the driver's workers (threads that appeared while the driver was setting up) have a timer on
 *     CLOCK_MONOTONIC, which keeps any rate. They wait in futexes, which SA_RESTART resumes; a sample
 *     counts only if the thread used CPU for half of the period, so a waiting worker gives none;
 *   - all other threads have one on their own CPU clock, which never fires while they sleep. The
 *     kernel looks at it once per tick: about 170 samples a CPU-second on a 250 Hz kernel, each with
 *     the weight of the expirations that it stands for.
 *
 * The handler may interrupt anything. It reads two clocks and writes to a buffer that belongs to its
 * timer alone; the helper thread carries the buffers to its ring each 250 ms.
 */

#define AIF_SAMPLER_THREADS 1024

struct aif_sampler_thread;

struct aif_sampler {
	_Atomic uint32_t appearing;   /* calls under way in which workers may */
	_Atomic uint32_t workers_len; /* tids of the driver's workers */
	_Atomic uint32_t workers[AIF_SAMPLER_THREADS];
	/* The helper's. */
	bool armed;
	int signal; /* 0 = none yet; kept until the process ends */
	uint64_t scanned_ns, period_ns;
	uint32_t scanned_workers; /* workers_len at that time */
	uint32_t len;
	struct aif_sampler_thread *thread[AIF_SAMPLER_THREADS], *spare;
};

/* The threads of this process. */
struct aif_task_list {
	uint32_t len, tid[AIF_SAMPLER_THREADS];
};

void aif_task_list_read(struct aif_task_list *list);

/* Is it one of the driver's workers? */
bool aif_sampler_is_worker(struct aif_sampler *s, uint32_t tid);
/* Takes the calling thread, `tid`, for one from now on. */
void aif_sampler_see_worker(struct aif_sampler *s, uint32_t tid);

/* Around a vendor's call that may create its worker threads. Not on a launch path: opens a directory
 * for a moment. Does nothing when not collecting. */
void aif_sampler_before(struct aif_task_list *list);
void aif_sampler_after(const struct aif_task_list *list);

/* Helper thread, each 250 ms. */
void aif_sampler_tick(struct aif_sampler *s, bool collect, uint64_t now);
void aif_sampler_after_fork(struct aif_sampler *s);
