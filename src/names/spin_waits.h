/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * Waits that spin: a thread that is done with its part of a parallel loop looks for the others again and again, in the
 * OpenMP runtime, and uses CPU time for nothing. These runtimes have no symbols for it mostly: the module says what it is.
 */

/* Returns the module in which a stack of CPU time spins; AIF_NONE: it does not. */
uint32_t aif_spin_wait(const struct aif_profile *p, uint32_t stack);
/* The beginning of what stands in place of the function: "[spinning: libgomp.so.1]". */
#define AIF_SPIN_WAIT_NOTE "[spinning: "
/* Appends that. */
void aif_spin_wait_note(const struct aif_profile *p, uint32_t module, struct aif_buf *out);
