/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/own_signal.h"

#include "agent/agent.h"
#include "agent/cpu_buffer.h"
#include "agent/forward.h"
#include "agent/next_function.h"
#include "agent/sandbox.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#define OURS AIF_SHM_CPU_SIGNAL

void *aif_own_signal_mark(void)
{
	return &aif_agent.cpu;
}

bool aif_own_signal_is_ours(const siginfo_t *info)
{
	if (info->si_signo != OURS)
		return false;
	/* A perf_event has no mark. The kernel's own SIGURG has another code. One may have waited in a thread since before the
	 * recorder closed its events. */
	return info->si_code == POLL_IN ||
	       (info->si_code == SI_TIMER && info->si_ptr == aif_own_signal_mark());
}

bool aif_own_signal_is_used(void)
{
	return atomic_load_explicit(&aif_agent.cpu.installed, memory_order_relaxed);
}

static bool has(const sigset_t *set)
{
	return set && sigismember(set, OURS) == 1;
}

/* Puts another's signal back where it came from: the process's, or this thread's. The kernel takes what kill() has sent
 * with its sender from the main thread alone: from others it comes without. */
static void put_back(siginfo_t *info)
{
	int pid = getpid();

	if (info->si_code == SI_TKILL)
		syscall(SYS_rt_tgsigqueueinfo, pid, (pid_t)syscall(SYS_gettid), OURS, info);
	else if (syscall(SYS_rt_sigqueueinfo, pid, OURS, info) < 0)
		kill(pid, OURS);
}

void aif_own_signal_take(void)
{
	const uint64_t set = UINT64_C(1) << (OURS - 1);
	const struct timespec none = {0};
	int saved = errno;
	siginfo_t info;

	if (!aif_own_signal_is_used() || aif_sandbox_may_be_on())
		return;
	/* The thread's own comes before the process's. */
	while (syscall(SYS_rt_sigtimedwait, &set, &info, &none, sizeof(set)) == OURS)
		if (!aif_own_signal_is_ours(&info)) {
			put_back(&info);
			break;
		}
	errno = saved;
}

static void *next_function(_Atomic(void *) *next, const char *name)
{
	void *found = atomic_load_explicit(next, memory_order_relaxed);

	if (!found) {
		found = aif_next_function(name);
		atomic_store_explicit(next, found, memory_order_relaxed);
	}
	if (!found)
		errno = ENOSYS;
	return found;
}

/* Makes a function everybody's, and defines next_NAME(), which returns what it stands in front of. */
#define STANDS_BEFORE(name)                                             \
	AIF_PUBLIC __typeof__(name) name;                               \
	static __typeof__(name) *next_##name(void)                      \
	{                                                               \
		static _Atomic(void *) next;                            \
                                                                        \
		return (__typeof__(name) *)next_function(&next, #name); \
	}

/* ---- functions that show what waits, or take it -------------------------------------------------- */

STANDS_BEFORE(sigpending)
int sigpending(sigset_t *set)
{
	__typeof__(sigpending) *real = next_sigpending();
	int r;

	if (!real)
		return -1;
	r = real(set);
	if (r < 0 || !aif_own_signal_is_used() || !has(set))
		return r;
	aif_own_signal_take();
	return real(set);
}

struct timespec aif_own_signal_time_left(const struct timespec *time, uint64_t began)
{
	uint64_t gone = aif_now_ns() - began;
	struct timespec left = {.tv_sec = time->tv_sec - (time_t)(gone / AIF_NS_PER_S),
				.tv_nsec = time->tv_nsec - (long)(gone % AIF_NS_PER_S)};

	if (left.tv_nsec < 0) {
		left.tv_nsec += (long)AIF_NS_PER_S;
		left.tv_sec--;
	}
	return left.tv_sec < 0 ? (struct timespec){0} : left;
}

STANDS_BEFORE(sigtimedwait)

/* Waits like sigtimedwait(), and never returns a signal of ours. */
static int wait_for(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	__typeof__(sigtimedwait) *real = next_sigtimedwait();
	struct timespec left;
	siginfo_t taken;
	uint64_t began;
	int r;

	if (!real)
		return -1;
	if (!aif_own_signal_is_used() || !has(set))
		return real(set, info, timeout);
	began = aif_now_ns();
	r = real(set, &taken, timeout);
	while (r == OURS && aif_own_signal_is_ours(&taken)) {
		if (timeout)
			left = aif_own_signal_time_left(timeout, began);
		r = real(set, &taken, timeout ? &left : NULL);
	}
	if (r > 0 && info)
		*info = taken;
	return r;
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	return wait_for(set, info, timeout);
}

AIF_PUBLIC __typeof__(sigwaitinfo) sigwaitinfo;
int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return wait_for(set, info, NULL);
}

