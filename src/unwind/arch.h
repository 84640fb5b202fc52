/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <errno.h>
#include <stdint.h>
#include <ucontext.h>

/*
 * The differences between the two processors, beyond numbers in tables.
 *
 * x86-64: a call pushes the return address, so it always lies just below the CFA.
 *
 * aarch64: a call leaves it in x30; a function that calls others saves it, mostly beside x29 at the
 * lower end of its frame. So a row says where (row.h), and a function that was interrupted may not
 * have saved it yet. It may be signed: a code is kept in its upper bits, and the word is an address
 * without them.
 */

/* The registers that unwinding needs, and how to take them where the caller stands. `bp` is the
 * frame pointer: rbp, x29. */
struct aif_regs {
	uint64_t pc, sp, bp;
};

#if defined(__x86_64__)

/* Registers needed in addition where a signal interrupted a function. */
struct aif_regs_more {
	uint64_t r10, r11, r13, rbx;
};

#define AIF_ARCH_ADDRESS_BITS 47  /* of user addresses */
#define AIF_ARCH_LINK         0   /* calls leave the return address in a register */
#define AIF_ARCH_RED_ZONE     128 /* below sp, alive where a function was interrupted */

/* The caller's own registers: pc is a point inside the calling function, so that the first frame of
 * an unwind from here is the function that used this macro (and not `pc_is_exact`). rbp is read
 * first: in code without frame pointers the compiler may choose it for another output. `regs` must
 * be a local of a function that does something after unwinding, else the call becomes a jump and
 * its frame is gone. */
#define AIF_REGS_HERE(regs)                                                             \
	__asm__ volatile("movq %%rbp, %2\n\tmovq %%rsp, %1\n\tleaq 0(%%rip), %0\n\tnop" \
			 : "=r"((regs)->pc), "=r"((regs)->sp), "=r"((regs)->bp))

/* Reads the registers of the function that a signal interrupted. */
static inline void aif_regs_of_ucontext(const ucontext_t *uc, struct aif_regs *ret,
					struct aif_regs_more *ret_more)
{
	const greg_t *g = uc->uc_mcontext.gregs;

	*ret = (struct aif_regs){(uint64_t)g[REG_RIP], (uint64_t)g[REG_RSP], (uint64_t)g[REG_RBP]};
	*ret_more = (struct aif_regs_more){(uint64_t)g[REG_R10], (uint64_t)g[REG_R11],
					   (uint64_t)g[REG_R13], (uint64_t)g[REG_RBX]};
}

/* True if the thread has just returned from a system call: `syscall` leaves the address that it returns to in rcx and
 * the flags in r11. */
static inline bool aif_is_system_call_end(const ucontext_t *uc)
{
	const greg_t *g = uc->uc_mcontext.gregs;

	return g[REG_RCX] == g[REG_RIP] && g[REG_R11] == g[REG_EFL];
}

/* True if the signal has ended a system call that the kernel does not begin again: it returns EINTR. */
static inline bool aif_is_interrupted_call(const ucontext_t *uc)
{
	return uc->uc_mcontext.gregs[REG_RAX] == -EINTR && aif_is_system_call_end(uc);
}

#elif defined(__aarch64__)

struct aif_regs_more {
	uint64_t lr;
};

#define AIF_ARCH_ADDRESS_BITS 48
#define AIF_ARCH_LINK         1
#define AIF_ARCH_RED_ZONE     0

/* Reads the registers here, as on x86-64. That it clobbers x30 makes the compiler save it
 * before: a return address that is only in the register could not be found. */
#define AIF_REGS_HERE(regs)                                                     \
	__asm__ volatile("mov %2, x29\n\tmov %1, sp\n\tadr %0, . + 4\n\tnop"    \
			 : "=r"((regs)->pc), "=r"((regs)->sp), "=r"((regs)->bp) \
			 :                                                      \
			 : "x30")

static inline void aif_regs_of_ucontext(const ucontext_t *uc, struct aif_regs *ret,
					struct aif_regs_more *ret_more)
{
	const mcontext_t *m = &uc->uc_mcontext;

	*ret = (struct aif_regs){m->pc, m->sp, m->regs[29]};
	*ret_more = (struct aif_regs_more){m->regs[30]};
}

/* Returns false: no register shows it on this processor. */
static inline bool aif_is_system_call_end(const ucontext_t *uc)
{
	(void)uc;
	return false;
}

/* Goes by the result alone: no register shows a call's end, and code may not be readable. */
static inline bool aif_is_interrupted_call(const ucontext_t *uc)
{
	return (long long)uc->uc_mcontext.regs[0] == -EINTR;
}

#else
#error "unwind/arch.h: this architecture is not supported yet"
#endif

/* x30, which aarch64 has. */
static inline uint64_t aif_regs_link(const struct aif_regs_more *more)
{
#if AIF_ARCH_LINK
	return more->lr;
#else
	(void)more;
	return 0;
#endif
}

/* The address in a word that the unwinder read: all of it, or what is left without a signature.
 * It follows nothing else of any word, so that words which are equal so far are equal to it
 * (memo.c). */
static inline uint64_t aif_arch_address(uint64_t word)
{
	return AIF_ARCH_LINK ? word & ((UINT64_C(1) << AIF_ARCH_ADDRESS_BITS) - 1) : word;
}
