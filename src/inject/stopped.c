/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/stopped.h"

#include "base/clock.h"
#include "base/proc.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A thread has stopped within microseconds, unless it waits for a disk, or for a processor as others do. Until then it goes
 * on. */
#define STOP_NS AIF_NS_PER_S
/* Until the thread that runs for us has stopped again; it goes on by itself before that (payload_x86_64.S). */
#define AGAIN_NS (2 * AIF_NS_PER_S)
/* A system call that makes a mapping may wait for another thread's; the thread cannot be left in it. */
#define STUCK_NS (600 * AIF_NS_PER_S)
/* A thread that has stopped wakes this process before that. */
#define NEWS_NS 10000000

#define GET_RSEQ_CONFIGURATION ((enum __ptrace_request)0x420f) /* unknown to glibc before 2.34 */
struct rseq_configuration {
	uint64_t pointer;
	uint32_t size, signature, flags, pad;
};

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

bool aif_stopped_is_fault(int sig)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(faults); i++)
		if (sig == faults[i])
			return true;
	return false;
}

uint64_t aif_stopped_all_signals(void)
{
	uint64_t all = ~UINT64_C(0);

	for (size_t i = 0; i < AIF_ARRAY_LEN(faults); i++)
		all &= ~(UINT64_C(1) << (faults[i] - 1));
	return all;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Reads the time that a thread was ready to run and waited for a processor, ns. UINT64_MAX: this kernel does not count it. */
static uint64_t delay_of(const char *path)
{
	char text[128];
	uint64_t delay;

	if (aif_proc_read(path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%*u %" SCNu64, &delay) != 1)
		return UINT64_MAX;
	return delay;
}

static uint64_t delay_of_thread(const struct aif_stopped *t)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)t->im->pid, (int)t->tid);
	return delay_of(path);
}

