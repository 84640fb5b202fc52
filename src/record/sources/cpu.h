/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/target.h"

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

/* True if the target's agent samples it or is about to: then it has listed its threads. */
bool aif_cpu_is_sampled(const struct aif_target *t);

/* Returns 0 if perf_event could signal a thread of this process, or -errno. For doctor. */
int aif_cpu_probe(void);
