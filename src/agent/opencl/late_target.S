/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Functions of the drivers whose tables were changed (late.c), by number in the dispatch table: each goes on to the one
 * of the driver that the first argument is an object of. All objects begin with the address of their driver's table. The
 * drivers are listed in aif_cl_late_drivers: address of the table, then what was in it; address 0 behind the last.
 * clWaitForEvents() has its object in a list, the second argument. Whatever has none goes to the first driver; an object
 * whose driver is not listed, to what its table has.
 *
 * Agents come into running processes on x86-64 only (src/inject).
 */
#if defined(__x86_64__)
#define ENTRIES          149
#define WAIT_FOR_EVENTS  41
	.text
	.hidden aif_cl_late_drivers
	.globl aif_cl_late_targets
	.hidden aif_cl_late_targets
	.type aif_cl_late_targets, %function
	.p2align 4
aif_cl_late_targets:
	.cfi_startproc
	.set number, 0
	.rept ENTRIES
	.p2align 4
	endbr64
	mov	$number, %eax
	jmp	go_on
	.set number, number + 1
	.endr
go_on:
	lea	aif_cl_late_drivers(%rip), %r10
	mov	%rdi, %r11
	cmp	$WAIT_FOR_EVENTS, %eax
	jne	1f
	xor	%r11d, %r11d
	test	%edi, %edi
	jz	1f
	mov	%rsi, %r11
	test	%r11, %r11
	jz	1f
	mov	(%r11), %r11
1:	test	%r11, %r11
	jz	4f
	mov	(%r11), %r11
2:	cmp	%r11, (%r10)
	je	3f
	add	$(8 * (ENTRIES + 1)), %r10
	cmpq	$0, (%r10)
	jne	2b
	jmp	*(%r11, %rax, 8) /* a table that was not changed */
4:	lea	aif_cl_late_drivers(%rip), %r10
3:	jmp	*8(%r10, %rax, 8)
	.cfi_endproc
	.size aif_cl_late_targets, . - aif_cl_late_targets
#endif
	.section .note.GNU-stack, "", %progbits
