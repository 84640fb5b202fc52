/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* The registers that unwinding needs, and how to take them where the caller stands. */
struct aif_regs {
	uint64_t pc, sp, bp;
};

#if defined(__x86_64__)
/* The caller's own registers: pc is a point inside the calling function, so that the first frame of
 * an unwind from here is the function that used this macro. */
#define AIF_REGS_HERE(regs)                                                      \
	__asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2" \
			 : "=r"((regs)->pc), "=r"((regs)->sp), "=r"((regs)->bp))
#else
#error "unwind/arch.h: this architecture is not supported yet"
#endif