/* Time that this process ran or was ready to run. */
static uint64_t awake_ns(void)
{
	uint64_t delay = delay_of("/proc/self/schedstat");

	return delay == UINT64_MAX ? delay : delay + aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

#define RESET_ON_FORK 1

static int set_schedule(pid_t tid, struct aif_stopped_schedule *s)
{
	return syscall(SYS_sched_setattr, tid, s, 0) < 0 ? -errno : 0;
}

/* Has this process go first while a thread stands still for it: at root's leave before all others, else in slices of 0.1 ms, which
 * Linux 6.12 and newer take as a wish to be woken soon. */
static void hurry(bool on)
{
	struct aif_stopped_schedule s = {.size = sizeof(s), .policy = SCHED_FIFO, .priority = 2};

	static_assert(sizeof(s) == 48, "the first version of the kernel's struct sched_attr");
	if (on && set_schedule(0, &s) == 0)
		return;
	s.policy = SCHED_OTHER;
	s.priority = 0;
	s.runtime = on ? 100000 : 0;
	s.nice = getpriority(PRIO_PROCESS, 0);
	(void)set_schedule(0, &s);
}

void aif_stopped_hurry(struct aif_stopped *t)
{
	struct aif_stopped_schedule s = {
		.size = sizeof(s), .policy = SCHED_FIFO, .flags = RESET_ON_FORK, .priority = 1};

	/* A thread that one of another niceness makes would not have that. */
	t->is_hurried =
		syscall(SYS_sched_getattr, t->tid, &t->schedule, sizeof(t->schedule), 0) == 0 &&
		t->schedule.policy == SCHED_OTHER && !t->schedule.nice &&
		set_schedule(t->tid, &s) == 0;
}

/* ---- stops ----------------------------------------------------------------------------------- */

/* Waits for a moment, or until the kernel says that a thread has stopped: an injector blocks all signals. */
static void await_news(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigtimedwait(&child, NULL, &(struct timespec){.tv_nsec = NEWS_NS});
}

/* A moment at which a thread had not stopped, and awake_ns() then. */
struct going {
	uint64_t ns, awake;
};

/* Waits until the thread has stopped. 0, -ETIMEDOUT, or -ESRCH: it has ended. *ret_going: the last look before; or NULL. */
static int await_stop(struct aif_stopped *t, int *ret_status, uint64_t until,
		      struct going *ret_going)
{
	struct going now;

	for (;;) {
		pid_t r;

		if (ret_going)
			now = (struct going){aif_now_ns(), awake_ns()};
		r = waitpid(t->tid, ret_status, __WALL | WNOHANG);

		if (r < 0 || (r == t->tid && !WIFSTOPPED(*ret_status)))
			return -ESRCH;
		if (r == t->tid)
			return 0;
		if (ret_going)
			*ret_going = now;
		if (aif_now_ns() >= until)
			return -ETIMEDOUT;
		await_news();
	}
}

static bool is_event(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

int aif_stopped_get_regs(struct aif_stopped *t, struct user_regs_struct *ret)
{
	struct iovec v = {ret, sizeof(*ret)};

	return ptrace(PTRACE_GETREGSET, t->tid, NT_PRSTATUS, &v) < 0 ? -errno : 0;
}

int aif_stopped_set_regs(struct aif_stopped *t, const struct user_regs_struct *regs)
{
	struct iovec v = {(void *)(uintptr_t)regs, sizeof(*regs)};

	return ptrace(PTRACE_SETREGSET, t->tid, NT_PRSTATUS, &v) < 0 ? -errno : 0;
}

void aif_stopped_end(struct aif_stopped *t)
{
	const uint64_t delay = t->delay_ns == UINT64_MAX ? UINT64_MAX : delay_of_thread(t);

	if (t->is_hurried)
		(void)set_schedule(t->tid, &t->schedule);
	ptrace(PTRACE_DETACH, t->tid, 0, 0);
	t->time.ns = t->time.seen_ns + (aif_now_ns() - t->stopped_ns);
	if (t->late_signal)
		syscall(SYS_tgkill, t->im->pid, t->tid, t->late_signal);
	hurry(false);
	if (delay != UINT64_MAX && delay > t->delay_ns)
		t->time.waited_ns = AIF_MIN(delay - t->delay_ns, t->time.ns);
}

/* Notes that its stop has been seen. */
static void note_stop(struct aif_stopped *t, const struct going *last)
{
	const uint64_t now_awake = last->awake == UINT64_MAX ? UINT64_MAX : awake_ns();

	t->delay_ns = delay_of_thread(t);
	t->stopped_ns = aif_now_ns();
	t->time.seen_ns = t->stopped_ns - last->ns;
	if (now_awake != UINT64_MAX)
		t->time.seen_ns = AIF_MIN(t->time.seen_ns, now_awake - last->awake);
}

int aif_stopped_begin(struct aif_stopped *t, const struct aif_image *im, pid_t tid)
{
	struct going last;
	uint64_t until;
	int status, r;

	*t = (struct aif_stopped){.im = im, .tid = tid};
	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) < 0)
		return -errno;
	hurry(true);
	last = (struct going){aif_now_ns(), awake_ns()};
	until = last.ns + STOP_NS;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0) {
		r = -errno;
		hurry(false);
		return r;
	}
	for (;;) {
		r = await_stop(t, &status, until, &last);
		if (r < 0) {
			hurry(false);
			return r == -ETIMEDOUT ? -EBUSY : r;
		}
		note_stop(t, &last);
		if (is_event(status) && WSTOPSIG(status) == SIGTRAP)
			return 0;
		if (is_event(status)) { /* stopped by SIGSTOP or the like: it stays so */
			aif_stopped_end(t);
			return -EAGAIN;
		}
		/* A signal is on its way: it arrives as without us. */
		ptrace(PTRACE_CONT, tid, 0, WSTOPSIG(status));
	}
}

int aif_stopped_adopt(struct aif_stopped *t, const struct aif_image *im)
{
	const uint64_t until = aif_now_ns() + STUCK_NS;
	int status;
	pid_t tid;

	*t = (struct aif_stopped){.im = im, .ignores_traps = true};
	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) == 0) {
		if (aif_now_ns() >= until)
			return -ETIMEDOUT;
		await_news();
	}
	if (tid < 0 || !WIFSTOPPED(status))
		return -ESRCH;
	t->tid = tid;
	return aif_stopped_get_regs(t, &t->regs);
}

