/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Functions that a signal interrupts where unwinding is hard. */

#include <stdbool.h>
#include <ucontext.h>

/* A function whose first instruction is where the signal strikes: looked up at pc - 1 it would be
 * taken for the function before it, which has another frame. */
__asm__(".text\n"
	".type before_trap, @function\n"
	"before_trap:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa_offset 4096\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type first_instruction, @function\n"
	"first_instruction:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	/* and one that keeps rbp below rsp, where only an interrupted function may */
	".type red_zone, @function\n"
	"red_zone:\n"
	"	.cfi_startproc\n"
	"	movq %rbp, -16(%rsp)\n"
	"	.cfi_offset %rbp, -24\n"
	"	xorl %ebp, %ebp\n"
	"	ud2\n"
	"	movq -16(%rsp), %rbp\n"
	"	.cfi_same_value %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	/* over-aligned, as gcc does it: before rbp is set up, ... */
	".type cfa_in_r10, @function\n"
	"cfa_in_r10:\n"
	"	.cfi_startproc\n"
	"	leaq 8(%rsp), %r10\n"
	"	.cfi_def_cfa %r10, 0\n"
	"	andq $-256, %rsp\n"
	"	ud2\n"
	"	leaq -8(%r10), %rsp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	/* the same in r13, ... */
	".type cfa_in_r13, @function\n"
	"cfa_in_r13:\n"
	"	.cfi_startproc\n"
	"	movq %r13, %r11\n"
	"	leaq 8(%rsp), %r13\n"
	"	.cfi_def_cfa %r13, 0\n"
	"	andq $-256, %rsp\n"
	"	ud2\n"
	"	leaq -8(%r13), %rsp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	movq %r11, %r13\n"
	"	ret\n"
	"	.cfi_endproc\n"
	/* in r11 while the pages of a large frame are touched, ... */
	".type cfa_in_r11, @function\n"
	"cfa_in_r11:\n"
	"	.cfi_startproc\n"
	"	leaq -16384(%rsp), %r11\n"
	"	.cfi_def_cfa %r11, 16392\n"
	"	subq $4096, %rsp\n"
	"	ud2\n"
	"	addq $4096, %rsp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	/* ... with rbp saved at rbp, and when that has been restored, which is not said */
	".type rbp_at_rbp, @function\n"
	"rbp_at_rbp:\n"
	"	.cfi_startproc\n"
	"	leaq 8(%rsp), %r10\n"
	"	.cfi_def_cfa %r10, 0\n"
	"	andq $-256, %rsp\n"
	"	pushq -8(%r10)\n"
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00\n"
	"	ud2\n"
	"	leave\n"
	"	leaq -8(%r10), %rsp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type rbp_restored, @function\n"
	"rbp_restored:\n"
	"	.cfi_startproc\n"
	"	leaq 8(%rsp), %r10\n"
	"	.cfi_def_cfa %r10, 0\n"
	"	andq $-256, %rsp\n"
	"	pushq -8(%r10)\n"
	"	pushq %rbp\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00\n"
	"	leave\n"
	"	ud2\n"
	"	leaq -8(%r10), %rsp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	/* over-aligned with the CFA in rbx, as the loader binds functions: interrupted itself, ... */
	".macro cfa_in_rbx_begins\n"
	"	.cfi_startproc\n"
	"	pushq %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbx, 0\n"
	"	movq %rsp, %rbx\n"
	"	.cfi_def_cfa_register %rbx\n"
	"	andq $-256, %rsp\n"
	"	subq $256, %rsp\n"
	".endm\n"
	".macro cfa_in_rbx_ends\n"
	"	movq %rbx, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	popq %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".endm\n"
	".type cfa_in_rbx, @function\n"
	"cfa_in_rbx:\n"
	"	cfa_in_rbx_begins\n"
	"	ud2\n"
	"	cfa_in_rbx_ends\n"
	/* ... while it calls a function that leaves rbx alone, ... */
	".type cfa_in_rbx_kept, @function\n"
	"cfa_in_rbx_kept:\n"
	"	cfa_in_rbx_begins\n"
	"	call first_instruction\n"
	"	cfa_in_rbx_ends\n"
	/* ... and one that saves it, and calls another that does. */
	".type saves_rbx, @function\n"
	"saves_rbx:\n"
	"	.cfi_startproc\n"
	"	pushq %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbp, 0\n"
	"	pushq %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbx, 0\n"
	"	xorl %ebx, %ebx\n"
	"	call *%rax\n"
	"	popq %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbx\n"
	"	popq %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type saves_rbx_again, @function\n"
	"saves_rbx_again:\n"
	"	.cfi_startproc\n"
	"	leaq first_instruction(%rip), %rax\n"
	"	call saves_rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type cfa_in_rbx_saved, @function\n"
	"cfa_in_rbx_saved:\n"
	"	cfa_in_rbx_begins\n"
	"	leaq saves_rbx_again(%rip), %rax\n"
	"	call saves_rbx\n"
	"	cfa_in_rbx_ends\n");

void first_instruction(void), red_zone(void);
void cfa_in_r10(void), cfa_in_r11(void), cfa_in_r13(void), rbp_at_rbp(void), rbp_restored(void);
void cfa_in_rbx(void), cfa_in_rbx_kept(void), cfa_in_rbx_saved(void);

static void (*const trap_functions[])(void) = {first_instruction, red_zone};

static const struct {
	void (*f)(void);
	bool ours_only; /* glibc follows the stale rule for rbp into nowhere */
} trap_functions_by_register[] = {{cfa_in_r10, false},
				  {cfa_in_r11, false},
				  {cfa_in_r13, false},
				  {rbp_at_rbp, false},
				  {rbp_restored, true}};
static void (*const trap_functions_by_rbx[])(void) = {cfa_in_rbx, cfa_in_rbx_kept,
						      cfa_in_rbx_saved};

static inline void trap_skip(void *context)
{
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}
