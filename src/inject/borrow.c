/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/borrow.h"

#include "base/clock.h"
#include "base/proc.h"
#include "inject/walk.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Threads that are looked at in one call. */
#define THREADS_MAX 64
#define TRIES       3
/* A thread has stopped within microseconds, unless it waits for a disk, or for a processor as others do. Until then it goes
 * on. */
#define STOP_NS AIF_NS_PER_S
/* Time left of AIF_BORROW_NS when the thread begins to work for us. */
#define DECIDE_NS (AIF_BORROW_NS / 2)
/* pthread_create() takes 0.1 ms. It waits for a lock that another thread has, or the machine is very busy: the thread goes
 * on by itself after that. */
#define CREATE_NS (2 * AIF_NS_PER_S)
/* A system call that makes a mapping may wait for another thread's; the thread cannot be left in it. */
#define STUCK_NS   (600 * AIF_NS_PER_S)
#define POLL_NS    20000
#define NEWS_NS    500000
#define XSTATE_MAX 16384
/* Values that the kernel leaves in rax of a thread that it has stopped inside a system call (its include/linux/errno.h). */
enum {
	RESTART_SYS = -512,
	RESTART_NOINTR = -513,
	RESTART_NOHAND = -514,
	RESTART_BLOCK = -516,
};
#define RESTART_SYSCALL 219 /* the system call that goes on with a RESTART_BLOCK */

#define GET_RSEQ_CONFIGURATION ((enum __ptrace_request)0x420f) /* unknown to glibc before 2.34 */
struct rseq_configuration {
	uint64_t pointer;
	uint32_t size, signature, flags, pad;
};

/* Order in which threads are taken. */
enum liking {
	SLEEPS,       /* in a call that the kernel restarts */
	SLEEPS_EINTR, /* in one that a stop ends with EINTR, which is hidden */
	RUNS,
	NEVER,
};

struct candidate {
	pid_t tid;
	enum liking liking;
	unsigned long pc, sp; /* 0: it runs */
};

static void pause_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* ---- which threads --------------------------------------------------------------------------- */

static enum liking liking_of(long nr, unsigned long first_args[4])
{
	switch (nr) {
	case SYS_futex:
		/* A mutex's, or a lock's of the C library: the thread is about to have it. */
		if ((first_args[1] & 0x7f) == 0 && first_args[2] == 2)
			return NEVER;
		return SLEEPS;
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_pause:
		return SLEEPS;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case 441: /* epoll_pwait2 */
	case SYS_rt_sigtimedwait:
		return SLEEPS_EINTR;
	default:
		return NEVER;
	}
}

static enum liking look_at(pid_t pid, struct candidate *c)
{
	unsigned long args[4] = {0};
	char path[64], text[512];
	long nr;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)c->tid);
	if (aif_proc_read(path, text, sizeof(text)) <= 0)
		return NEVER;
	if (!strncmp(text, "running", 7))
		return RUNS;
	if (sscanf(text, "%ld %lx %lx %lx %lx %*x %*x %lx %lx", &nr, &args[0], &args[1], &args[2],
		   &args[3], &c->sp, &c->pc) < 5)
		return NEVER;
	return nr < 0 ? RUNS : liking_of(nr, args);
}

static int by_liking(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->liking != y->liking)
		return x->liking < y->liking ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* The threads of the process, those first that are taken gladly. */
static unsigned find_threads(pid_t pid, struct candidate at[THREADS_MAX])
{
	char path[64];
	struct dirent *e;
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && n < THREADS_MAX && (e = readdir(dir)) != NULL) {
		struct candidate c = {.tid = atoi(e->d_name)};

		if (c.tid <= 0)
			continue;
		c.liking = look_at(pid, &c);
		if (c.liking != NEVER)
			at[n++] = c;
	}
	if (dir)
		closedir(dir);
	qsort(at, n, sizeof(*at), by_liking);
	return n;
}

/* ---- one thread ------------------------------------------------------------------------------ */

struct thread {
	struct aif_borrow *b;
	pid_t tid;
	uint64_t asked_ns, stopped_ns; /* when it was asked to stop, and when that was seen */
	struct user_regs_struct regs;
	uint64_t mask;
	uint8_t xstate[XSTATE_MAX] __attribute__((aligned(64)));
	size_t xstate_len;
	int late_signal;              /* that came meanwhile */
	struct aif_regs lacks_tables; /* a frame of which they are missing; pc 0: none */
};

