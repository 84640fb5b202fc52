/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"
#include "agent/next_function.h"
#include "agent/own_signal.h"
#include "agent/sandbox.h"
#include "base/clock.h"

#include <errno.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Calls that threads of the agent's would change, or that would change them: own_threads.h and sandbox.h say how. Preloaded,
 * these functions are everybody's. syscall() is one of them (guard_syscall.S), since there is no function of the C library
 * for some of these calls, and libraries for sandboxes do without the others; a call by an instruction in the program's
 * own code is not seen.
 */

/* A program may change its user with each request, by calls that the C library makes in all threads alike, as it would
 * in the agent's: after so many times the agent's threads stay where they are. */
#define LEAVES_MAX 64

/* Limits the wait before this call: only our threads keep what the program may do no more if they have not left. */
#define NO_NEW_PRIVS_NS (AIF_NS_PER_S / 2)

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW 0xaa00
#endif

static bool user_begin(void)
{
	return atomic_load_explicit(&aif_agent.own.leaves, memory_order_relaxed) < LEAVES_MAX &&
	       aif_own_threads_leave();
}

static void return_threads(bool left)
{
	struct aif_shm *shm;

	if (left && aif_own_threads_return() < 0) {
		shm = aif_session_memory();
		if (shm)
			atomic_store(&shm->helper_gone, 1);
	}
}

