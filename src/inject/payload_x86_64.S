/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/payload.h"

/*
 * Runs in the target before the agent is there. Copied to page 0 of the injector's memory; struct aif_payload lies in
 * the next page, so that both find it without a register. Calls nothing but the target's C library and the kernel.
 *
 * The borrowed thread makes a thread and says so; then it waits, awake, for the injector, which stops it and puts its
 * registers back as they were: only the kernel can go on with a system call exactly as if nothing had been. If the
 * injector does not come, because it was killed, the thread puts them back by itself and repeats the call. Nothing here
 * may be interrupted in a call that the kernel would restart by what it keeps of one call only (nanosleep(), futex() with a
 * timeout): the thread's own call may be such a one.
 */
#define AT(field) (aif_payload_code + AIF_PAYLOAD_PAGE + AIF_PAYLOAD_AT_##field)(%rip)
#define REG(i)    (aif_payload_code + AIF_PAYLOAD_PAGE + AIF_PAYLOAD_AT_REGS + 8 * i)(%rip)

#define SYS_CLOSE         3
#define SYS_RT_SIGPROCMASK 14
#define SYS_SCHED_YIELD   24
#define SYS_NANOSLEEP     35
#define SYS_CLOCK_GETTIME 228
#define SYS_EXIT          60
#define SYS_SCHED_SETATTR 314
#define SYS_MEMFD_CREATE  319

#define STACK_BYTES 524288
#define WAIT_NS    10000000  /* of the borrowed thread, for the injector */
#define SPIN_NS    1000000   /* part of it, in which the thread keeps its processor */
#define SPINS      50        /* of a microsecond together, between looks at the clock */
#define LOOKS      20000     /* of the new thread, 1 ms apart, for the library */
#define RTLD_NOW   2
#define MFD_CLOEXEC 1
#define MFD_EXEC   0x10      /* unknown before Linux 6.3 */
#define EINVAL     22

	.section .rodata.aif_payload, "a", @progbits
	.balign 4096
	.globl aif_payload_code
	.hidden aif_payload_code
	.globl aif_payload_copy
	.hidden aif_payload_copy
	.globl aif_payload_call
	.hidden aif_payload_call
	.globl aif_payload_code_end
	.hidden aif_payload_code_end
aif_payload_code:
	/* The borrowed thread, with its stack pointer at the end of the memory. */
	movl	$AIF_PAYLOAD_XSAVE_PARTS, %eax
	xorl	%edx, %edx
	leaq	AT(XSAVE), %rcx
	xsave64	(%rcx)
	/* With a small stack, which takes milliseconds less in a program that has locked its memory; where it is too small, since
	 * the program has very many thread-local variables, with one of the usual size. */
	leaq	AT(ATTR), %rdi
	call	*AT(ATTR_INIT)
	leaq	AT(ATTR), %rdi
	movl	$STACK_BYTES, %esi
	call	*AT(ATTR_SIZE)
	leaq	AT(ATTR), %rsi
	call	create
	testl	%eax, %eax
	jz	1f
	xorl	%esi, %esi
	call	create
1:	movl	%eax, AT(RESULT)
	call	now
	addq	$WAIT_NS, %rax
	movq	%rax, AT(DEADLINE)
	movl	$1, AT(DONE)
1:	movl	$SPINS, %ecx
2:	pause
	decl	%ecx
	jnz	2b
	call	now
	cmpq	AT(DEADLINE), %rax
	jae	3f
	addq	$(WAIT_NS - SPIN_NS), %rax
	cmpq	AT(DEADLINE), %rax
	jb	1b
	/* The injector may wait for this processor. */
	movl	$SYS_SCHED_YIELD, %eax
	syscall
	jmp	1b
3:

	/* The injector was killed. */
	cmpl	$0, AT(SCHEDULE)
	je	4f
	movl	$SYS_SCHED_SETATTR, %eax
	xorl	%edi, %edi
	leaq	AT(SCHEDULE), %rsi
	xorl	%edx, %edx
	syscall
4:
	movl	$SYS_RT_SIGPROCMASK, %eax
	movl	$2, %edi /* SIG_SETMASK */
	leaq	AT(MASK), %rsi
	xorl	%edx, %edx
	movl	$8, %r10d
	syscall
	movl	$AIF_PAYLOAD_XSAVE_PARTS, %eax
	xorl	%edx, %edx
	leaq	AT(XSAVE), %rcx
	xrstor64 (%rcx)
	pushq	AT(FLAGS)
	popfq
	movq	REG(0), %rax
	movq	REG(1), %rbx
	movq	REG(2), %rcx
	movq	REG(3), %rdx
	movq	REG(4), %rsi
	movq	REG(5), %rdi
	movq	REG(6), %rbp
	movq	REG(7), %rsp
	movq	REG(8), %r8
	movq	REG(9), %r9
	movq	REG(10), %r10
	movq	REG(11), %r11
	movq	REG(12), %r12
	movq	REG(13), %r13
	movq	REG(14), %r14
	movq	REG(15), %r15
	jmp	*AT(PC)

	/* What the thread that maps is stepped through (mapper.h): it copies a stack, and makes a system call. Should nobody hold it, it ends
	 * behind that. */
