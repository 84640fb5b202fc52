/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/row.h"

/*
 * Guesses a caller from instructions where there is no table. x86-64 only: on aarch64 a frame
 * pointer does not show where its frame ends, which the rows of the frames above need.
 */
#define AIF_GUESSES (!AIF_ARCH_LINK)

/* A call's longest encoding, but for prefixes that no compiler writes. */
#define AIF_GUESS_BEFORE 7
/* The longest of the ends of functions that are known below. */
#define AIF_GUESS_AFTER 8

/* Do the bytes before a return address end with a call? Of any bytes one in 50 does. */
bool aif_guess_is_after_call(const uint8_t bytes[AIF_GUESS_BEFORE]);

/* The row at a return address whose function does nothing more but return, as trampolines do:
 * not a guess, since what the next instructions are is what will happen. NONE if it is none. */
uint64_t aif_guess_row_of_end(const uint8_t bytes[AIF_GUESS_AFTER]);

/* The row of a function that keeps a frame pointer and is not at its beginning or end. */
#define AIF_GUESS_ROW aif_row_make(AIF_ROW_RBP, -2, 0, 16)
