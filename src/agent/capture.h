/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/emit.h"

/* The stack of the code that called the function which *regs was taken in (AIF_REGS_HERE), native and
 * Python; that function is not part of it. Its id in t's ring, or AIF_WIRE_NONE if it could not be
 * kept. On launch paths only. */
uint32_t aif_capture(struct aif_thread *t, const struct aif_regs *regs,
		     const struct aif_emit_api *api);
/* Prefetches what a capture that follows at once reads, and where its launch is written. Between two launches a program
 * goes through more memory than caches hold. */
void aif_capture_prefetch(const struct aif_thread *t, const struct aif_regs *regs);
