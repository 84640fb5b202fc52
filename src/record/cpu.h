/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/target.h"

/*
 * CPU samples of the target's threads: the recorder lets the kernel signal a thread each time it has used
 * 1/rate seconds of CPU time; the thread's handler, the agent's, does the rest (agent/cpu.h).
 *
 * No system call of the target is interrupted. A timer of the target's would have been the plain way, but it
 * expires in the kernel as well as in the program, also on the way into poll() or nanosleep(), which
 * then fail with EINTR, and that a guest must not do. A perf_event that excludes the kernel overflows
 * only where its tick, an interrupt, comes upon user code, and the signal is taken on the way back
 * from that interrupt. What the thread uses inside the kernel still counts: a sample weighs all the
 * CPU time since the last one.
 *
 * Measured on Linux 6.18 with a program that waits 20,000 times a second in poll, nanosleep, select and
 * epoll_wait, 10 s at 999 Hz: 95 signals, 0 times EINTR; without exclude_kernel 373 signals, 200 times.
 *
 * The descriptors are the recorder's, so that sampling ends with it, however it ends. The signal is one
 * that does nothing where there is no handler: AIF_SHM_CPU_SIGNAL in wire/shm.h says why.
 */
struct aif_cpu_events;

/* Decides who samples, and tells the agent. Holds the store's lock. */
void aif_cpu_start(struct aif_drainer *d, struct aif_target *t);
/* Follows the agent's list of threads. Holds the store's lock. */
void aif_cpu_follow(struct aif_drainer *d, struct aif_target *t, uint64_t now);
/* Is the target's agent sampling it, or about to? It has listed its threads then. */
bool aif_cpu_is_sampled(const struct aif_target *t);
void aif_cpu_free(struct aif_cpu_events *e);

/* Why perf_event is refused, for doctor and tests: 0 if a thread of our own could be signalled. */
int aif_cpu_probe(void);
