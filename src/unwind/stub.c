/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/stub.h"

#include <string.h>

/* mov x8, #139 (rt_sigreturn); svc #0 */
#define MOV_SIGRETURN 0xd2801168
#define SVC           0xd4000001

/*
 * The frame that the kernel pushes (linux/arch/arm64/include/uapi/asm/sigcontext.h, ucontext.h):
 * siginfo (128 bytes), ucontext: flags, link, stack (40), mask (8, and 120 reserved), 8 to align;
 * mcontext: the fault's address, x0 to x30, sp, pc.
 */
#define REGISTER(n) (128 + 40 + 128 + 8 + 8 + 8 * (n))
enum { SAVED_X29 = REGISTER(29), SAVED_SP = REGISTER(31), SAVED_PC = REGISTER(32) };

/* adrp x16, page; ldr x17, [x16, at]; add x16, x16, at; br x17. The branch may have a landing
 * pad before. */
static const struct {
	uint32_t mask, value;
} plt[] = {
	{0x9f00001f, 0x90000010},
	{0xffc003ff, 0xf9400211},
	{0xffc003ff, 0x91000210},
	{0xffffffff, 0xd61f0220},
};
#define BTI_C 0xd503245f

/* The n-th instruction from pc on; 0, which is none, outside. */
static uint32_t instruction(struct aif_span code, uint64_t pc, int n)
{
	uint64_t at = pc + 4 * (uint64_t)(int64_t)n - (uint64_t)(uintptr_t)code.lo;
	uint32_t v;

	if ((uint64_t)(code.hi - code.lo) < 4 || at > (uint64_t)(code.hi - code.lo) - 4)
		return 0;
	memcpy(&v, code.lo + at, sizeof(v));
	return v;
}

static bool is_plt(struct aif_span code, uint64_t pc, int first)
{
	for (int i = 0; i < (int)AIF_ARRAY_LEN(plt); i++) {
		if ((instruction(code, pc, first + i) & plt[i].mask) != plt[i].value)
			return false;
	}
	return true;
}

uint64_t aif_stub_row_aarch64(struct aif_span code, uint64_t pc)
{
	pc = AIF_ALIGN_UP(pc, 4);
	for (int first = -1; first <= 0; first++) {
		if (instruction(code, pc, first) == MOV_SIGRETURN &&
		    instruction(code, pc, first + 1) == SVC)
			return aif_row_make(AIF_ROW_SIGNAL, SAVED_X29 / 8, SAVED_PC, SAVED_SP);
	}
	for (int first = -3; first <= 0; first++) {
		if (is_plt(code, pc, first))
			return aif_row_make(AIF_ROW_LR, 0, 0, 0);
	}
	if (instruction(code, pc, 0) == BTI_C && is_plt(code, pc, 1))
		return aif_row_make(AIF_ROW_LR, 0, 0, 0);
	return aif_row_make(AIF_ROW_NONE, 0, 0, 0);
}
