/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Handler of the signal of CPU samples. It may have interrupted a coroutine on a stack of some KiB, or a handler on a small
 * alternate one: beyond the kernel's frame it uses some 150 bytes there to find the thread's memory
 * (aif_cpu_signal_begin()), and takes the sample on a stack of the agent's own.
 *
 * Calls and returns match, so that a shadow stack agrees. As a signal's frame debuggers may find the caller's stack at lower
 * addresses than this one.
 */
	.text
	.p2align 4
	.globl aif_cpu_on_signal
	.hidden aif_cpu_on_signal
	.hidden aif_cpu_signal_begin
	.hidden aif_cpu_signal_take
	.type aif_cpu_on_signal, %function
aif_cpu_on_signal:
	.cfi_startproc
	.cfi_signal_frame
#if defined(__x86_64__)
	endbr64
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	push	%rsi
	push	%rdx
	/* The kernel leaves the program's AC on, with which the agent's unaligned accesses fault; its return from the signal sets it again. */
	pushfq
	andl	$0xfffbffff, (%rsp)
	popfq
	mov	%rsi, %rdi
	call	aif_cpu_signal_begin
	test	%rax, %rax
	jz	1f
	mov	-8(%rbp), %rsi
	mov	%rdx, %rcx
	mov	-16(%rbp), %rdx
	mov	%rax, %rdi
	mov	%rcx, %rsp
	call	aif_cpu_signal_take
1:	mov	%rbp, %rsp
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
#elif defined(__aarch64__)
	bti	c
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	stp	x1, x2, [sp, #16]
	mov	x29, sp
	.cfi_def_cfa_register x29
	mov	x0, x1
	bl	aif_cpu_signal_begin
	cbz	x0, 1f
	mov	x3, x1
	ldp	x1, x2, [x29, #16]
	mov	sp, x3
	bl	aif_cpu_signal_take
1:	mov	sp, x29
	.cfi_def_cfa_register sp
	ldp	x29, x30, [sp], #32
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
#endif
	.cfi_endproc
	.size aif_cpu_on_signal, . - aif_cpu_on_signal
	.section .note.GNU-stack, "", %progbits
