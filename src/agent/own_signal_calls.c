/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/own_signal.h"

#include "agent/agent.h"
#include "agent/alternate.h"
#include "agent/cpu_buffer.h"
#include "agent/sandbox.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/*
 * The calls of own_signal.c, made by number through syscall(), as libraries do that have their own wrappers. What the program
 * points to may be anywhere: it is read by the kernel.
 */

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#define OURS     AIF_SHM_CPU_SIGNAL
#define OURS_BIT (UINT64_C(1) << (OURS - 1))

/* Layout of the kernel. */
struct kernel_action {
	void *handler;
	unsigned long flags;
#ifdef SA_RESTORER
	void *restorer;
#elif defined(__x86_64__)
	void *restorer;
#endif
	uint64_t mask;
};

/* Copies n bytes of the program's. */
static bool fetch(unsigned long from, void *to, size_t n)
{
	struct iovec local = {to, n};
	struct iovec remote = {(void *)from, n}; /* NOLINT(performance-no-int-to-ptr) */

	return from && syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0) == (long)n;
}

/* True if the program's mask at `at` has our signal: `with`, or has it not. */
static bool is_mask(unsigned long at, bool with)
{
	uint64_t mask;

	return fetch(at, &mask, sizeof(mask)) && !(mask & OURS_BIT) == !with;
}

static bool is_set(const struct kernel_action *a)
{
	return a->handler != (void *)SIG_DFL && a->handler != (void *)SIG_IGN;
}

static long make(aif_call_fn call, long number, const unsigned long *arg)
{
	return call(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* Shows the default where our handler is set. */
static void hide(unsigned long at)
{
	struct kernel_action a;

	if (fetch(at, &a, sizeof(a)) && a.handler == (void *)aif_cpu_on_signal)
		memset((void *)at, 0, sizeof(a)); /* NOLINT(performance-no-int-to-ptr) */
}

static long set_action(aif_call_fn call, const unsigned long *arg)
{
	unsigned long changed[6];
	struct kernel_action a;
	bool is_read = fetch(arg[1], &a, sizeof(a));
	long r;

	if (is_read && is_set(&a) && (a.flags & SA_ONSTACK))
		aif_alternate_leave();
	if (arg[0] != OURS || !aif_own_signal_is_used())
		return make(call, SYS_rt_sigaction, arg);
	memcpy(changed, arg, sizeof(changed));
	if (is_read && a.handler != (void *)SIG_DFL && getpid() == atomic_load(&aif_agent.own.pid))
		aif_cpu_leave_signal(&aif_agent.cpu);
	else if (is_read && !atomic_load(&aif_agent.cpu.is_watched))
		changed[1] = 0; /* the default does what ours does */
	r = make(call, SYS_rt_sigaction, changed);
	if (r == 0)
		hide(arg[2]);
	return r;
}

static long wait_for(aif_call_fn call, const unsigned long *arg)
{
	unsigned long changed[6];
	struct timespec left = {0};
	siginfo_t info;
	uint64_t until;
	long r;

	memcpy(changed, arg, sizeof(changed));
	if (!arg[1])
		changed[1] = (unsigned long)&info;
	if (arg[2] && !fetch(arg[2], &left, sizeof(left)))
		return make(call, SYS_rt_sigtimedwait, arg);
	until = aif_now_ns() + (uint64_t)left.tv_nsec;
	for (;;) {
		uint64_t now;

		r = make(call, SYS_rt_sigtimedwait, changed);
		if (r != OURS ||
		    !aif_own_signal_is_ours((const siginfo_t *)changed[1])) /* NOLINT */
			return r;
		if (!arg[2])
			continue;
		/* The whole seconds are counted once: a wait that is cut short by ours may last for less than one longer. */
		now = aif_now_ns();
		while (now >= until + AIF_NS_PER_S && left.tv_sec > 0) {
			left.tv_sec--;
			until += AIF_NS_PER_S;
		}
		left.tv_nsec = now < until ? (long)((until - now) % AIF_NS_PER_S) : 0;
		changed[2] = (unsigned long)&left;
	}
}

/* Returns where the mask is that a call lets signals through by; 0: it has none. */
static unsigned long mask_of(long number, const unsigned long *arg)
{
	unsigned long at = 0;

	switch (number) {
	case SYS_rt_sigsuspend:
		return arg[0];
	case SYS_ppoll:
		return arg[3];
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		return arg[4];
	case SYS_pselect6:
		return fetch(arg[5], &at, sizeof(at)) ? at : 0;
	default:
		return 0;
	}
}

bool aif_own_signal_call(aif_call_fn call, long number, const unsigned long *arg, long *ret)
{
	if (number == SYS_sigaltstack) {
		*ret = aif_alternate_set((const stack_t *)arg[0], (stack_t *)arg[1]); /* NOLINT */
		return true;
	}
	if (aif_sandbox_may_be_on())
		return false;
	if (number == SYS_rt_sigaction &&
	    (!atomic_load(&aif_agent.cpu.keeps_alternate) || arg[0] == OURS)) {
		*ret = set_action(call, arg);
		return true;
	}
	if (!aif_own_signal_is_used())
		return false;
	switch (number) {
	case SYS_rt_sigpending:
		if (make(call, number, arg) == 0 && is_mask(arg[0], true))
			aif_own_signal_take();
		return false;
	case SYS_rt_sigtimedwait:
		if (!is_mask(arg[0], true))
			return false;
		*ret = wait_for(call, arg);
		return true;
#ifdef SYS_signalfd
	case SYS_signalfd:
#endif
	case SYS_signalfd4:
		if (is_mask(arg[1], true))
			aif_cpu_leave_signal(&aif_agent.cpu);
		return false;
	default:
		if (mask_of(number, arg) && is_mask(mask_of(number, arg), false))
			aif_own_signal_take();
		return false;
	}
}