STANDS_BEFORE(sigwait)
int sigwait(const sigset_t *set, int *ret_signal)
{
	__typeof__(sigwait) *real = next_sigwait();
	int saved = errno, r;

	if (!real)
		return ENOSYS;
	if (!aif_own_signal_is_used() || !has(set))
		return real(set, ret_signal);
	do
		r = wait_for(set, NULL, NULL);
	while (r < 0 && errno == EINTR);
	if (r > 0)
		*ret_signal = r;
	r = r < 0 ? errno : 0;
	errno = saved;
	return r;
}

STANDS_BEFORE(signalfd)
int signalfd(int fd, const sigset_t *set, int flags)
{
	__typeof__(signalfd) *real = next_signalfd();

	if (!real)
		return -1;
	if (has(set))
		aif_cpu_leave_signal(&aif_agent.cpu, true);
	return real(fd, set, flags);
}

/* ---- functions that set or show what it does ----------------------------------------------------- */

STANDS_BEFORE(sigaction)

int aif_own_signal_action(const struct sigaction *act, struct sigaction *ret_old)
{
	__typeof__(sigaction) *real = next_sigaction();

	return real ? real(OURS, act, ret_old) : -1;
}

static bool is_handler_of_ours(const struct sigaction *sa)
{
	return (sa->sa_flags & SA_SIGINFO) && sa->sa_sigaction == aif_cpu_on_signal;
}

static bool is_default(const struct sigaction *sa)
{
	return !(sa->sa_flags & SA_SIGINFO) && sa->sa_handler == SIG_DFL;
}

/* Shows what the program has set. */
static void show(struct sigaction *sa)
{
	if (is_handler_of_ours(sa))
		*sa = (struct sigaction){.sa_handler = SIG_DFL};
	aif_forward_unwrap(sa);
}

/* Lets our handler be where the default is set, which has the same effect on the program, and puts an entry of ours before
 * the program's handlers. */
int sigaction(int signal, const struct sigaction *act, struct sigaction *old)
{
	__typeof__(sigaction) *real = next_sigaction();
	struct sigaction now, shown, to;
	int r;

	if (!real)
		return -1;
	if (signal != OURS || !aif_own_signal_is_used())
		return real(signal, act, old);
	r = real(signal, NULL, &now);
	if (r < 0)
		return r;
	/* Before the entry is another's, and the default that nobody has set has flags of the C library's. */
	shown = now;
	show(&shown);
	if (act && (!is_handler_of_ours(&now) || !is_default(act))) {
		to = *act;
		aif_forward_wrap(&to);
		/* A child of vfork() shares this memory, and its parent's threads go on. */
		if (is_handler_of_ours(&now) && getpid() == atomic_load(&aif_agent.own.pid))
			aif_cpu_leave_signal(&aif_agent.cpu, false);
		r = real(signal, &to, NULL);
	}
	if (old && r == 0)
		*old = shown;
	return r;
}

/* Sets the handler of our signal by sigaction(). Returns the one before, or SIG_ERR. */
static __sighandler_t set_handler(__sighandler_t handler, int flags, bool blocks)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = flags}, old;

	sigemptyset(&sa.sa_mask);
	if (blocks)
		sigaddset(&sa.sa_mask, OURS);
	return sigaction(OURS, &sa, &old) < 0 ? SIG_ERR : old.sa_handler;
}

/* Set by siginterrupt(): handlers that signal() sets interrupt system calls. */
static int restarts(void)
{
	return atomic_load(&aif_agent.cpu.interrupts) ? 0 : SA_RESTART;
}

