/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/borrow.h"

#include "base/clock.h"
#include "base/proc.h"
#include "base/program_held.h"
#include "inject/mapper.h"
#include "inject/walk.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Threads that are looked at in one call. */
#define THREADS_MAX 64
#define TRIES       5
/* Looks, in all, until no thread of the process waits to map memory, as many do while a program starts. */
#define MAP_WAITS   500
#define MAP_WAIT_NS 1000000
/* A call takes 0.02 ms, and all that is done in a stop 0.3 ms, unless the thread or this process has to wait for a processor. Where
 * they had to, what is left to do belongs to another stop. */
#define CALM_NS 1000000
/* pthread_create() takes 0.1 ms. It waits for a lock that another thread has, or the machine is very busy: the thread goes
 * on by itself after that. */
#define CREATE_NS (2 * AIF_NS_PER_S)
#define POLL_NS   20000
/* Looks at a thread that runs, before it is taken: so many, and more if it sleeps now and then, until it was seen asleep. */
#define RUN_LOOKS     6
#define RUN_LOOKS_MAX 100
#define RUN_SLEEPS    3
#define RUN_LOOK_NS   4000000
/* CPU time that it has to use meanwhile without sleeping: on a busy machine one that was woken in a write() waits for a processor
 * throughout many looks. */
#define RUN_CPU_NS UINT64_C(4000000)
/* The most such threads in one go: each may take 0.4 s. */
#define RUN_THREADS 4
/* Values that the kernel leaves in rax of a thread that it has stopped inside a system call (its include/linux/errno.h). */
enum {
	RESTART_SYS = -512,
	RESTART_NOINTR = -513,
	RESTART_NOHAND = -514,
	RESTART_BLOCK = -516,
};
#define RESTART_SYSCALL 219 /* the system call that goes on with a RESTART_BLOCK */

/* Order in which threads are taken. */
enum liking {
	SLEEPS,       /* in a call that the kernel restarts */
	SLEEPS_EINTR, /* in one that a stop ends with EINTR, which is hidden */
	RUNS,
	SLEEPS_ANEW, /* in one that begins anew, and waits for all of its time again */
	NEVER,       /* in one that is not known */
	CUT_SHORT, /* never, either: in one that a stop ends with the part that is done, as write() */
};

struct candidate {
	pid_t tid;
	enum liking liking;
	bool maps_memory;
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
	/* A wait with an end that a stop has interrupted before (kill -STOP, a debugger, a try of ours): whose arguments are still there. */
	case RESTART_SYSCALL:
	case SYS_futex:
		/* A mutex's, or a lock's of the C library: the thread is about to have it. */
		if ((first_args[1] & 0x7f) == 0 && first_args[2] == 2)
			return NEVER;
		return SLEEPS;
	case SYS_write:
	case SYS_writev:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_recvmmsg:
	case SYS_sendfile:
	case SYS_splice:
	case SYS_vmsplice:
	case SYS_copy_file_range:
		return CUT_SHORT;
	case SYS_recvfrom:
		return first_args[3] & MSG_WAITALL ? CUT_SHORT : SLEEPS;
	case SYS_recvmsg:
		return first_args[2] & MSG_WAITALL ? CUT_SHORT : SLEEPS;
	case SYS_read:
	case SYS_readv:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_accept:
	case SYS_accept4:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_pause:
		return SLEEPS;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int)first_args[3] < 0 ? SLEEPS_EINTR : SLEEPS_ANEW;
	case 441: /* epoll_pwait2 */
		return first_args[3] ? SLEEPS_ANEW : SLEEPS_EINTR;
	case SYS_rt_sigtimedwait:
		return first_args[2] ? SLEEPS_ANEW : SLEEPS_EINTR;
	default:
		return NEVER;
	}
}

/* True of calls that change the memory map. A thread is seen in one where it waits for another that holds the map's lock: then is no time
 * to have a thread make another, for which its allocator may map memory. */
static bool maps_memory(long nr)
{
	return nr == SYS_mmap || nr == SYS_munmap || nr == SYS_mprotect || nr == SYS_brk ||
	       nr == SYS_mremap || nr == SYS_madvise;
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
	c->maps_memory = maps_memory(nr);
	return nr < 0 ? RUNS : liking_of(nr, args);
}

/* Returns how often a thread has gone to sleep by itself; 0: not known. */
static unsigned long sleeps_of(pid_t pid, pid_t tid)
{
	char path[64], text[4096];
	unsigned long n = 0;
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	at = aif_proc_read(path, text, sizeof(text)) > 0
		     ? strstr(text, "\nvoluntary_ctxt_switches:")
		     : NULL;
	if (at)
		n = strtoul(strchr(at, ':') + 1, NULL, 10);
	return n;
}