void aif_stopped_exit(struct aif_stopped *t, uint64_t at)
{
	struct user_regs_struct regs = t->regs;

	regs.rip = at;
	regs.rax = SYS_exit;
	regs.orig_rax = (unsigned long)-1;
	regs.rdi = 0;
	regs.eflags &= ~0x500UL;
	aif_stopped_set_regs(t, &regs);
	ptrace(PTRACE_DETACH, t->tid, 0, 0);
}

int aif_stopped_save(struct aif_stopped *t)
{
	struct iovec v = {t->xstate, sizeof(t->xstate)};

	if (ptrace(PTRACE_GETREGSET, t->tid, NT_X86_XSTATE, &v) < 0 ||
	    ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(t->mask), &t->mask) < 0)
		return -errno;
	t->xstate_len = v.iov_len;
	return 0;
}

void aif_stopped_restore(struct aif_stopped *t)
{
	struct iovec v = {t->xstate, t->xstate_len};

	ptrace(PTRACE_SETREGSET, t->tid, NT_X86_XSTATE, &v);
	ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(t->mask), &t->mask);
	aif_stopped_set_regs(t, &t->regs);
}

bool aif_stopped_has_signal(struct aif_stopped *t)
{
	unsigned long own = 0, shared = 0, blocked = 0, ignored = 0;
	const char *line;
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)t->im->pid, (int)t->tid);
	if (aif_proc_read(path, text, sizeof(text)) <= 0)
		return true;
	if ((line = strstr(text, "\nSigPnd:")) != NULL)
		sscanf(line + 8, "%lx", &own);
	if ((line = strstr(text, "\nShdPnd:")) != NULL)
		sscanf(line + 8, "%lx", &shared);
	if ((line = strstr(text, "\nSigBlk:")) != NULL)
		sscanf(line + 8, "%lx", &blocked);
	if ((line = strstr(text, "\nSigIgn:")) != NULL)
		sscanf(line + 8, "%lx", &ignored);
	t->ignores_traps = ignored >> (SIGTRAP - 1) & 1;
	return (own | shared) & ~blocked;
}

bool aif_stopped_is_in_rseq(const struct aif_stopped *t)
{
	struct rseq_configuration c = {0};
	uint64_t section = 0;

	if (ptrace(GET_RSEQ_CONFIGURATION, t->tid, sizeof(c), &c) < 0 || !c.pointer)
		return false;
	return !aif_image_read(t->im, c.pointer + 8, &section, sizeof(section)) || section;
}

/* ---- work of ours ---------------------------------------------------------------------------- */

/* Continues to the next stop of a system call. */
static int next_syscall_stop(struct aif_stopped *t)
{
	int status, r;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, t->tid, 0, 0) < 0)
			return -ESRCH;
		r = await_stop(t, &status, aif_now_ns() + STUCK_NS, NULL);
		if (r < 0)
			return r;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			return 0;
		if (!is_event(status) && aif_stopped_is_fault(WSTOPSIG(status)))
			return -EFAULT;
		if (!is_event(status)) /* all that can be blocked is */
			t->late_signal = WSTOPSIG(status);
	}
}

/* Executes the instruction `syscall` at `at`, and stops behind it: the thread has to get a processor once, where stops at
 * the call's begin and end have it wait twice. But the kernel reads that instruction, for which it waits for the lock of the memory map. */
static int step_over_syscall(struct aif_stopped *t, uint64_t at)
{
	struct user_regs_struct regs;
	int status, r;

	for (;;) {
		if (ptrace(PTRACE_SINGLESTEP, t->tid, 0, 0) < 0)
			return -ESRCH;
		r = await_stop(t, &status, aif_now_ns() + STUCK_NS, NULL);
		if (r < 0 || aif_stopped_get_regs(t, &regs) < 0)
			return -ESRCH;
		if (regs.rip != at)
			return 0;
		if (!is_event(status) && aif_stopped_is_fault(WSTOPSIG(status)))
			return -EFAULT;
		if (!is_event(status))
			t->late_signal = WSTOPSIG(status);
	}
}