/* Waits for a moment, or until the kernel says that a thread has stopped: an injector blocks all signals. */
static void await_news(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigtimedwait(&child, NULL, &(struct timespec){.tv_nsec = NEWS_NS});
}

/* Waits until the thread has stopped. 0, -ETIMEDOUT, or -ESRCH: it has ended. */
static int await_stop(struct thread *t, int *ret_status, uint64_t until)
{
	for (;;) {
		pid_t r = waitpid(t->tid, ret_status, __WALL | WNOHANG);

		if (r < 0 || (r == t->tid && !WIFSTOPPED(*ret_status)))
			return -ESRCH;
		if (r == t->tid)
			return 0;
		if (aif_now_ns() >= until)
			return -ETIMEDOUT;
		await_news();
	}
}

static bool is_event(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

static int get_regs(struct thread *t, struct user_regs_struct *ret)
{
	struct iovec v = {ret, sizeof(*ret)};

	return ptrace(PTRACE_GETREGSET, t->tid, NT_PRSTATUS, &v) < 0 ? -errno : 0;
}

static int set_regs(struct thread *t, const struct user_regs_struct *regs)
{
	struct iovec v = {(void *)(uintptr_t)regs, sizeof(*regs)};

	return ptrace(PTRACE_SETREGSET, t->tid, NT_PRSTATUS, &v) < 0 ? -errno : 0;
}

static void let_go(struct thread *t)
{
	ptrace(PTRACE_DETACH, t->tid, 0, 0);
	if (t->late_signal)
		syscall(SYS_tgkill, t->b->im->pid, t->tid, t->late_signal);
	t->b->longest_ns = AIF_MAX(t->b->longest_ns, aif_now_ns() - t->asked_ns);
}

/* Stops the thread where it is. 0 or -errno; then it is not traced. */
static int stop(struct thread *t)
{
	uint64_t until;
	int status, r;

	if (ptrace(PTRACE_SEIZE, t->tid, 0, PTRACE_O_TRACESYSGOOD) < 0)
		return -errno;
	t->b->stops++;
	t->asked_ns = aif_now_ns();
	until = t->asked_ns + STOP_NS;
	if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) < 0)
		return -errno;
	for (;;) {
		r = await_stop(t, &status, until);
		if (r < 0)
			return r == -ETIMEDOUT ? -EBUSY : r;
		t->stopped_ns = aif_now_ns();
		if (is_event(status) && WSTOPSIG(status) == SIGTRAP)
			return 0;
		if (is_event(status)) { /* stopped by SIGSTOP or the like: it stays so */
			let_go(t);
			return -EAGAIN;
		}
		/* A signal is on its way: it arrives as without us. */
		ptrace(PTRACE_CONT, t->tid, 0, WSTOPSIG(status));
	}
}

/* True if a signal waits for the thread, which the kernel is about to deliver. */
static bool has_signal(const struct thread *t)
{
	unsigned long own = 0, shared = 0, blocked = 0;
	const char *line;
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)t->b->im->pid, (int)t->tid);
	if (aif_proc_read(path, text, sizeof(text)) <= 0)
		return true;
	if ((line = strstr(text, "\nSigPnd:")) != NULL)
		sscanf(line + 8, "%lx", &own);
	if ((line = strstr(text, "\nShdPnd:")) != NULL)
		sscanf(line + 8, "%lx", &shared);
	if ((line = strstr(text, "\nSigBlk:")) != NULL)
		sscanf(line + 8, "%lx", &blocked);
	return (own | shared) & ~blocked;
}

static bool is_in_call(const struct user_regs_struct *regs)
{
	const long rax = (long)regs->rax;

	return (long)regs->orig_rax >= 0 && (rax == RESTART_SYS || rax == RESTART_NOINTR ||
					     rax == RESTART_NOHAND || rax == RESTART_BLOCK);
}

/* Returns true of waits that a stop ends with EINTR (signal(7)). A thread that ran a moment ago may be in one in which none is taken. */
static bool ends_with_eintr(long nr, unsigned long args[4])
{
	return liking_of(nr, args) != NEVER || nr == SYS_semop || nr == SYS_semtimedop ||
	       nr == SYS_io_getevents || nr == 426; /* io_uring_enter */
}

/* A wait that our stop has ended with EINTR, which only a handler may: makes it begin anew. */
static bool hide_eintr(struct thread *t)
{
	unsigned long args[4] = {t->regs.rdi, t->regs.rsi, t->regs.rdx, t->regs.r10};
	uint16_t code;

	if ((long)t->regs.orig_rax < 0 || (long)t->regs.rax != -EINTR ||
	    !ends_with_eintr((long)t->regs.orig_rax, args) ||
	    !aif_image_read(t->b->im, t->regs.rip - 2, &code, sizeof(code)) || code != 0x050f)
		return false;
	t->regs.rax = t->regs.orig_rax;
	t->regs.rip -= 2;
	t->regs.orig_rax = (unsigned long)-1;
	return true;
}