/* Returns the CPU time of a thread, ns; RUN_CPU_NS more at each call where this kernel does not count it. */
static uint64_t cpu_of(pid_t pid, pid_t tid)
{
	static uint64_t unknown;
	char path[64], text[128];
	uint64_t ns;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	if (aif_proc_read(path, text, sizeof(text)) <= 0 || sscanf(text, "%" SCNu64, &ns) != 1)
		ns = unknown += RUN_CPU_NS;
	return ns;
}

/* Returns true if a thread that runs computes, or sleeps only in calls that no stop cuts short: one that was woken in a write() runs,
 * too, and would be stopped with a part of it done. */
static bool computes(pid_t pid, struct candidate *c)
{
	const unsigned long slept = sleeps_of(pid, c->tid);
	const uint64_t used = cpu_of(pid, c->tid);
	unsigned asleep = 0;

	for (unsigned i = 0; i < RUN_LOOKS_MAX; i++) {
		enum liking is;

		if (i >= RUN_LOOKS && cpu_of(pid, c->tid) - used >= RUN_CPU_NS &&
		    sleeps_of(pid, c->tid) == slept)
			return true;
		pause_ns(RUN_LOOK_NS);
		is = look_at(pid, c);
		if (is == CUT_SHORT)
			return false;
		asleep += is != RUNS;
		if (asleep >= RUN_SLEEPS)
			return true;
	}
	return false;
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
		if (c.liking < NEVER)
			at[n++] = c;
	}
	if (dir)
		closedir(dir);
	qsort(at, n, sizeof(*at), by_liking);
	return n;
}

/* ---- one thread ------------------------------------------------------------------------------ */

struct thread {
	struct aif_stopped s;
	struct aif_borrow *b;
	struct aif_regs lacks_tables; /* a frame of which they are missing; pc 0: none */
};

static bool is_in_call(const struct user_regs_struct *regs)
{
	const long rax = (long)regs->rax;

	return (long)regs->orig_rax >= 0 && (rax == RESTART_SYS || rax == RESTART_NOINTR ||
					     rax == RESTART_NOHAND || rax == RESTART_BLOCK);
}

/* Returns true of waits that a stop ends with EINTR (signal(7)). A thread that ran a moment ago may be in one in which none is taken. */
static bool ends_with_eintr(long nr, unsigned long args[4])
{
	return liking_of(nr, args) < NEVER || nr == SYS_semop || nr == SYS_semtimedop ||
	       nr == SYS_io_getevents || nr == 426; /* io_uring_enter */
}

/* A wait that our stop has ended with EINTR, which only a handler may: makes it begin anew. */
static bool hide_eintr(struct thread *t)
{
	unsigned long args[4] = {t->s.regs.rdi, t->s.regs.rsi, t->s.regs.rdx, t->s.regs.r10};
	uint16_t code;

	if ((long)t->s.regs.orig_rax < 0 || (long)t->s.regs.rax != -EINTR ||
	    !ends_with_eintr((long)t->s.regs.orig_rax, args) ||
	    !aif_image_read(t->b->im, t->s.regs.rip - 2, &code, sizeof(code)) || code != 0x050f)
		return false;
	t->s.regs.rax = t->s.regs.orig_rax;
	t->s.regs.rip -= 2;
	t->s.regs.orig_rax = (unsigned long)-1;
	return true;
}

