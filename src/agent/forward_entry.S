/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Entries that stand for handlers of the program's (forward.h), 16 bytes apart. Each goes on to the program's handler as if
 * the kernel had called that: with its arguments, its stack and all flags.
 */
#define ENTRIES 32

	.text
	.globl aif_forward_entries
	.hidden aif_forward_entries
	.hidden aif_forward_begin
	.type forward, %function
#if defined(__x86_64__)
	.p2align 4
forward:
	.cfi_startproc
	push	%rdi
	.cfi_def_cfa_offset 16
	push	%rsi
	.cfi_def_cfa_offset 24
	push	%rdx
	.cfi_def_cfa_offset 32
	/* As in cpu_signal.S; the program's handler has the program's. */
	pushfq
	.cfi_def_cfa_offset 40
	pushfq
	.cfi_def_cfa_offset 48
	andl	$0xfffbffff, (%rsp)
	popfq
	.cfi_def_cfa_offset 40
	sub	$8, %rsp
	.cfi_def_cfa_offset 48
	mov	%eax, %edi
	call	aif_forward_begin
	add	$8, %rsp
	.cfi_def_cfa_offset 40
	popfq
	.cfi_def_cfa_offset 32
	pop	%rdx
	.cfi_def_cfa_offset 24
	pop	%rsi
	.cfi_def_cfa_offset 16
	pop	%rdi
	.cfi_def_cfa_offset 8
	test	%rax, %rax
	jz	1f
	jmp	*%rax
1:	ret
	.cfi_endproc
#elif defined(__aarch64__)
	.p2align 4
forward:
	.cfi_startproc
	stp	x29, x30, [sp, #-48]!
	.cfi_def_cfa_offset 48
	.cfi_offset x29, -48
	.cfi_offset x30, -40
	stp	x0, x1, [sp, #16]
	str	x2, [sp, #32]
	mov	x29, sp
	mov	w0, w16
	bl	aif_forward_begin
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldr	x2, [sp, #32]
	ldp	x29, x30, [sp], #48
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	cbz	x16, 1f
	br	x16
1:	ret
	.cfi_endproc
#endif
	.size forward, . - forward

	.type aif_forward_entries, %function
	.p2align 4
aif_forward_entries:
	.cfi_startproc
	.set	entry, 0
	.rept	ENTRIES
	.p2align 4
#if defined(__x86_64__)
	endbr64
	mov	$entry, %eax
	jmp	forward
#elif defined(__aarch64__)
	bti	c
	mov	w16, #entry
	b	forward
#endif
	.set	entry, entry + 1
	.endr
	.p2align 4
	.cfi_endproc
	.size aif_forward_entries, . - aif_forward_entries
	.section .note.GNU-stack, "", %progbits