/* In a restartable sequence the thread would go on in it without having been told that it was interrupted. */
static bool is_in_rseq(const struct thread *t)
{
	struct rseq_configuration c = {0};
	uint64_t section = 0;

	if (ptrace(GET_RSEQ_CONFIGURATION, t->tid, sizeof(c), &c) < 0 || !c.pointer)
		return false;
	return !aif_image_read(t->b->im, c.pointer + 8, &section, sizeof(section)) || section;
}

static bool may_be_borrowed(struct thread *t, bool is_running)
{
	struct aif_regs regs = {t->regs.rip, t->regs.rsp, t->regs.rbp};

	if (is_running && is_in_rseq(t)) {
		t->b->library++;
		return false;
	}
	switch (aif_walk(t->b->im, &regs, is_running)) {
	case AIF_WALK_SAFE:
		return true;
	case AIF_WALK_TABLES:
		t->b->tables++;
		t->lacks_tables = regs;
		return false;
	case AIF_WALK_UNSAFE:
		t->b->unsafe++;
		return false;
	case AIF_WALK_HANDLER:
		t->b->handler++;
		return false;
	case AIF_WALK_LIBRARY:
		t->b->library++;
		return false;
	default:
		t->b->unknown++;
		return false;
	}
}

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

static bool is_fault(int sig)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(faults); i++)
		if (sig == faults[i])
			return true;
	return false;
}

/* ---- working for us -------------------------------------------------------------------------- */

static int save(struct thread *t)
{
	struct iovec v = {t->xstate, sizeof(t->xstate)};

	if (ptrace(PTRACE_GETREGSET, t->tid, NT_X86_XSTATE, &v) < 0 ||
	    ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(t->mask), &t->mask) < 0)
		return -errno;
	t->xstate_len = v.iov_len;
	return 0;
}

static void restore(struct thread *t)
{
	struct iovec v = {t->xstate, t->xstate_len};

	ptrace(PTRACE_SETREGSET, t->tid, NT_X86_XSTATE, &v);
	ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(t->mask), &t->mask);
	set_regs(t, &t->regs);
}

/* Continues to the next stop of a system call. */
static int next_syscall_stop(struct thread *t)
{
	int status, r;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, t->tid, 0, 0) < 0)
			return -ESRCH;
		r = await_stop(t, &status, aif_now_ns() + STUCK_NS);
		if (r < 0)
			return r;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			return 0;
		if (!is_event(status)) /* all that can be blocked is */
			t->late_signal = WSTOPSIG(status);
	}
}

/* Makes a system call in the thread. Its result, or -ESRCH. */
static long call(struct thread *t, long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct user_regs_struct regs = t->regs;

	regs.rip = t->b->fn.syscall;
	regs.rax = (unsigned long)nr;
	regs.orig_rax = (unsigned long)-1;
	regs.rdi = a;
	regs.rsi = b;
	regs.rdx = c;
	regs.r10 = d;
	regs.r8 = (unsigned long)-1;
	regs.r9 = 0;
	regs.eflags &= ~0x500UL; /* direction, single steps */
	if (set_regs(t, &regs) < 0 || next_syscall_stop(t) < 0 || next_syscall_stop(t) < 0 ||
	    get_regs(t, &regs) < 0)
		return -ESRCH;
	return (long)regs.rax;
}

static void fill(const struct thread *t, struct aif_payload *p)
{
	const struct user_regs_struct *r = &t->regs;
	const struct aif_borrow_functions *fn = &t->b->fn;
	bool in_call = is_in_call(r);

	*p = *t->b->payload;
	p->create = fn->create;
	p->dlopen = fn->dlopen;
	p->dlsym = fn->dlsym;
	p->dlerror = fn->dlerror;
	p->self = fn->self;
	p->detach = fn->detach;
	p->mask = t->mask;
	p->pause[1] = 1000000;
	p->regs = (struct aif_payload_regs){
		.rax = !in_call                        ? r->rax
		       : (long)r->rax == RESTART_BLOCK ? RESTART_SYSCALL
						       : r->orig_rax,
		.rbx = r->rbx,
		.rcx = r->rcx,
		.rdx = r->rdx,
		.rsi = r->rsi,
		.rdi = r->rdi,
		.rbp = r->rbp,
		.rsp = r->rsp,
		.r8 = r->r8,
		.r9 = r->r9,
		.r10 = r->r10,
		.r11 = r->r11,
		.r12 = r->r12,
		.r13 = r->r13,
		.r14 = r->r14,
		.r15 = r->r15,
	};
	p->pc = in_call ? r->rip - 2 : r->rip;
	p->flags = r->eflags & ~0x10000UL;
}