static bool may_be_borrowed(struct thread *t, bool is_running)
{
	struct aif_regs regs = {t->s.regs.rip, t->s.regs.rsp, t->s.regs.rbp};

	if (is_running && aif_stopped_is_in_rseq(&t->s)) {
		t->b->library++;
		return false;
	}
	switch (aif_walk(t->b->im, &regs, t->s.regs.fs_base, is_running)) {
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

/* ---- working for us -------------------------------------------------------------------------- */

static void fill(const struct thread *t, struct aif_payload *p)
{
	const struct user_regs_struct *r = &t->s.regs;
	const struct aif_borrow_functions *fn = &t->b->fn;
	bool in_call = is_in_call(r);

	*p = *t->b->payload;
	p->create = fn->create;
	p->attr_init = fn->attr_init;
	p->attr_size = fn->attr_size;
	p->dlopen = fn->dlopen;
	p->dlsym = fn->dlsym;
	p->dlerror = fn->dlerror;
	p->self = fn->self;
	p->detach = fn->detach;
	p->agent = fn->agent;
	p->mask = t->s.mask;
	if (t->s.is_hurried)
		p->schedule = t->s.schedule;
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

/* True if nothing new is to be begun in this stop. */
static bool is_late(struct thread *t)
{
	if (t->s.time.seen_ns + (aif_now_ns() - t->s.stopped_ns) <= CALM_NS)
		return false;
	t->b->late++;
	return true;
}

static bool is_in_payload(const struct thread *t, const struct user_regs_struct *regs)
{
	return regs->rip - t->b->memory < AIF_PAYLOAD_PAGE;
}

static bool is_done(const struct thread *t)
{
	return *(volatile uint32_t *)&t->b->page->done;
}

/* Lets the thread call pthread_create(), and stops it again. 0: its registers may be put back; -EINPROGRESS: it has done or
 * will do that itself. */
static int make_thread(struct thread *t)
{
	uint64_t until = aif_now_ns() + CREATE_NS;
	struct user_regs_struct regs;
	int r = aif_stopped_run(&t->s, t->b->memory, t->b->memory + AIF_PAYLOAD_SIZE);

	if (r < 0)
		return r;
	while (!is_done(t) && aif_now_ns() < until) {
		if (!aif_stopped_runs(&t->s, &r))
			return r;
		pause_ns(POLL_NS);
	}
	r = aif_stopped_again(&t->s);
	if (r < 0)
		return r;
	if (aif_stopped_get_regs(&t->s, &regs) < 0)
		return -ESRCH;
	if (is_done(t) && is_in_payload(t, &regs))
		return 0;
	/* The thread has put them back, since this process was late; it is in its wait again, which this stop has ended. */
	t->s.regs = regs;
	if (!aif_stopped_has_signal(&t->s) && hide_eintr(t))
		aif_stopped_set_regs(&t->s, &t->s.regs);
	return -EINPROGRESS;
}

/* Saves what is not in its registers, and has no signal delivered to it. */
static bool prepare(struct thread *t)
{
	uint64_t all = aif_stopped_all_signals();

	/* Not those that a fault raises: the kernel would take their handlers away. */
	if (aif_stopped_save(&t->s) < 0 ||
	    ptrace(PTRACE_SETSIGMASK, t->s.tid, sizeof(all), &all) < 0)
		return false;
	aif_stopped_hurry(&t->s);
	t->s.time.look_ns = aif_now_ns() - t->s.stopped_ns;
	return true;
}

/* Has the thread make one that maps the payload. */
static int clone_mapper(struct thread *t)
{
	int r;

	if (!prepare(t))
		return -EAGAIN;
	r = aif_mapper_clone(&t->s, t->b->fn.syscall);
	t->s.time.map_ns = aif_now_ns() - t->s.stopped_ns - t->s.time.look_ns;
	if (r != -ESRCH)
		aif_stopped_restore(&t->s);
	if (r < 0 && r != -ESRCH && r != -EFAULT) {
		t->b->create_error = -r;
		return -ENOSPC;
	}
	return r;
}

static int work(struct thread *t)
{
	struct aif_borrow *b = t->b;
	struct aif_payload p;
	uint64_t began;
	int r;

	if (!prepare(t))
		return -EAGAIN;
	began = aif_now_ns();
	fill(t, &p);
	memcpy(b->page, &p, sizeof(p));
	r = make_thread(t);
	b->made_ns = aif_now_ns();
	t->s.time.create_ns = b->made_ns - began;
	if (r == -EINPROGRESS)
		return 0;
	if (r != -ESRCH)
		aif_stopped_restore(&t->s);
	if (r == 0 && b->page->result) {
		b->create_error = b->page->result;
		return -ENOSPC;
	}
	return r;
}

static void let_go(struct thread *t)
{
	aif_stopped_end(&t->s);
	t->b->stops++;
	if (t->s.time.ns > t->b->longest.ns)
		t->b->longest = t->s.time;
}

/* Returns true if the stopped thread may make a system call for us: that needs nothing of the C library. */
static bool may_call(struct thread *t, bool is_running)
{
	if (!is_running || !aif_stopped_is_in_rseq(&t->s))
		return true;
	t->b->library++;
	return false;
}

/* Borrows that thread: first it makes one that maps the payload, in another stop the one that loads the agent. As aif_borrow_start(). */
static int borrow(struct aif_borrow *b, const struct candidate *c)
{
	static struct thread t; /* 16 KB */
	const bool is_mapped = b->page && b->has_mapper;
	bool is_hidden = false, is_running, may;
	size_t stack = 0;
	int r;

	t.b = b;
	t.lacks_tables = (struct aif_regs){0};
	if (is_mapped && !aif_mapper_finds_map_free(b)) {
		b->late++;
		return -EAGAIN;
	}
	if (is_mapped && c->sp) {
		/* Reads what the walk will need. */
		struct aif_regs regs = {c->pc, c->sp, 0};

		stack = aif_image_stack_there(b->im, c->sp, AIF_PAYLOAD_STACK);
		(void)aif_walk(b->im, &regs, 0, false);
	}
	r = aif_stopped_begin(&t.s, b->im, c->tid);
	if (r == -EPERM || r == -EBUSY)
		return r;
	if (r < 0)
		return -EAGAIN;
	/* An address of the program that the process was until now may be anything in this one. */
	if (!aif_program_is_held(b->program)) {
		let_go(&t);
		return -ESRCH;
	}
	if (aif_stopped_get_regs(&t.s, &t.s.regs) < 0 || t.s.regs.cs != 0x33 ||
	    aif_stopped_has_signal(&t.s)) {
		b->busy++;
		let_go(&t);
		return -EAGAIN;
	}
	is_hidden = hide_eintr(&t);
	is_running = !is_hidden && !is_in_call(&t.s.regs);
	if (is_mapped && t.s.regs.rsp == c->sp)
		aif_mapper_copy_stack(b, c->sp, stack);
	may = is_mapped ? may_be_borrowed(&t, is_running) : may_call(&t, is_running);
	b->im->stack = (struct aif_image_stack){0};
	/* A copy that is not over would be written into the stack that the thread is to run on. */
	if (!may || is_late(&t) || aif_mapper_is_copying(b)) {
		r = -EAGAIN;
	} else {
		r = is_mapped ? work(&t) : clone_mapper(&t);
		is_hidden &= r == -EAGAIN; /* else its registers are back */
	}
	if (is_hidden)
		aif_stopped_set_regs(&t.s, &t.s.regs);
	let_go(&t);
	if (t.lacks_tables.pc)
		(void)aif_image_read_tables(b->im, t.lacks_tables.pc, t.lacks_tables.sp);
	return r;
}

/* Returns true if no thread waits to map memory. */
static bool is_calm(pid_t pid)
{
	char path[64];
	struct dirent *e;
	bool is = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && is && (e = readdir(dir)) != NULL) {
		struct candidate c = {.tid = atoi(e->d_name)};

		if (c.tid > 0)
			(void)look_at(pid, &c);
		is = !c.maps_memory;
	}
	if (dir)
		closedir(dir);
	return is;
}

/* Has the payload in the target, and the thread that maps it: the program's thread is stopped twice, with what may take long between. As
 * aif_borrow_start(). */
static int map(struct aif_borrow *b, const struct candidate *c)
{
	int r = 0;

	if (b->page && !aif_mapper_has_code(b))
		aif_mapper_forget(b);
	if (!b->has_mapper || !b->page || aif_mapper_is_copying(b)) {
		if (!aif_mapper_end(b))
			return -EBUSY;
		r = borrow(b, c);
		r = r == 0 ? aif_mapper_map(b) : r;
	}
	while (r == 0 && !is_calm(b->im->pid) && b->waits++ < MAP_WAITS) {
		pause_ns(MAP_WAIT_NS);
		if (!aif_mapper_finds_map_free(b))
			r = -EAGAIN;
	}
	return r;
}

/* Returns the first thread instead where it sleeps as well by now: others may have no memory of the allocator's yet, which then maps some
 * while they stand still. */
static struct candidate prefer_first(pid_t pid, const struct candidate *c)
{
	struct candidate first = {.tid = pid};

	first.liking = look_at(pid, &first);
	return first.liking <= c->liking && first.liking < RUNS ? first : *c;
}

int aif_borrow_start(struct aif_borrow *b)
{
	struct candidate at[THREADS_MAX];
	unsigned n = find_threads(b->im->pid, at), looked = 0;
	int r = -EAGAIN;

	if (!n && access("/proc/self/stat", F_OK) == 0) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d", (int)b->im->pid);
		if (access(path, F_OK) < 0)
			return -ESRCH;
	}
	/* Reads what a walk needs while the thread goes on. */
	for (unsigned i = 0; i < n && r == -EAGAIN; i++) {
		if (at[i].liking == RUNS) {
			if (!aif_mapper_end(b))
				return -EBUSY;
			if (looked++ >= RUN_THREADS || !computes(b->im->pid, &at[i]))
				continue;
		}
		if (at[i].sp)
			(void)aif_image_read_tables(b->im, at[i].pc, at[i].sp);
		for (unsigned try = 0, again = b->late + b->tables; r == -EAGAIN && try < TRIES;
		     try++) {
			r = map(b, &at[i]);
			if (r == 0 && i == 0)
				at[0] = prefer_first(b->im->pid, &at[0]);
			if (r == 0)
				r = borrow(b, &at[i]);
			if (b->late + b->tables == again)
				break;
			again = b->late + b->tables;
		}
	}
	return aif_mapper_end(b) || r == 0 ? r : -EBUSY;
}

const char *aif_borrow_why_none(const struct aif_borrow *b)
{
	const unsigned other = b->busy + b->late;

	if (b->unsafe + b->library >= b->handler + b->unknown + other && b->unsafe + b->library)
		return "each is in an allocator or the loader, or has just left it";
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