long aif_stopped_call(struct aif_stopped *t, uint64_t at, long nr, const uint64_t args[5])
{
	struct user_regs_struct regs = t->regs;
	int r;

	regs.rip = at;
	regs.rax = (unsigned long)nr;
	regs.orig_rax = (unsigned long)-1;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = 0;
	regs.eflags &= ~0x500UL; /* direction, single steps */
	if (aif_stopped_set_regs(t, &regs) < 0)
		return -ESRCH;
	/* The kernel ends an ignorance of SIGTRAP when a step raises one. */
	if (!t->ignores_traps && !t->is_hurried)
		r = step_over_syscall(t, at);
	else if ((r = next_syscall_stop(t)) == 0)
		r = next_syscall_stop(t);
	if (r == -EFAULT)
		return r;
	if (r < 0 || aif_stopped_get_regs(t, &regs) < 0)
		return -ESRCH;
	return (long)regs.rax;
}

int aif_stopped_finish_copy(struct aif_stopped *t, uint64_t until)
{
	int status, r;

	while (t->copy_stops) {
		r = await_stop(t, &status, until, NULL);
		if (r < 0)
			return r;
		if (!is_event(status) && aif_stopped_is_fault(WSTOPSIG(status))) {
			t->copy_stops = 0; /* the signal is not delivered */
			return -EFAULT;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && --t->copy_stops == 0)
			break;
		if (ptrace(PTRACE_SYSCALL, t->tid, 0, 0) < 0)
			return -ESRCH;
	}
	return 0;
}

int aif_stopped_copy(struct aif_stopped *t, uint64_t at, uint64_t to, uint64_t from, size_t len,
		     uint64_t until)
{
	struct user_regs_struct regs = t->regs;

	regs.rip = at;
	regs.rax = SYS_getpid;
	regs.orig_rax = (unsigned long)-1;
	regs.rdi = to;
	regs.rsi = from;
	regs.rcx = len;
	regs.eflags &= ~0x500UL;
	if (aif_stopped_set_regs(t, &regs) < 0 || ptrace(PTRACE_SYSCALL, t->tid, 0, 0) < 0)
		return -ESRCH;
	t->copy_stops = 2; /* of the system call behind it */
	return aif_stopped_finish_copy(t, until);
}

int aif_stopped_run(struct aif_stopped *t, uint64_t pc, uint64_t sp)
{
	struct user_regs_struct regs = t->regs;

	regs.rip = pc;
	regs.rsp = sp;
	regs.rax = 0;
	regs.orig_rax = (unsigned long)-1;
	regs.eflags &= ~0x500UL;
	if (aif_stopped_set_regs(t, &regs) < 0 || ptrace(PTRACE_CONT, t->tid, 0, 0) < 0)
		return -ESRCH;
	return 0;
}

bool aif_stopped_runs(struct aif_stopped *t, int *ret_error)
{
	int status;

	if (waitpid(t->tid, &status, __WALL | WNOHANG) != t->tid)
		return true;
	if (!WIFSTOPPED(status)) {
		*ret_error = -ESRCH;
		return false;
	}
	/* The target's pthread_create() is not what it is taken for. */
	if (!is_event(status) && aif_stopped_is_fault(WSTOPSIG(status))) {
		*ret_error = -EFAULT;
		return false;
	}
	if (!is_event(status))
		t->late_signal = WSTOPSIG(status);
	ptrace(PTRACE_CONT, t->tid, 0, 0);
	return true;
}

int aif_stopped_again(struct aif_stopped *t)
{
	int status, r;

	ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	for (;;) {
		r = await_stop(t, &status, aif_now_ns() + AGAIN_NS, NULL);
		if (r < 0)
			return r;
		if (is_event(status))
			return 0;
		t->late_signal = WSTOPSIG(status);
		ptrace(PTRACE_CONT, t->tid, 0, 0);
	}
}
