/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"
#include "agent/alternate.h"
#include "agent/cpu_buffer.h"
#include "agent/own_signal.h"
#include "agent/sandbox.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/*
 * The calls of own_signal.c, made by number through syscall(), as libraries do that have their own wrappers. What the
 * program points to may be anywhere: the kernel reads it.
 */

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#define OURS     AIF_SHM_CPU_SIGNAL
#define OURS_BIT (UINT64_C(1) << (OURS - 1))

/* Layout of the kernel's, on x86-64 and aarch64. */
struct action {
	void *handler;
	unsigned long flags;
	void *restorer;
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

static long make(aif_call_fn call, long number, const unsigned long *arg)
{
	return call(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

static bool is_ours(const struct action *a)
{
	return a->handler == (void *)aif_cpu_on_signal;
}

static struct sigaction librarys(const struct action *a)
{
	return (struct sigaction){.sa_sigaction = (void (*)(int, siginfo_t *, void *))a->handler,
				  .sa_flags = (int)a->flags};
}

/* Replaces the handler and its flags, and leaves flags alone that the C library has no room for. */
static void put(struct action *a, const struct sigaction *from)
{
	a->handler = (void *)from->sa_sigaction;
	a->flags = (a->flags & ~(unsigned long)UINT32_MAX) | (uint32_t)from->sa_flags;
}

/* Shows what the program has set. */
static void show(struct action *a)
{
	struct sigaction sa;

	if (is_ours(a)) {
		memset(a, 0, sizeof(*a));
		return;
	}
	sa = librarys(a);
	aif_forward_unwrap(&sa);
	put(a, &sa);
}

static long set_action(aif_call_fn call, const unsigned long *arg)
{
	unsigned long changed[6];
	struct action now, to;
	struct sigaction sa;
	bool was_ours;
	long r;

	/* The kernel refuses other sizes, and what it cannot read. */
	if (arg[3] != sizeof(to.mask) || (arg[1] && !fetch(arg[1], &to, sizeof(to)))) {
		/* A filter may forbid to look: nothing is known of the handler then. */
		if (arg[3] == sizeof(to.mask) && errno != EFAULT)
			aif_cpu_leave_signal(&aif_agent.cpu, true);
		return make(call, SYS_rt_sigaction, arg);
	}
	memcpy(changed, arg, sizeof(changed));
	changed[1] = 0;
	changed[2] = (unsigned long)&now;
	r = make(call, SYS_rt_sigaction, changed);
	if (r < 0)
		return r;
	was_ours = is_ours(&now);
	show(&now); /* before the entry is another's */
	if (arg[1] && (!was_ours || to.handler != (void *)SIG_DFL)) {
		sa = librarys(&to);
		aif_forward_wrap(&sa);
		put(&to, &sa);
		if (was_ours && getpid() == atomic_load(&aif_agent.own.pid))
			aif_cpu_leave_signal(&aif_agent.cpu, false);
		changed[1] = (unsigned long)&to;
	}
	changed[2] = arg[2];
	r = make(call, SYS_rt_sigaction, changed);
	if (r == 0 && arg[2])
		*(struct action *)arg[2] = now; /* NOLINT(performance-no-int-to-ptr) */
	return r;
}

static long wait_for(aif_call_fn call, const unsigned long *arg)
{
	const siginfo_t *taken = (const siginfo_t *)arg[1]; /* NOLINT(performance-no-int-to-ptr) */
	unsigned long changed[6];
	struct timespec time, left;
	uint64_t began = aif_now_ns();
	siginfo_t info;
	long r;

	memcpy(changed, arg, sizeof(changed));
	if (!taken) {
		taken = &info;
		changed[1] = (unsigned long)&info;
	}
	if (arg[2] && !fetch(arg[2], &time, sizeof(time)))
		return make(call, SYS_rt_sigtimedwait, arg);
	for (;;) {
		r = make(call, SYS_rt_sigtimedwait, changed);
		if (r != OURS || !aif_own_signal_is_ours(taken))
			return r;
		if (!arg[2])
			continue;
		left = aif_own_signal_time_left(&time, began);
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

/* Makes the call, or does what is to be done before it. */
static bool make_or_prepare(aif_call_fn call, long number, const unsigned long *arg, long *ret)
{
	unsigned long mask;

	switch (number) {
	case SYS_rt_sigaction:
		if (arg[0] != OURS)
			return false;
		*ret = set_action(call, arg);
		return true;
	case SYS_rt_sigtimedwait:
		if (!is_mask(arg[0], true))
			return false;
		*ret = wait_for(call, arg);
		return true;
	case SYS_rt_sigpending:
		if (make(call, number, arg) == 0 && is_mask(arg[0], true))
			aif_own_signal_take();
		return false;
#ifdef SYS_signalfd
	case SYS_signalfd:
#endif
	case SYS_signalfd4:
		if (is_mask(arg[1], true))
			aif_cpu_leave_signal(&aif_agent.cpu, true);
		return false;
	default:
		mask = mask_of(number, arg);
		if (mask && is_mask(mask, false))
			aif_own_signal_take();
		return false;
	}
}

static long set_alternate(aif_call_fn call, const unsigned long *arg)
{
	bool is_judged = aif_alternate_before(arg[0]);
	long r = make(call, SYS_sigaltstack, arg);

	if (r == 0 && !is_judged)
		aif_alternate_after(
			(const stack_t *)arg[0]); /* NOLINT(performance-no-int-to-ptr) */
	return r;
}

bool aif_own_signal_call(aif_call_fn call, long number, const unsigned long *arg, long *ret)
{
	int saved = errno;
	bool is_made;

	if (number == SYS_sigaltstack) {
		*ret = set_alternate(call, arg);
		return true;
	}
	if (!aif_own_signal_is_used() || aif_sandbox_may_be_on()) {
		errno = saved;
		return false;
	}
	is_made = make_or_prepare(call, number, arg, ret);
	if (!is_made || *ret >= 0)
		errno = saved;
	return is_made;
}