static bool is_late(struct thread *t)
{
	if (aif_now_ns() - t->stopped_ns <= DECIDE_NS)
		return false;
	t->b->late++;
	return true;
}

/* True if an earlier try has left the payload's code in this program; by exec() it has become another. */
static bool has_code(const struct aif_borrow *b)
{
	const size_t len = (size_t)(aif_payload_code_end - aif_payload_code);
	static uint8_t there[AIF_PAYLOAD_PAGE];

	return b->memory && aif_image_read(b->im, b->memory, there, len) &&
	       !memcmp(there, aif_payload_code, len);
}

static int unmap_payload(struct thread *t, long error)
{
	call(t, SYS_munmap, t->b->memory, AIF_PAYLOAD_SIZE, 0, 0);
	t->b->memory = 0;
	return error == -ESRCH ? -ESRCH : error == -ENOMEM ? -ENOMEM : -EACCES;
}

/* Maps the payload and puts it there. Where processors are short each call takes long: each leaves off where it is late, and
 * the next try goes on with what is there. 0 or -errno. */
static int map_payload(struct thread *t)
{
	const size_t code = (size_t)(aif_payload_code_end - aif_payload_code);
	struct aif_borrow *b = t->b;
	struct aif_payload p;
	long r;

	if (!has_code(b)) {
		b->is_executable = false;
		r = call(t, SYS_mmap, 0, AIF_PAYLOAD_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS);
		if (r < 0 && r > -4096) {
			b->memory = 0;
			return r == -ESRCH ? -ESRCH : -ENOMEM;
		}
		b->memory = (uint64_t)r;
		if (!aif_image_write(b->im, b->memory, aif_payload_code, code))
			return unmap_payload(t, -ENOMEM);
		if (is_late(t))
			return -EAGAIN;
	}
	if (!b->is_executable) {
		r = call(t, SYS_mprotect, b->memory, AIF_PAYLOAD_PAGE, PROT_READ | PROT_EXEC, 0);
		if (r < 0)
			return unmap_payload(t, r);
		b->is_executable = true;
		if (is_late(t))
			return -EAGAIN;
	}
	fill(t, &p);
	return aif_image_write(b->im, b->memory + AIF_PAYLOAD_PAGE, &p, sizeof(p)) ? 0 : -ESRCH;
}

static bool is_in_payload(const struct thread *t, const struct user_regs_struct *regs)
{
	return regs->rip - t->b->memory < AIF_PAYLOAD_PAGE;
}

static bool is_done(const struct thread *t)
{
	uint32_t done = 0;

	return aif_image_read(t->b->im, t->b->memory + AIF_PAYLOAD_PAGE + AIF_PAYLOAD_AT_DONE,
			      &done, sizeof(done)) &&
	       done;
}

/* Lets the thread call pthread_create(), and stops it again. 0: its registers may be put back; -EINPROGRESS: it has done or
 * will do that itself. */
static int make_thread(struct thread *t)
{
	struct user_regs_struct regs = t->regs;
	uint64_t until = aif_now_ns() + CREATE_NS;
	int status, r;

	regs.rip = t->b->memory;
	regs.rsp = t->b->memory + AIF_PAYLOAD_SIZE;
	regs.rax = 0;
	regs.orig_rax = (unsigned long)-1;
	regs.eflags &= ~0x500UL;
	if (set_regs(t, &regs) < 0 || ptrace(PTRACE_CONT, t->tid, 0, 0) < 0)
		return -ESRCH;
	while (!is_done(t)) {
		if (waitpid(t->tid, &status, __WALL | WNOHANG) == t->tid) {
			if (!WIFSTOPPED(status))
				return -ESRCH;
			/* The target's pthread_create() is not what it is taken for. */
			if (!is_event(status) && is_fault(WSTOPSIG(status)))
				return -EFAULT;
			if (!is_event(status))
				t->late_signal = WSTOPSIG(status);
			ptrace(PTRACE_CONT, t->tid, 0, 0);
		}
		if (aif_now_ns() >= until)
			break;
		pause_ns(POLL_NS);
	}
	ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	for (;;) {
		r = await_stop(t, &status, aif_now_ns() + CREATE_NS);
		if (r < 0)
			return r;
		if (is_event(status))
			break;
		t->late_signal = WSTOPSIG(status);
		ptrace(PTRACE_CONT, t->tid, 0, 0);
	}
	if (get_regs(t, &regs) < 0)
		return -ESRCH;
	if (is_done(t) && is_in_payload(t, &regs))
		return 0;
	/* The thread has put them back, since this process was late; it is in its wait again, which this stop has ended. */
	t->regs = regs;
	if (!has_signal(t) && hide_eintr(t))
		set_regs(t, &t->regs);
	return -EINPROGRESS;
}