aif_payload_copy:
	rep movsb
aif_payload_call:
	syscall
	movl	$SYS_EXIT, %eax
	xorl	%edi, %edi
	syscall

	/* Calls pthread_create() with the attributes in %rsi. */
create:
	leaq	AT(THREAD), %rdi
	leaq	new_thread(%rip), %rdx
	xorl	%ecx, %ecx
	subq	$8, %rsp
	call	*AT(CREATE)
	addq	$8, %rsp
	ret

	/* Returns CLOCK_MONOTONIC in ns. */
now:
	movl	$SYS_CLOCK_GETTIME, %eax
	movl	$1, %edi
	leaq	AT(NOW), %rsi
	syscall
	movq	AT(NOW), %rax
	imulq	$1000000000, %rax, %rax
	addq	AT(NOW_NS), %rax
	ret

	/* The new thread, to which no signal is delivered. */
new_thread:
	pushq	%rbx
	movq	AT(AGENT), %rax
	testq	%rax, %rax
	jz	9f
	leaq	AT(CONFIG), %rdi
	call	*%rax
	movl	%eax, AT(ERROR)
	movl	$AIF_PAYLOAD_JOINED, %ecx
	jmp	8f
9:	movl	$SYS_MEMFD_CREATE, %eax
	leaq	AT(NAME), %rdi
	movl	$(MFD_CLOEXEC | MFD_EXEC), %esi
	syscall
	cmpl	$-EINVAL, %eax
	jne	1f
	movl	$SYS_MEMFD_CREATE, %eax
	leaq	AT(NAME), %rdi
	movl	$MFD_CLOEXEC, %esi
	syscall
1:	movl	%eax, AT(FD)
	movl	%eax, AT(ERROR)
	movl	$AIF_PAYLOAD_FAILED, %ecx
	testl	%eax, %eax
	js	8f
	movl	$AIF_PAYLOAD_WAITS, AT(STATE)
	movl	$LOOKS, %ebx
2:	cmpl	$0, AT(GO)
	jne	3f
	movl	$SYS_NANOSLEEP, %eax
	leaq	AT(PAUSE), %rdi
	xorl	%esi, %esi
	syscall
	decl	%ebx
	jnz	2b
	movl	$-110, AT(ERROR) /* ETIMEDOUT */
	movl	$AIF_PAYLOAD_FAILED, %ecx
	jmp	7f
3:	movl	$AIF_PAYLOAD_LOADS, AT(STATE)
	leaq	AT(PATH), %rdi
	movl	$RTLD_NOW, %esi
	call	*AT(DLOPEN)
	testq	%rax, %rax
	jz	4f
	movq	%rax, %rdi
	leaq	AT(SYMBOL), %rsi
	call	*AT(DLSYM)
	testq	%rax, %rax
	jz	4f
	leaq	AT(CONFIG), %rdi
	call	*%rax
	movl	%eax, AT(ERROR)
	movl	$AIF_PAYLOAD_JOINED, %ecx
	jmp	7f
	/* Keeps the loader's words. */
4:	call	*AT(DLERROR)
	movl	$AIF_PAYLOAD_UNLOADED, %ecx
	testq	%rax, %rax
	jz	7f
	leaq	AT(TEXT), %rdi
	movl	$(AIF_PAYLOAD_TEXT - 1), %edx
5:	movb	(%rax), %sil
	testb	%sil, %sil
	jz	7f
	movb	%sil, (%rdi)
	incq	%rax
	incq	%rdi
	decl	%edx
	jnz	5b
7:	movl	%ecx, %ebx
	movl	AT(FD), %edi
	movl	$SYS_CLOSE, %eax
	syscall
	movl	%ebx, %ecx
8:	movl	%ecx, %ebx
	call	*AT(SELF)
	movq	%rax, %rdi
	call	*AT(DETACH)
	movl	%ebx, AT(STATE)
	xorl	%eax, %eax
	popq	%rbx
	ret
aif_payload_code_end:
	.section .note.GNU-stack, "", @progbits
