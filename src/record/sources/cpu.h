/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/target.h"

/*
 * CPU samples of the target's threads: the kernel signals a thread each time it has used 1/rate seconds of CPU time; the
 * thread's handler, the agent's, does the rest (agent/cpu.h). The signals are of timers that the agent sets, or of
 * perf_events of the recorder's (cpu_clock.h says which, and why neither interrupts a system call).
 *
 * A perf_event that excludes the kernel overflows
 * only where its tick, an interrupt, comes upon user code, and the signal is taken on the way back
 * from that interrupt. What the thread uses inside the kernel is sampled by timers of its CPU time, whose signal comes
 * when it returns from there (agent/cpu_weight.h).
 *
 * Measured on Linux 6.18 with a program that waits 20,000 times a second in poll, nanosleep, select and
 * epoll_wait, 10 s at 999 Hz: 95 signals, 0 times EINTR; without exclude_kernel 373 signals, 200 times.
 *
 * The descriptors are the recorder's, so that sampling ends with it, however it ends. The signal is one
 * that does nothing where there is no handler: AIF_SHM_CPU_SIGNAL in wire/shm.h says why.
 */

/* True if the target's agent samples it or is about to: then it has listed its threads. */
bool aif_cpu_is_sampled(const struct aif_target *t);

/* Checks that the event of `record -e` can be had: an empty profile would say less. 0 or -errno with *err. */
int aif_cpu_sampler_probe(const struct aif_record_opts *o, struct aif_err *err);