static int work(struct thread *t)
{
	struct aif_borrow *b = t->b;
	uint64_t all = ~UINT64_C(0);
	int32_t result = 0;
	int r;

	/* Not those that a fault raises: the kernel would take their handlers away. */
	for (size_t i = 0; i < AIF_ARRAY_LEN(faults); i++)
		all &= ~(UINT64_C(1) << (faults[i] - 1));
	if (save(t) < 0)
		return -EAGAIN;
	if (ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(all), &all) < 0)
		return -EAGAIN;
	r = map_payload(t);
	if (r == 0)
		r = make_thread(t);
	if (r == -EINPROGRESS)
		return 0;
	if (r != -ESRCH)
		restore(t);
	if (r == 0 &&
	    aif_image_read(b->im, b->memory + AIF_PAYLOAD_PAGE + AIF_PAYLOAD_AT_RESULT, &result,
			   sizeof(result)) &&
	    result) {
		b->create_error = result;
		return -ENOSPC;
	}
	return r;
}

/* Borrows that thread. As aif_borrow_start(). */
static int borrow(struct aif_borrow *b, const struct candidate *c)
{
	static struct thread t; /* 16 KB */
	bool is_hidden = false;
	int r;

	t = (struct thread){.b = b, .tid = c->tid};
	r = stop(&t);
	if (r == -EPERM || r == -EBUSY)
		return r;
	if (r < 0)
		return -EAGAIN;
	if (get_regs(&t, &t.regs) < 0 || t.regs.cs != 0x33 || has_signal(&t)) {
		b->busy++;
		let_go(&t);
		return -EAGAIN;
	}
	is_hidden = hide_eintr(&t);
	if (!may_be_borrowed(&t, !is_hidden && !is_in_call(&t.regs)) || is_late(&t)) {
		r = -EAGAIN;
	} else {
		r = work(&t);
		is_hidden &= r == -EAGAIN; /* else its registers are back */
	}
	if (is_hidden)
		set_regs(&t, &t.regs);
	let_go(&t);
	if (t.lacks_tables.pc)
		(void)aif_image_read_tables(b->im, t.lacks_tables.pc, t.lacks_tables.sp);
	return r;
}

int aif_borrow_start(struct aif_borrow *b)
{
	struct candidate at[THREADS_MAX];
	unsigned n = find_threads(b->im->pid, at);
	int r = -EAGAIN;

	if (!n && access("/proc/self/stat", F_OK) == 0) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d", (int)b->im->pid);
		if (access(path, F_OK) < 0)
			return -ESRCH;
	}
	/* Reads what a walk needs while the thread goes on. */
	for (unsigned i = 0; i < n && r == -EAGAIN; i++) {
		if (at[i].sp)
			(void)aif_image_read_tables(b->im, at[i].pc, at[i].sp);
		for (unsigned try = 0, again = b->late + b->tables; r == -EAGAIN && try < TRIES;
		     try++) {
			r = borrow(b, &at[i]);
			if (b->late + b->tables == again)
				break;
			again = b->late + b->tables;
		}
	}
	return r;
}

const char *aif_borrow_why_none(const struct aif_borrow *b)
{
	const unsigned other = b->busy + b->late;

	if (b->unsafe + b->library >= b->handler + b->unknown + other && b->unsafe + b->library)
		return "each is in the C library's allocator or loader, or has just left it";
	if (b->handler >= b->unknown + other && b->handler)
		return "each is in a handler of a signal";
	if (b->unknown >= other && b->unknown)
		return "their stacks cannot be told to the end";
	if (other)
		return "this machine is too busy to do it within 20 ms";
	if (b->tables)
		return "each came to code whose unwind tables had not been read, as no thread is "
		       "to stand still for that";
	return "each thread computes all the time, or waits where a stop would show";
}
