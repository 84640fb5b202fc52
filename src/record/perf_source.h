/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/target.h"

/*
 * Device samples of a CPU device: perf_event cpu-clock on each thread of the target, read by the
 * recorder; the target is not touched. Which threads execute device code shows by itself
 * (samples.c).
 */
struct aif_perf;

/* Starts sampling all threads of the process at `rate` Hz, as much of the time as slows it down by no
 * more than allowed_ppm (in 1/1,000,000; 0 = all of it; perf_pace.h). 0; -EACCES or -EPERM where
 * perf_event is refused; or -errno. */
int aif_perf_new(int pid, uint32_t rate, uint32_t allowed_ppm, struct aif_perf **ret);
void aif_perf_free(struct aif_perf *p);

/* Looks for new threads. A thread ends by itself: its descriptor is closed once it is empty. 0 or -errno; -EMFILE and
 * -ENFILE: threads are left out for want of descriptors. */
int aif_perf_threads(struct aif_perf *p, int pid);

/* Hands all samples to aif_target_sample, holding the store's lock. */
void aif_perf_drain(struct aif_drainer *d, struct aif_target *t);

/* The share of the time since the last call in which it was on, in 1/1,000,000. */
uint32_t aif_perf_share(struct aif_perf *p);
/* About how much time of the target's it has cost so far. */
uint64_t aif_perf_cost_ns(const struct aif_perf *p);

/* Why perf_event_open fails here, e.g. for doctor: 0 if a thread of our own can be sampled. */
int aif_perf_probe(void);
