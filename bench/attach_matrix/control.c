/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <linux/futex.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

/* Programs whose flow of control is out of the ordinary. */

static void *jump(void *arg)
{
	volatile uint64_t jumps = 0;
	sigjmp_buf env;

	while (!over) {
		volatile uint64_t kept = jumps * 3;

		if (sigsetjmp(env, jumps % 2) == 0)
			siglongjmp(env, 1);
		if (kept != jumps * 3)
			fail("a variable across longjmp()");
		jumps++;
	}
	return arg;
}

static void jumps(void)
{
	in_threads(jump);
}

/* Fibers on stacks of their own, which switch without a pause. */
#define FIBERS 16

static _Thread_local ucontext_t fiber[FIBERS], scheduler;
static _Thread_local uint64_t counted[FIBERS];

static void run_fiber(int i)
{
	for (uint64_t n = 0;; n++) {
		volatile double x = (double)n;

		swapcontext(&fiber[i], &scheduler);
		if (x != (double)n)
			fail("a fiber's stack");
		counted[i]++;
	}
}

static void *schedule(void *arg)
{
	for (int i = 0; i < FIBERS; i++) {
		getcontext(&fiber[i]);
		fiber[i].uc_stack.ss_size = 65536;
		fiber[i].uc_stack.ss_sp = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		makecontext(&fiber[i], (void (*)(void))run_fiber, 1, i);
	}
	for (uint64_t rounds = 0; !over; rounds++) {
		for (int i = 0; i < FIBERS; i++)
			swapcontext(&scheduler, &fiber[i]);
		for (int i = 0; i < FIBERS; i++)
			if (counted[i] != rounds)
				fail("a fiber that was left out");
	}
	return arg;
}

static void fibers(void)
{
	in_threads(schedule);
}

/* Locks of each kind, and sums that they protect. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static uint64_t sums[3];
static atomic_ullong added;

static void *add(void *arg)
{
	for (uint64_t mine = 0; !over; mine++) {
		pthread_mutex_lock(&lock);
		sums[0]++;
		pthread_mutex_unlock(&lock);
		pthread_rwlock_wrlock(&rwlock);
		sums[1]++;
		pthread_rwlock_unlock(&rwlock);
		pthread_spin_lock(&spin);
		sums[2]++;
		pthread_spin_unlock(&spin);
		added++;
	}
	return arg;
}

static void locks(void)
{
	pthread_spin_init(&spin, 0);
	in_threads(add);
	if (sums[0] != added || sums[1] != added || sums[2] != added)
		fail("sums");
}

/* Threads that are cancelled while they wait. */
static void unlock(void *m)
{
	pthread_mutex_unlock(m);
}

static void *wait_for_ever(void *arg)
{
	pthread_mutex_t *m = arg;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;

	pthread_mutex_lock(m);
	pthread_cleanup_push(unlock, m);
	for (;;)
		pthread_cond_wait(&never, m);
	pthread_cleanup_pop(1);
	return NULL;
}

static void *cancel(void *arg)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	while (!over) {
		pthread_t t;
		void *got;

		if (pthread_create(&t, NULL, wait_for_ever, &m) || pthread_cancel(t) ||
		    pthread_join(t, &got) || got != PTHREAD_CANCELED)
			fail("a thread that is cancelled");
		if (pthread_mutex_trylock(&m))
			fail("a lock of a cancelled thread");
		pthread_mutex_unlock(&m);
	}
	return arg;
}

static void cancels(void)
{
	in_threads(cancel);
}

/* Timers that interrupt each call; the program counts how often. */
static atomic_ulong ticks;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

static void timers(void)
{
	struct sigaction sa = {.sa_handler = on_tick};
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
	timer_t id;
	int fds[2];
	char c;

	sigaction(SIGRTMIN + 3, &sa, NULL);
	if (pipe(fds) || timer_create(CLOCK_MONOTONIC, &ev, &id))
		fail("a timer");
	timer_settime(id, 0, &(struct itimerspec){{0, 2000000}, {0, 2000000}}, NULL);
	while (!over)
		if (read(fds[0], &c, 1) >= 0 || errno != EINTR)
			fail("a read");
	timer_delete(id);
	if (!ticks)
		fail("ticks");
}

/* Threads that the C library knows nothing of, which live in system calls. */
struct raw {
	atomic_int tid, rounds;
	char stack[16384];
};

static int raw_thread(void *arg)
{
	struct raw *r = arg;

	while (!over) {
		struct timespec t = {.tv_nsec = 1000000};

		if (syscall(SYS_nanosleep, &t, NULL))
			syscall(SYS_exit_group, 97);
		r->rounds++;
	}
	return 0;
}

static void raw_threads(void)
{
	struct raw *all = calloc(4, sizeof(*all));
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;

	for (unsigned i = 0; i < 4; i++)
		if (clone(raw_thread, all[i].stack + sizeof(all[i].stack) - 16, flags, &all[i],
			  &all[i].tid, NULL, &all[i].tid) < 0)
			fail("clone");
	for (unsigned i = 0; i < 4; i++)
		for (int tid; (tid = all[i].tid) != 0;)
			syscall(SYS_futex, &all[i].tid, FUTEX_WAIT, tid, NULL, NULL, 0);
	for (unsigned i = 0; i < 4; i++)
		if (!all[i].rounds)
			fail("a thread of clone()");
}

/* Leaves main() for another image again and again; the number of the process stays. */
static void execs(void)
{
	for (unsigned i = 0; i < 20 && !over; i++)
		pause_ns(20000000);
	if (!over)
		execl("/proc/self/exe", "program", "execs", (char *)NULL);
}

/* Starts programs by vfork() in several threads. */
static void *vfork_loop(void *arg)
{
	char *words[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"exit 7"}, NULL};

	while (!over) {
		int status;
		pid_t pid = vfork();

		if (pid == 0) {
			execve("/bin/sh", words, (char *[]){NULL});
			_exit(127);
		}
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 7)
			fail("a vforked program");
	}
	return arg;
}

static void vforks(void)
{
	in_threads(vfork_loop);
}

const struct mode control_modes[] = {
	{"jumps", jumps},     {"fibers", fibers}, {"locks", locks},
	{"cancels", cancels}, {"timers", timers}, {"raw-threads", raw_threads},
	{"execs", execs},     {"vforks", vforks}, {NULL, NULL},
};
