/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everybody's dlsym(): enter.c says why. Nothing of the caller's is changed before the jump to the C
 * library's: arguments, stack and return address are those of the call. In assembler, since C may leave a frame; and
 * since every C file of the agent asks for dlsym by an old version (oldglibc.h), which is not to be given to this one.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) /* which needs dlsym() before any of us may run */
	.text
	.globl	dlsym
	.type	dlsym, @function
dlsym:
	.cfi_startproc
	endbr64
	testq	%rsi, %rsi
	jz	1f
	cmpb	$'z', (%rsi)
	jne	1f
	cmpb	$'e', 1(%rsi)
	je	2f
1:	/* on */
	movq	aif_agent(%rip), %rax	/* its first word: real_dlsym */
	testq	%rax, %rax
	jz	3f
	jmp	*%rax
2:	/* perhaps one that is ours */
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	aif_ze_dlsym
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testq	%rax, %rax
	jz	1b
	cmpq	$1, %rax		/* NOTHING */
	je	5f
	ret
5:	xorl	%eax, %eax
	ret
3:	/* the first time */
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	aif_ze_real_dlsym
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testq	%rax, %rax
	jz	4f
	jmp	*%rax
4:
	ret
	.cfi_endproc
	.size	dlsym, .-dlsym
	.hidden	aif_agent
	.hidden	aif_ze_dlsym
	.hidden	aif_ze_real_dlsym
#endif
	.section .note.GNU-stack, "", @progbits
