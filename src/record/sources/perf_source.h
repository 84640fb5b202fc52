/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * Samples each thread of a process with perf_event's cpu-clock. The recorder reads them; the process
 * is not touched.
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

/* Callbacks of reading: for each sample, with a bool that is the thread's own, false at first; for samples that the OS
 * kernel has lost; and when the process has mapped code, or may have. */
struct aif_perf_reader {
	void *arg;
	void (*sample)(void *arg, uint32_t tid, uint64_t time, uint64_t pc, bool *is_kernel_thread);
	void (*lost)(void *arg, uint64_t n);
	void (*mapped)(void *arg);
};
/* Reads what has come since. */
void aif_perf_drain(struct aif_perf *p, const struct aif_perf_reader *reader);
/* Switches sampling on or off, as its pace (perf_pace.h) asks for; off while `wanted` is false. */
void aif_perf_turn(struct aif_perf *p, bool wanted, const struct aif_perf_reader *reader);

/* Returns the share of the time since the last call in which sampling was on, in 1/1,000,000. */
uint32_t aif_perf_share(struct aif_perf *p);
/* Returns about how much of the process's time sampling has cost so far. */
uint64_t aif_perf_cost_ns(const struct aif_perf *p);

/* Returns 0 if a thread of this process can be sampled, or -errno. For doctor. */
int aif_perf_probe(void);
