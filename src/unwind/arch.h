/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* The registers that unwinding needs, and how to take them where the caller stands. */
struct aif_regs {
	uint64_t pc, sp, bp;
};

/* What is needed besides where a function was interrupted. */
struct aif_regs_more {
	uint64_t r10, r13;
};

#if defined(__x86_64__)
/* The caller's own registers: pc is a point inside the calling function, so that the first frame of
 * an unwind from here is the function that used this macro (and not `pc_is_exact`). rbp is read
 * first: in code without frame pointers the compiler may choose it for another output. `regs` must
 * be a local of a function that does something after unwinding, else the call becomes a jump and
 * its frame is gone. */
#define AIF_REGS_HERE(regs)                                                             \
	__asm__ volatile("movq %%rbp, %2\n\tmovq %%rsp, %1\n\tleaq 0(%%rip), %0\n\tnop" \
			 : "=r"((regs)->pc), "=r"((regs)->sp), "=r"((regs)->bp))
#else
#error "unwind/arch.h: this architecture is not supported yet"
#endif
