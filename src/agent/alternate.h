/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <signal.h>
#include <ucontext.h>

/*
 * Alternate stacks for the signal of CPU samples.
 *
 * The kernel puts a frame of up to 11 KiB onto the stack that a signal interrupts. A coroutine may have less, a recursion
 * may hardly fit, and a routine that has no handlers may use the stack pointer for data: all would be written over. So a
 * thread without an alternate stack gets one of the agent's, where its samples begin: in births.h, in the main
 * thread as the program starts, in the thread that starts a runtime, and else by the return from its first sample.
 *
 * A program is not to notice. It is shown none (sigaltstack(), and by syscall()), and when it sets one, ours is replaced.
 * Once a handler of its own asks for an alternate stack (SA_ONSTACK), no more are given. Those that threads have by then
 * stay: Go takes one that it finds, by an instruction of its own, for its own signals, and ends the program where it is
 * gone later. So they have room for handlers of the program's.
 */

/* Bytes of one, by which it is known: as nobody else's is. */
#define AIF_ALTERNATE_BYTES (131072u - 48u)

/* Maps one; NULL: no memory. For the life of the process. */
void *aif_alternate_new(void);
/* Gives this thread the stack `memory`, NULL: a new one, if it has none and may have one. */
void aif_alternate_take(void *memory);
/* Takes it back. */
void aif_alternate_return(void);
/* In a handler that returns to `uc`: this thread has that stack, `memory`, from then on, if it has none. */
void aif_alternate_at_return(ucontext_t *uc, void *memory);
/* Looks for handlers of the program's that want an alternate stack, and were set unseen. */
void aif_alternate_look(void);
/* The program has set one. */
void aif_alternate_leave(void);
/* sigaltstack() as the program is to see it. 0 or -1 with errno. */
int aif_alternate_set(const stack_t *set, stack_t *ret_old);
