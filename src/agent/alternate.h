/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <signal.h>

/*
 * Alternate stacks of the program's that the signal of CPU samples does not fit onto.
 *
 * The signal is delivered on a thread's alternate stack, as code on tiny stacks needs it (Go, OCaml). The kernel ends a
 * program whose alternate stack has less than the signal's frame, as one of 2048 bytes (MINSIGSTKSZ of old) has with
 * AVX-512. A program may set such a stack and have no signal that comes there. So sampling by signals ends before it is
 * set.
 *
 * Threads that have none are given none, though the frame may not fit onto a coroutine's stack either: the return from a
 * signal sets the alternate stack of the thread that it came to, and a program that goes on in another thread from there,
 * as schedulers do which interrupt their own threads, would have two threads with one.
 */

/* Returns the size of the smallest alternate stack that our signal fits onto. `frame_max`: AT_MINSIGSTKSZ, 0 = unknown. */
size_t aif_alternate_least(size_t frame_max);
/* The program is about to set the alternate stack at `to`, which may be anywhere. True: it was looked at. */
bool aif_alternate_before(unsigned long to);
/* The program has set it, and it was not looked at before. */
void aif_alternate_after(const stack_t *to);