/* Defines a function that sets the handler of a signal with these flags. */
#define SETS_HANDLER(name, flags, blocks)                                                    \
	AIF_PUBLIC __sighandler_t name(int number, __sighandler_t handler);                  \
	__sighandler_t name(int number, __sighandler_t handler)                              \
	{                                                                                    \
		static _Atomic(void *) next;                                                 \
		__sighandler_t (*real)(int, __sighandler_t) =                                \
			(__sighandler_t(*)(int, __sighandler_t))next_function(&next, #name); \
                                                                                             \
		if (!real)                                                                   \
			return SIG_ERR;                                                      \
		/* SIG_ERR is refused, as is a number that is none. */                       \
		if (number != OURS || handler == SIG_ERR || !aif_own_signal_is_used())       \
			return real(number, handler);                                        \
		return set_handler(handler, flags, blocks);                                  \
	}

SETS_HANDLER(signal, restarts(), true)
SETS_HANDLER(ssignal, restarts(), true)
SETS_HANDLER(bsd_signal, restarts(), true)
/* Also signal() of programs that are compiled for X/Open or for C alone. */
SETS_HANDLER(sysv_signal, SA_RESETHAND | SA_NODEFER, false)
SETS_HANDLER(__sysv_signal, SA_RESETHAND | SA_NODEFER, false)

/* Sets a handler and unblocks the signal, or blocks it (SIG_HOLD). Returns what was so before, as sigset() does. */
static __sighandler_t set_or_hold(__sighandler_t handler)
{
	bool holds = handler == SIG_HOLD;
	sigset_t ours, old;
	struct sigaction sa;
	__sighandler_t before = SIG_DFL;

	if (!holds)
		before = set_handler(handler, 0, false);
	sigemptyset(&ours);
	sigaddset(&ours, OURS);
	if (before == SIG_ERR || sigprocmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &ours, &old) < 0)
		return SIG_ERR;
	if (has(&old))
		return SIG_HOLD;
	if (!holds)
		return before;
	return sigaction(OURS, NULL, &sa) < 0 ? SIG_ERR : sa.sa_handler;
}

AIF_PUBLIC __sighandler_t sigset(int number, __sighandler_t handler);
__sighandler_t sigset(int number, __sighandler_t handler)
{
	static _Atomic(void *) next;
	__sighandler_t (*real)(int, __sighandler_t) =
		(__sighandler_t(*)(int, __sighandler_t))next_function(&next, "sigset");

	if (!real)
		return SIG_ERR;
	return number == OURS && aif_own_signal_is_used() ? set_or_hold(handler)
							  : real(number, handler);
}

AIF_PUBLIC int sigignore(int number);
int sigignore(int number)
{
	static _Atomic(void *) next;
	int (*real)(int) = (int (*)(int))next_function(&next, "sigignore");

	if (!real)
		return -1;
	if (number != OURS || !aif_own_signal_is_used())
		return real(number);
	return set_handler(SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
}

/* Leaves the agent's handler as it is: it interrupts no call. */
AIF_PUBLIC int siginterrupt(int number, int interrupts);
int siginterrupt(int number, int interrupts)
{
	static _Atomic(void *) next;
	int (*real)(int, int) = (int (*)(int, int))next_function(&next, "siginterrupt");
	struct sigaction now;

	if (!real)
		return -1;
	if (number == OURS)
		atomic_store(&aif_agent.cpu.interrupts, interrupts);
	if (number != OURS || !aif_own_signal_is_used() || aif_own_signal_action(NULL, &now) < 0 ||
	    !is_handler_of_ours(&now))
		return real(number, interrupts);
	return 0;
}

/* ---- functions that let it come, which would interrupt them -------------------------------------- */

/* Takes ours away where a call with the mask `set` would let it come. */
static void take_before(const sigset_t *set)
{
	if (set && !has(set))
		aif_own_signal_take();
}

STANDS_BEFORE(sigsuspend)
int sigsuspend(const sigset_t *set)
{
	__typeof__(sigsuspend) *real = next_sigsuspend();

	take_before(set);
	return real ? real(set) : -1;
}

STANDS_BEFORE(ppoll)
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *set)
{
	__typeof__(ppoll) *real = next_ppoll();

	take_before(set);
	return real ? real(fds, n, timeout, set) : -1;
}

