/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sigaction(), for a handler that returns through code which unwinders can know. On aarch64 that is in the
 * kernel's vdso, which emulators have only lately; so the tests bring their own, as the kernel allows.
 */

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__aarch64__)
/* No tables, as the kernel's: neither for it nor for the byte before. */
__asm__(".text\n"
	"	nop\n"
	".globl test_sigreturn\n"
	".type test_sigreturn, %function\n"
	"test_sigreturn:\n"
	"	mov x8, #139\n"
	"	svc #0\n");

void test_sigreturn(void);

static inline int signal_action(int number, const struct sigaction *action)
{
	struct {
		void (*handler)(int, siginfo_t *, void *);
		uint64_t flags;
		void (*restorer)(void);
		uint64_t mask;
	} kernels = {action->sa_sigaction, (uint64_t)action->sa_flags | 0x04000000, test_sigreturn,
		     0};

	return (int)syscall(SYS_rt_sigaction, number, &kernels, NULL, sizeof(kernels.mask));
}
#else
static inline int signal_action(int number, const struct sigaction *action)
{
	return sigaction(number, action, NULL);
}
#endif
