/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/ehframe.h"

/*
 * Go's calls of C (cgo), on x86-64. A goroutine has a stack of its own; runtime.asmcgocall calls C on its thread's, and
 * afterwards goes back to the goroutine's:
 *
 *     mov  g(%rsp), %rdi           the goroutine, which begins with the bounds of its stack
 *     mov  8(%rdi), %rsi
 *     sub  depth(%rsp), %rsi       how far from the upper one its stack pointer was
 *     mov  %rdi, TLS
 *     mov  %rsi, %rsp
 *     mov  %eax, 24(%rsp)
 *     ret
 *
 * Where these are the instructions at a return address, they are what will happen, so following them is no guess. The
 * runtime's functions have no tables but keep frame pointers, which the guesses of guess.h go along, up to the
 * goroutine's first function.
 */

/* Offsets from the stack pointer of a call of C, of the words that lead to the goroutine's stack. */
struct aif_go_switch {
	uint8_t g_at, depth_at;
};

/* Recognises the instructions at a return address. False: they are others. */
bool aif_go_switch(struct aif_span code, struct aif_go_switch *ret);

/* A goroutine's stack, and its stack pointer at the call, where the return address is. */
struct aif_go_stack {
	uint64_t lo, hi, sp;
};

/* Reads them from the goroutine's memory: `g` must be what lay in the frame of such a call. False: they contradict each other. */
bool aif_go_stack(uint64_t g, uint64_t depth, struct aif_go_stack *ret);

/* Is `pc`, in that code, the return address of a goroutine's first function: one byte into runtime.goexit? */
bool aif_go_is_first(struct aif_span code, uint64_t pc);