STANDS_BEFORE(pselect)
int pselect(int n, fd_set *in, fd_set *out, fd_set *errors, const struct timespec *timeout,
	    const sigset_t *set)
{
	__typeof__(pselect) *real = next_pselect();

	take_before(set);
	return real ? real(n, in, out, errors, timeout, set) : -1;
}

STANDS_BEFORE(epoll_pwait)
int epoll_pwait(int fd, struct epoll_event *events, int n, int timeout, const sigset_t *set)
{
	__typeof__(epoll_pwait) *real = next_epoll_pwait();

	take_before(set);
	return real ? real(fd, events, n, timeout, set) : -1;
}

/* The C library has it since 2.35. */
AIF_PUBLIC int epoll_pwait2(int fd, struct epoll_event *events, int n,
			    const struct timespec *timeout, const sigset_t *set);
int epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *timeout,
		 const sigset_t *set)
{
	static _Atomic(void *) next;
	__typeof__(epoll_pwait2) *real = (__typeof__(real))next_function(&next, "epoll_pwait2");

	take_before(set);
	return real ? real(fd, events, n, timeout, set)
		    : (int)syscall(SYS_epoll_pwait2, fd, events, n, timeout, set, NSIG / 8);
}

/* ---- functions behind which another program finds what waits ------------------------------------- */

static void leave_none(void)
{
	if (!aif_own_signal_is_used() || aif_sandbox_may_be_on())
		return;
	aif_cpu_hold_timer(&aif_agent.cpu, true);
	aif_own_signal_take();
}

/* The thread goes on. */
static int failed(int r)
{
	if (aif_own_signal_is_used() && !aif_sandbox_may_be_on())
		aif_cpu_hold_timer(&aif_agent.cpu, false);
	return r;
}

/* Defines a function that becomes another program. The C library's call one another without us. */
#define BECOMES(name, parameters, arguments)               \
	STANDS_BEFORE(name)                                \
	int name parameters                                \
	{                                                  \
		__typeof__(name) *real = next_##name();    \
                                                           \
		leave_none();                              \
		return failed(real ? real arguments : -1); \
	}

BECOMES(execve, (const char *path, char *const *argv, char *const *env), (path, argv, env))
BECOMES(execv, (const char *path, char *const *argv), (path, argv))
BECOMES(execvp, (const char *file, char *const *argv), (file, argv))
BECOMES(execvpe, (const char *file, char *const *argv, char *const *env), (file, argv, env))
BECOMES(fexecve, (int fd, char *const *argv, char *const *env), (fd, argv, env))

/* The C library has it since 2.34. */
AIF_PUBLIC int execveat(int dir, const char *path, char *const *argv, char *const *env, int flags);
int execveat(int dir, const char *path, char *const *argv, char *const *env, int flags)
{
	static _Atomic(void *) next;
	__typeof__(execveat) *real = (__typeof__(real))next_function(&next, "execveat");

	leave_none();
	return failed(real ? real(dir, path, argv, env, flags)
			   : (int)syscall(SYS_execveat, dir, path, argv, env, flags));
}

/* Defines a function that has the arguments of another program among its own. Like the C library's it may be called where
 * nothing may be allocated: they are listed on the stack. `list` goes on behind them. */
#define LISTS(name, becomes)                                      \
	AIF_PUBLIC __typeof__(name) name;                         \
	int name(const char *path, const char *first, ...)        \
	{                                                         \
		va_list list, again;                              \
		char **argv;                                      \
		size_t n = 1;                                     \
		int r;                                            \
                                                                  \
		va_start(list, first);                            \
		va_copy(again, list);                             \
		while (va_arg(list, const char *))                \
			n++;                                      \
		argv = __builtin_alloca((n + 1) * sizeof(*argv)); \
		argv[0] = (char *)first;                          \
		for (size_t i = 1; i <= n; i++)                   \
			argv[i] = va_arg(again, char *);          \
		r = becomes;                                      \
		va_end(again);                                    \
		va_end(list);                                     \
		return r;                                         \
	}
LISTS(execl, execv(path, argv))
LISTS(execlp, execvp(path, argv))
LISTS(execle, execve(path, argv, va_arg(list, char *const *)))
