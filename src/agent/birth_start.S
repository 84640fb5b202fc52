/* SPDX-License-Identifier: Apache-2.0 */

/*
 * First function of a thread that the program creates: lets the agent begin its samples (births.c), then goes on to the
 * program's start routine as if that had been called.
 */
	.text
	.p2align 4
	.globl aif_birth_start
	.hidden aif_birth_start
	.hidden aif_birth_begin
	.type aif_birth_start, %function
aif_birth_start:
	.cfi_startproc
#if defined(__x86_64__)
	endbr64
	sub	$8, %rsp
	.cfi_def_cfa_offset 16
	call	aif_birth_begin
	add	$8, %rsp
	.cfi_def_cfa_offset 8
	mov	%rdx, %rdi
	jmp	*%rax
#elif defined(__aarch64__)
	bti	c
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	bl	aif_birth_begin
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	mov	x16, x0
	mov	x0, x1
	br	x16
#endif
	.cfi_endproc
	.size aif_birth_start, . - aif_birth_start
	.section .note.GNU-stack, "", %progbits
