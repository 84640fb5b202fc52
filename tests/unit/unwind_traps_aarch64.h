/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Functions that a signal interrupts where unwinding is hard. */

#include <ucontext.h>

__asm__(".text\n"
	/* the function before has another frame, so looked up at pc - 1 the first instruction would be its */
	".type before_trap, %function\n"
	"before_trap:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa_offset 4096\n"
	"	.cfi_offset x30, -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	/* no frame at all, the return address in x30 */
	".globl first_instruction\n"
	".type first_instruction, %function\n"
	"first_instruction:\n"
	"	.cfi_startproc\n"
	"	udf #0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	/* a frame, and x30 not yet saved */
	".globl leaf_with_frame\n"
	".type leaf_with_frame, %function\n"
	"leaf_with_frame:\n"
	"	.cfi_startproc\n"
	"	sub sp, sp, #256\n"
	"	.cfi_def_cfa_offset 256\n"
	"	udf #0\n"
	"	add sp, sp, #256\n"
	"	.cfi_def_cfa_offset 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	/* saved, and what is in the registers is something else */
	".globl saved\n"
	".type saved, %function\n"
	"saved:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, #-64]!\n"
	"	.cfi_def_cfa_offset 64\n"
	"	.cfi_offset x29, -64\n"
	"	.cfi_offset x30, -56\n"
	"	mov x30, #0\n"
	"	mov x29, #0\n"
	"	udf #0\n"
	"	ldp x29, x30, [sp], #64\n"
	"	.cfi_restore x30\n"
	"	.cfi_restore x29\n"
	"	.cfi_def_cfa_offset 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	/* x29 saved before x30 is, and the frame known by x29 */
	".globl by_frame_pointer\n"
	".type by_frame_pointer, %function\n"
	"by_frame_pointer:\n"
	"	.cfi_startproc\n"
	"	str x29, [sp, #-32]!\n"
	"	.cfi_def_cfa_offset 32\n"
	"	.cfi_offset x29, -32\n"
	"	mov x29, #7\n"
	"	udf #0\n"
	"	str x30, [sp, #8]\n"
	"	.cfi_offset x30, -24\n"
	"	mov x29, sp\n"
	"	.cfi_def_cfa_register x29\n"
	"	sub sp, sp, #4096\n"
	"	mov x30, #7\n"
	"	udf #0\n"
	"	mov sp, x29\n"
	"	ldp x29, x30, [sp], #32\n"
	"	.cfi_def_cfa sp, 0\n"
	"	.cfi_restore x30\n"
	"	.cfi_restore x29\n"
	"	ret\n"
	"	.cfi_endproc\n"
	/* a signed return address: in the register, then in memory */
	".globl signed_address\n"
	".type signed_address, %function\n"
	"signed_address:\n"
	"	.cfi_startproc\n"
	"	hint #25\n" /* paciasp */
	"	.cfi_negate_ra_state\n"
	"	udf #0\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	.cfi_def_cfa_offset 32\n"
	"	.cfi_offset x29, -32\n"
	"	.cfi_offset x30, -24\n"
	"	mov x30, #0\n"
	"	udf #0\n"
	"	ldp x29, x30, [sp], #32\n"
	"	.cfi_restore x30\n"
	"	.cfi_restore x29\n"
	"	.cfi_def_cfa_offset 0\n"
	"	hint #29\n" /* autiasp */
	"	.cfi_negate_ra_state\n"
	"	ret\n"
	"	.cfi_endproc\n"
	/* as a linker's PLT entry: no tables. x16 and x17 are the call's to change */
	"	nop\n"
	".globl like_plt\n"
	".type like_plt, %function\n"
	"like_plt:\n"
	"	adrp x16, like_plt_target\n"
	"	ldr x17, [x16, :lo12:like_plt_target]\n"
	"	add x16, x16, :lo12:like_plt_target\n"
	"	br x17\n"
	".data\n"
	"	.balign 8\n"
	"like_plt_target:\n"
	"	.quad like_plt_here\n"
	".text\n"
	".globl like_plt_here\n"
	".type like_plt_here, %function\n"
	"like_plt_here:\n"
	"	.cfi_startproc\n"
	"	udf #0\n"
	"	ret\n"
	"	.cfi_endproc\n");

void first_instruction(void), leaf_with_frame(void), saved(void), by_frame_pointer(void),
	signed_address(void), like_plt(void);

static void (*const trap_functions[])(void) = {first_instruction, leaf_with_frame, saved,
					       by_frame_pointer,  signed_address,  like_plt};

static inline void trap_skip(void *context)
{
	((ucontext_t *)context)->uc_mcontext.pc += 4;
}
