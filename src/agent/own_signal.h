/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <signal.h>
#include <time.h>

/*
 * The signal of CPU samples waits in a thread that blocks it. A program that looks which signals wait there, or takes
 * them, would find one that nobody sent. So
 *
 *   - the agent stands in front of the C library's functions that show what waits, or let it come (own_signal.c), syscall()
 *     among them (own_signal_calls.c): ours is taken away before, and another's SIGURG put back;
 *   - of a thread that blocks signals for long, which gets no more of ours, the helper drops the one that waits
 *     (cpu.c), for those that look by a system call of their own;
 *   - once the program makes a signalfd for SIGURG, which shows what waits whenever it is polled, or sets a handler of its
 *     own, by whichever of the C library's functions, no thread is signalled any more (AIF_REASON_CPU_SIGNAL_TAKEN). It is
 *     shown the default action until then.
 *
 * What is left: a SIGURG that the program sends to one thread, by pthread_kill(), while ours waits there, is one with it
 * for the kernel, and goes with it.
 */

/* True for a signal that started, or would have started, a sample. */
bool aif_own_signal_is_ours(const siginfo_t *info);
/* Value of the timers' signals. */
void *aif_own_signal_mark(void);
/* True if threads of this process may have been signalled. */
bool aif_own_signal_is_used(void);
/* Takes away the signal of ours that waits in this thread. */
void aif_own_signal_take(void);
/* Returns what is left of a time since `began`. The time may be longer than 64 bits of ns. */
struct timespec aif_own_signal_time_left(const struct timespec *time, uint64_t began);

typedef long (*aif_call_fn)(long number, ...);
/* A call that the program makes by its number, with six arguments. True: it was made, with *ret; false: it is to be. */
bool aif_own_signal_call(aif_call_fn call, long number, const unsigned long *arg, long *ret);

/* Sets the signal's action like sigaction(), and shows it as it is. */
int aif_own_signal_action(const struct sigaction *act, struct sigaction *ret_old);
