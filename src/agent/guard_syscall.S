/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/syscall.h>

#define SYS_EPOLL_PWAIT2 441
#define SYS_LANDLOCK_RESTRICT_SELF 446

/*
 * syscall(), everybody's where the agent is preloaded: goes on to the C library's as it was called, so that what returns
 * twice, or with another stack, does so there. Numbers that guard.c looks at take the way through it.
 */
	.text
	.p2align 4
	.globl syscall
	.type syscall, %function
	.hidden aif_guard_syscall
	.hidden aif_guard_syscall_next
syscall:
	.cfi_startproc
#if defined(__x86_64__)
	endbr64
	mov	aif_guard_syscall_next(%rip), %rax
	test	%rax, %rax
	jz	aif_guard_syscall
	/* From setuid to sigaltstack; from pselect6 to signalfd4. */
	lea	-SYS_setuid(%rdi), %r11
	cmp	$(SYS_sigaltstack - SYS_setuid), %r11
	jbe	aif_guard_syscall
	lea	-SYS_pselect6(%rdi), %r11
	cmp	$(SYS_signalfd4 - SYS_pselect6), %r11
	jbe	aif_guard_syscall
	cmp	$SYS_rt_sigaction, %rdi
	je	aif_guard_syscall
	cmp	$SYS_EPOLL_PWAIT2, %rdi
	je	aif_guard_syscall
	cmp	$SYS_LANDLOCK_RESTRICT_SELF, %rdi
	je	aif_guard_syscall
	cmp	$SYS_prctl, %rdi
	je	aif_guard_syscall
	cmp	$SYS_seccomp, %rdi
	je	aif_guard_syscall
	cmp	$SYS_setns, %rdi
	je	aif_guard_syscall
	cmp	$SYS_userfaultfd, %rdi
	je	aif_guard_syscall
	cmp	$SYS_ioctl, %rdi
	je	aif_guard_syscall
	jmp	*%rax
#elif defined(__aarch64__)
	bti	c
	adrp	x16, aif_guard_syscall_next
	ldr	x16, [x16, :lo12:aif_guard_syscall_next]
	cbz	x16, aif_guard_syscall
	/* From capset to unshare; from setregid to setgroups; from sigaltstack to rt_sigtimedwait; from pselect6 to
	 * signalfd4; epoll_pwait and what it became; prctl, setns, seccomp, userfaultfd, ioctl. */
	sub	x17, x0, #SYS_capset
	cmp	x17, #(SYS_unshare - SYS_capset)
	b.ls	aif_guard_syscall
	sub	x17, x0, #SYS_setregid
	cmp	x17, #(SYS_setgroups - SYS_setregid)
	b.ls	aif_guard_syscall
	sub	x17, x0, #SYS_sigaltstack
	cmp	x17, #(SYS_rt_sigtimedwait - SYS_sigaltstack)
	b.ls	aif_guard_syscall
	sub	x17, x0, #SYS_pselect6
	cmp	x17, #(SYS_signalfd4 - SYS_pselect6)
	b.ls	aif_guard_syscall
	cmp	x0, #SYS_epoll_pwait
	b.eq	aif_guard_syscall
	cmp	x0, #SYS_EPOLL_PWAIT2
	b.eq	aif_guard_syscall
	cmp	x0, #SYS_LANDLOCK_RESTRICT_SELF
	b.eq	aif_guard_syscall
	cmp	x0, #SYS_prctl
	b.eq	aif_guard_syscall
	cmp	x0, #SYS_setns
	b.eq	aif_guard_syscall
	cmp	x0, #SYS_seccomp
	b.eq	aif_guard_syscall
	cmp	x0, #SYS_userfaultfd
	b.eq	aif_guard_syscall
	cmp	x0, #SYS_ioctl
	b.eq	aif_guard_syscall
	br	x16
#endif
	.cfi_endproc
	.size syscall, . - syscall
	.section .note.GNU-stack, "", %progbits