/* Defines a function that makes way while the C library's own runs. */
#define MAKES_WAY(begin, name, parameters, arguments)                                            \
	AIF_PUBLIC int name parameters;                                                          \
	int name parameters                                                                      \
	{                                                                                        \
		static _Atomic(void *) next;                                                     \
		int(*real) parameters = (int(*) parameters)aif_next_function_once(&next, #name); \
		bool left;                                                                       \
		int r;                                                                           \
                                                                                                 \
		if (!real) {                                                                     \
			errno = ENOSYS;                                                          \
			return -1;                                                               \
		}                                                                                \
		left = begin();                                                                  \
		r = real arguments;                                                              \
		return_threads(left);                                                            \
		return r;                                                                        \
	}

MAKES_WAY(user_begin, setuid, (uid_t user), (user))
MAKES_WAY(user_begin, setgid, (gid_t group), (group))
MAKES_WAY(user_begin, seteuid, (uid_t user), (user))
MAKES_WAY(user_begin, setegid, (gid_t group), (group))
MAKES_WAY(user_begin, setreuid, (uid_t user, uid_t effective), (user, effective))
MAKES_WAY(user_begin, setregid, (gid_t group, gid_t effective), (group, effective))
MAKES_WAY(user_begin, setresuid, (uid_t user, uid_t effective, uid_t saved),
	  (user, effective, saved))
MAKES_WAY(user_begin, setresgid, (gid_t group, gid_t effective, gid_t saved),
	  (group, effective, saved))
MAKES_WAY(user_begin, setgroups, (size_t n, const gid_t *groups), (n, groups))
MAKES_WAY(user_begin, initgroups, (const char *user, gid_t group), (user, group))
MAKES_WAY(aif_own_threads_leave, capset, (void *header, const void *data), (header, data))
MAKES_WAY(aif_own_threads_leave, unshare, (int flags), (flags))
MAKES_WAY(aif_own_threads_leave, setns, (int fd, int type), (fd, type))

/* True for options about what one thread may do, and keeps of it. */
static bool is_of_credentials(long option)
{
	return option == PR_SET_KEEPCAPS || option == PR_SET_SECUREBITS ||
	       option == PR_CAPBSET_DROP || option == PR_CAP_AMBIENT ||
	       /* Leaves a helper beside a device its ring: a new one could get none once a filter has come. */
	       (option == PR_SET_NO_NEW_PRIVS && !aif_agent.session.runtimes);
}

static bool makes_way(long number, const unsigned long *arg)
{
	switch (number) {
	case SYS_prctl:
		return is_of_credentials((long)(int)arg[0]);
	case SYS_capset:
	case SYS_setuid:
	case SYS_setgid:
	case SYS_setreuid:
	case SYS_setregid:
	case SYS_setresuid:
	case SYS_setresgid:
	case SYS_setgroups:
	case SYS_unshare:
	case SYS_setns:
	case SYS_landlock_restrict_self:
		return true;
	default:
		return false;
	}
}

/* True of a call after which parts of the stack, which samples read, may wait for a thread that serves them, if any does. */
static bool makes_userfaultfd(long number, const unsigned long *arg)
{
	if (number == SYS_ioctl)
		return (unsigned)arg[1] == USERFAULTFD_IOC_NEW && !(arg[2] & UFFD_USER_MODE_ONLY);
	return number == SYS_userfaultfd && !(arg[0] & UFFD_USER_MODE_ONLY);
}

static long make(aif_call_fn call, long number, const unsigned long *arg)
{
	return call(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

static long install(aif_call_fn call, long number, const unsigned long *arg, const void *filter,
		    bool is_for_all)
{
	struct aif_sandbox_install i;
	int saved = errno;
	long r;

	aif_sandbox_install_begin(&i, filter, is_for_all);
	errno = saved;
	r = make(call, number, arg);
	saved = errno;
	aif_sandbox_install_end(&i, r == 0);
	errno = saved;
	return r;
}

/* Makes one of the calls that guard_syscall.S lists. */
static long guarded(aif_call_fn call, long number, const unsigned long *arg)
{
	int option = (int)arg[0], saved = errno;
	bool left, forbids_clock;
	long r;

	if (aif_own_signal_call(call, number, arg, &r))
		return r;
	if (number == SYS_prctl && option == PR_SET_SECCOMP)
		return install(call, number, arg,
			       arg[1] == SECCOMP_MODE_FILTER ? (const void *)arg[2] : NULL, false);
#ifdef SYS_seccomp
	if (number == SYS_seccomp && option == SECCOMP_SET_MODE_FILTER)
		return install(call, number, arg, (const void *)arg[2],
			       arg[1] & SECCOMP_FILTER_FLAG_TSYNC);
	if (number == SYS_seccomp && option == SECCOMP_SET_MODE_STRICT)
		return install(call, number, arg, NULL, false);
#endif
	if (number == SYS_prctl && option == PR_SET_NO_NEW_PRIVS) {
		aif_sandbox_expect();
		errno = saved;
	}
	forbids_clock = number == SYS_prctl && option == PR_SET_TSC && arg[1] == PR_TSC_SIGSEGV;
	if (forbids_clock)
		atomic_store(&aif_clock_by_call, true);
	/* The handler of CPU samples reads the clock, and its return is a system call. */
	if (forbids_clock ||
	    (number == SYS_prctl && option == PR_SET_SYSCALL_USER_DISPATCH && arg[1]))
		aif_cpu_leave_signal(&aif_agent.cpu, true);
	if (makes_userfaultfd(number, arg))
		aif_cpu_leave_signal(&aif_agent.cpu, true);
	left = makes_way(number, arg) && (number == SYS_prctl && option == PR_SET_NO_NEW_PRIVS
						  ? aif_own_threads_leave_within(NO_NEW_PRIVS_NS)
						  : aif_own_threads_leave());
	r = make(call, number, arg);
	return_threads(left);
	return r;
}

static aif_call_fn real_syscall(void)
{
	static _Atomic(void *) next;

	return (aif_call_fn)aif_next_function_once(&next, "syscall");
}

AIF_PUBLIC int prctl(int option, ...);
int prctl(int option, ...)
{
	unsigned long arg[6] = {(unsigned long)option};
	aif_call_fn call = real_syscall();
	va_list list;

	va_start(list, option);
	for (unsigned i = 1; i < 5; i++)
		arg[i] = va_arg(list, unsigned long);
	va_end(list);
	if (!call) {
		errno = ENOSYS;
		return -1;
	}
	return (int)guarded(call, SYS_prctl, arg);
}

/* Goes on to the C library's by a jump, but for the one request by which /dev/userfaultfd makes a descriptor. */
AIF_PUBLIC int guard_ioctl(int fd, unsigned long request, void *arg) __asm__("ioctl");
int guard_ioctl(int fd, unsigned long request, void *arg)
{
	static _Atomic(void *) next;
	int (*real)(int, unsigned long, ...) =
		(int (*)(int, unsigned long, ...))aif_next_function_once(&next, "ioctl");
	unsigned long args[6] = {(unsigned long)fd, request, (uintptr_t)arg};

	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	if (makes_userfaultfd(SYS_ioctl, args)) {
		int saved = errno;

		aif_cpu_leave_signal(&aif_agent.cpu, true);
		errno = saved;
	}
	return real(fd, request, arg);
}

/* For guard_syscall.S: where syscall() goes with one of these numbers, and with any other one once the C library's is
 * known. */
aif_call_fn aif_guard_syscall_next;
long aif_guard_syscall(long number, unsigned long a, unsigned long b, unsigned long c,
		       unsigned long d, unsigned long e, unsigned long f);
long aif_guard_syscall(long number, unsigned long a, unsigned long b, unsigned long c,
		       unsigned long d, unsigned long e, unsigned long f)
{
	const unsigned long arg[] = {a, b, c, d, e, f};
	aif_call_fn call = real_syscall();

	if (!call) {
		errno = ENOSYS;
		return -1;
	}
	__atomic_store_n(&aif_guard_syscall_next, call, __ATOMIC_RELAXED);
	return guarded(call, number, arg);
}
