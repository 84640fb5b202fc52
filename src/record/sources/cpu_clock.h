/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/opts.h"

/*
 * The clock that starts CPU samples: a perf_event of the recorder's, or a timer of the thread's own CPU time, which the agent sets.
 *
 * A perf_event keeps any rate, and its periods can be random. Each of its interrupts takes 35 us in a virtual machine, where
 * the hypervisor emulates the timer and the interrupt that sends the signal: 3.5 % of a thread's time at 999 Hz, with
 * an empty handler (Linux 6.18 under Firecracker); elsewhere it was not measured. So the cost is measured first, and the
 * rate lowered to what fits AIF_CPU_EVENTS_PPM, unless the user asks for perf by name. The timers of --wall, which also
 * interrupt the thread's sleeps, are measured and limited in the same way.
 *
 * A CPU timer is looked at in the kernel's tick, which comes anyway: 10 us a sample, and no permission is needed. But
 * samples are a multiple of a tick apart, so that a program which repeats itself in step with the tick has wrong shares
 * (by up to 10 points in a loop of some milliseconds, 1,000 samples). It is what is left where perf_event is refused.
 *
 * A perf_event also costs each time that its thread leaves the CPU and comes back, whatever its rate: 7 us there, of
 * which a server that waits for each request spent as much as on its work. So the agent, where the user has not asked for perf,
 * samples threads that switch often by ticks alone (agent/cpu_switches.h), and the recorder closes their events.
 *
 * No system call of the target is interrupted by either. A kernel that expires CPU timers inside the tick's interrupt
 * would: a signal that comes on the way into poll() or nanosleep() makes these fail with EINTR. One that leaves it to
 * the thread's return to user code (CONFIG_POSIX_CPU_TIMERS_TASK_WORK: x86-64 since Linux 5.10) does not. Measured on
 * Linux 6.18 with a program that waits 14,000 times a second in nanosleep, ppoll, select and epoll_wait: 444 signals in
 * 60 s, 0 times EINTR.
 */

/* The share of a thread's time that events may take, in 1/1,000,000, as they are measured: with a signal that is ignored,
 * back to back. In a program, with its handler and caches, they take twice that. */
#define AIF_CPU_EVENTS_PPM 4000

/* Returns whether CPU timers leave system calls of this kernel alone. */
bool aif_cpu_ticks_are_safe(void);

/* Replaces AIF_RECORD_CPU_CLOCK_AUTO by what this machine allows, and lowers cpu_rate to what the clock can keep, or is
 * to cost. Takes some 15 ms where the cost is measured. */
void aif_cpu_clock_choose(struct aif_record_opts *o);

/* Opens an event that sends AIF_SHM_CPU_SIGNAL to a thread of ours or another's, `rate` times for each second of its CPU
 * time. Returns a descriptor or -errno. */
int aif_cpu_clock_open(uint32_t tid, uint32_t rate);
/* The same of an event of that type and config (perf_event_open), after each `period` of it. */
int aif_cpu_event_open(uint32_t tid, uint32_t type, uint64_t config, uint64_t period);
/* Rate of a probe, whose thread never uses a second of CPU time. */
#define AIF_CPU_PROBE_RATE 1
/* Returns 0 if perf_event could signal a thread of this process, or -errno. For doctor. */
int aif_cpu_probe(void);
