/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/stop.h"

#include "base/clock.h"
#include "base/proc.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A thread that runs stops within microseconds; on a machine with more busy threads than CPUs, when it gets one: until
 * then it does not stand, it waits as it would without us. */
#define WAIT_NS (2 * AIF_NS_PER_S)
/* Sleeps between two looks: shorter ones take the CPU that the thread needs to come to its stop. */
#define LOOK_NS 20000

bool aif_remote_call_parse(const char *text, struct aif_remote_call *ret)
{
	struct aif_remote_call call = {0};
	char *end;

	call.number = strtol(text, &end, 10);
	if (end == text || call.number < -1 || *end != ' ')
		return false;
	for (unsigned i = 0; i < (call.number < 0 ? 2 : 8); i++) {
		uint64_t v;

		text = end;
		v = strtoull(text, &end, 16);
		if (end == text)
			return false;
		if (call.number >= 0 && i < AIF_ARRAY_LEN(call.args))
			call.args[i] = v;
		else if (i == (call.number < 0 ? 0 : 6))
			call.sp = v;
		else
			call.pc = v;
	}
	*ret = call;
	return true;
}

int aif_remote_call_read(int pid, int tid, struct aif_remote_call *ret)
{
	char path[64], text[256];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	n = aif_proc_read(path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	return aif_remote_call_parse(text, ret);
}

/* Calls of signal(7) that fail with EINTR after a stop, though no signal has a handler; those with a timeout of a socket cannot be
 * told from the others. */
bool aif_remote_call_restarts(long number)
{
	switch (number) {
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
#ifdef SYS_io_pgetevents
	case SYS_io_pgetevents:
#endif
#ifdef SYS_io_uring_enter
	case SYS_io_uring_enter:
#endif
	case SYS_accept4:
	case SYS_accept:
	case SYS_connect:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
		return false;
	default:
		return true;
	}
}

bool aif_remote_switches(int pid, int tid, uint64_t *ret)
{
	static const char voluntary[] = "\nvoluntary_ctxt_switches:",
			  other[] = "\nnonvoluntary_ctxt_switches:";
	char path[64], text[8192];
	const char *a, *b;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	if (aif_proc_read(path, text, sizeof(text)) < 0)
		return false;
	a = strstr(text, voluntary);
	b = strstr(text, other);
	if (!a || !b)
		return false;
	*ret = strtoull(a + strlen(voluntary), NULL, 10) + strtoull(b + strlen(other), NULL, 10);
	return true;
}

/* ---- ptrace ---- */

struct stop {
	int tid, error;
	void (*seen)(void *arg, const struct aif_remote_regs *regs);
	void *arg;
	uint64_t ns;
};

static bool read_regs(int tid, struct aif_remote_regs *ret)
{
	struct user_regs_struct r;
	struct iovec at = {&r, sizeof(r)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &at) < 0 || at.iov_len < sizeof(r))
		return false;
	*ret = (struct aif_remote_regs){.knows_more = true};
#if defined(__x86_64__)
	ret->regs = (struct aif_regs){r.rip, r.rsp, r.rbp};
	ret->more = (struct aif_regs_more){r.r10, r.r11, r.r13, r.rbx};
	return (r.cs & 0xffff) == 0x33; /* 64-bit code */
#else
	ret->regs = (struct aif_regs){r.pc, r.sp, r.regs[29]};
	ret->more = (struct aif_regs_more){r.regs[30]};
	return true;
#endif
}

#if defined(__x86_64__)
/* True if a signal waits for the thread. */
static bool has_signal(int tid)
{
	static const char *const names[] = {"\nSigPnd:", "\nShdPnd:"};
	char path[64], text[8192];

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (aif_proc_read(path, text, sizeof(text)) < 0)
		return true;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(names); i++) {
		const char *at = strstr(text, names[i]);

		if (!at || strtoull(at + strlen(names[i]), NULL, 16))
			return true;
	}
	return false;
}
#endif

/* A thread that ran may have entered such a call as the stop came: the call is made again, as the kernel does itself with those that
 * restart. */
static void restart_call(int tid)
{
#if defined(__x86_64__)
	struct user_regs_struct r;
	struct iovec at = {&r, sizeof(r)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &at) < 0 || at.iov_len < sizeof(r) ||
	    (long)r.rax != -EINTR || (long)r.orig_rax < 0 ||
	    aif_remote_call_restarts((long)r.orig_rax) || has_signal(tid))
		return;
	r.rax = r.orig_rax;
	r.rip -= 2; /* `syscall` */
	ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &at);
#else
	(void)tid;
#endif
}

/* Waits for the stop. 0, and *ret_signal is what the thread gets when it goes on. */
static int wait_for_stop(int tid, int *ret_signal, uint64_t *ret_running_ns)
{
	uint64_t start = aif_now_ns(), now = start;
	int status;

	for (;;) {
		pid_t r = waitpid(tid, &status, __WALL | __WNOTHREAD | WNOHANG);

		if (r == tid)
			break;
		if (r < 0)
			return -errno;
		*ret_running_ns = now;
		now = aif_now_ns();
		if (now - start > WAIT_NS)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
	}
	if (!WIFSTOPPED(status))
		return -ESRCH;
	/* A signal may have come first: it is passed on. */
	*ret_signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
	return 0;
}

static void *stop_thread(void *arg)
{
	struct aif_remote_regs regs;
	struct stop *s = arg;
	uint64_t running;
	int signal = 0;

	/* Runs before other programs while the thread stands, if it may: root may. */
	pthread_setschedparam(pthread_self(), SCHED_FIFO,
			      &(struct sched_param){.sched_priority = 1});
	prctl(PR_SET_TIMERSLACK, 1);
	if (ptrace(PTRACE_SEIZE, s->tid, NULL, NULL) < 0) {
		s->error = -errno;
		return NULL;
	}
	running = aif_now_ns();
	if (ptrace(PTRACE_INTERRUPT, s->tid, NULL, NULL) < 0) {
		s->error = -errno;
		return NULL;
	}
	s->error = wait_for_stop(s->tid, &signal, &running);
	if (s->error < 0)
		return NULL; /* the kernel takes the attempt back when this thread ends */
	if (read_regs(s->tid, &regs))
		s->seen(s->arg, &regs);
	else
		s->error = -ENOTSUP;
	if (!signal)
		restart_call(s->tid);
	ptrace(PTRACE_DETACH, s->tid, NULL, (void *)(intptr_t)signal);
	s->ns = aif_now_ns() - running;
	return NULL;
}

int aif_remote_stop(int tid, void (*seen)(void *arg, const struct aif_remote_regs *regs), void *arg,
		    uint64_t *ret_ns)
{
	struct stop s = {.tid = tid, .seen = seen, .arg = arg};
	pthread_t thread;
	int r;

	/* A thread of its own, since what it traces is free when it ends, whatever state that is in. */
	r = pthread_create(&thread, NULL, stop_thread, &s);
	if (r)
		return -r;
	pthread_join(thread, NULL);
	*ret_ns = s.ns;
	return s.error;
}
