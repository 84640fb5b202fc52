/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/auxv.h"

#include <stdbool.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#endif

/*
 * Emulators and sandboxes point a thread's own pointer elsewhere for a while (arch_prctl(ARCH_SET_FS)). A handler that
 * interrupts them may use no thread-local variable, errno and the stack protector's among them.
 */

/* Lets a function be called where the thread's pointer is not the C library's. */
#if __has_attribute(no_stack_protector)
#define AIF_NO_STACK_PROTECTOR __attribute__((no_stack_protector))
#else
#define AIF_NO_STACK_PROTECTOR
#endif

#if defined(__x86_64__)

#ifndef HWCAP2_FSGSBASE
#define HWCAP2_FSGSBASE (1 << 1)
#endif
/* The C library's descriptor of a thread has its own address there (tcbhead_t.self). */
#define AIF_TLS_SELF 0x10

/* Makes a system call that leaves errno alone. */
AIF_NO_STACK_PROTECTOR static inline long aif_bare_call(long number, long a, long b, long c, long d,
							long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

/* Returns whether the processor lets a program read the pointer: Linux 5.9. Not from a handler. */
static inline bool aif_tls_can_be_seen(void)
{
	return aif_auxv(AT_HWCAP2) & HWCAP2_FSGSBASE;
}

/* Returns whether this thread's pointer is the C library's. Where aif_tls_can_be_seen(). */
AIF_NO_STACK_PROTECTOR static inline bool aif_has_own_tls(void)
{
	uint64_t base, self = 0;
	struct iovec to, from;

	__asm__ volatile("rdfsbase %0" : "=r"(base));
	if (!base)
		return false;
	to.iov_base = &self;
	to.iov_len = from.iov_len = sizeof(self);
	from.iov_base =
		(void *)(uintptr_t)(base + AIF_TLS_SELF); /* NOLINT(performance-no-int-to-ptr) */
	return aif_bare_call(SYS_process_vm_readv, aif_bare_call(SYS_getpid, 0, 0, 0, 0, 0, 0),
			     (long)&to, 1, (long)&from, 1, 0) == sizeof(self) &&
	       self == base;
}

#elif defined(__aarch64__)

static inline long aif_bare_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

#endif

#if !defined(__x86_64__)

/* Says yes on other processors, whose pointer has nothing to be compared with. */
static inline bool aif_tls_can_be_seen(void)
{
	return false;
}

static inline bool aif_has_own_tls(void)
{
	return true;
}

#endif
