/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/aio_abi.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/*
 * Programs into which the agent is put while they run, each with something that a careless injector breaks. Each says on
 * standard output what it has computed, which is the same in each run, and exits with a status of its own.
 *
 *     inject_app MODE     runs until its standard input ends, and for a second at least
 */

#define THREADS 8

static atomic_bool over;
extern char **environ;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *await_end(void *arg)
{
	char c;

	(void)arg;
	while (read(0, &c, 1) > 0)
		;
	over = true;
	return NULL;
}

static void fail(const char *what)
{
	printf("wrong: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(99);
}

/* Allocates without a pause, and finds what it has written. */
static void *allocate(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 1;
	uint64_t *kept[64] = {NULL};

	while (!over) {
		unsigned i = (unsigned)(seed >> 33) % 64;
		size_t n = 2 + (size_t)(seed >> 40) % 600;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		if (kept[i] && kept[i][0] != (uint64_t)(uintptr_t)kept[i])
			fail("a block");
		free(kept[i]);
		kept[i] = malloc(n * sizeof(uint64_t));
		kept[i][0] = kept[i][n - 1] = (uint64_t)(uintptr_t)kept[i];
	}
	for (unsigned i = 0; i < 64; i++)
		free(kept[i]);
	return NULL;
}

static void in_threads(void *(*run)(void *))
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, run, (void *)i))
			fail("pthread_create");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

/* Makes children without end, which end with statuses of their own. */
static void forks(void)
{
	for (unsigned i = 0; !over; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			void *p = malloc(1000 + i % 1000);

			_exit(p ? (int)(i % 100) : 120);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			fail("waitpid");
		if (!WIFEXITED(status) || WEXITSTATUS(status) != (int)(i % 100))
			fail("a child's status");
	}
}

static void *fork_in_thread(void *arg)
{
	(void)arg;
	forks();
	return NULL;
}

/* Starts programs by vfork() and by posix_spawn(). */
static void spawns(void)
{
	char *words[] = {(char[]){"true"}, NULL};

	while (!over) {
		int status;
		pid_t pid = vfork();

		if (pid == 0) {
			execve("/bin/true", words, environ);
			_exit(127);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			fail("a vforked child");
		if (posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ) ||
		    waitpid(pid, &status, 0) != pid || status)
			fail("a spawned child");
	}
}

/* Handlers on a stack of their own, which sleep: a thread is in one all the time. */
static _Thread_local char *alternate;
static _Atomic uint64_t handled;

static void on_signal(int sig)
{
	char here;

	(void)sig;
	if (&here < alternate || &here >= alternate + 65536)
		fail("a handler's stack");
	nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	handled++;
}

static void *raise_signals(void *arg)
{
	stack_t ss = {.ss_size = 65536};

	(void)arg;
	ss.ss_sp = alternate = malloc(ss.ss_size);
	sigaltstack(&ss, NULL);
	while (!over)
		pthread_kill(pthread_self(), SIGUSR1);
	return NULL;
}

static void handlers(void)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	sigaction(SIGUSR1, &sa, NULL);
	in_threads(raise_signals);
	if (!handled)
		fail("signals");
}

/* Each call that a thread may sleep in: none may say that it was interrupted, or end too early. */
static int pipe_fds[2];

static void *sleep_calls(void *arg)
{
	struct timespec left, ms20 = {.tv_nsec = 20000000};
	struct epoll_event ev = {.events = EPOLLIN};
	int ep = epoll_create1(EPOLL_CLOEXEC);
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

	epoll_ctl(ep, EPOLL_CTL_ADD, pipe_fds[0], &ev);
	while (!over) {
		struct pollfd p = {.fd = pipe_fds[0], .events = POLLIN};
		uint64_t began = now_ns();
		struct timespec at;
		fd_set set;

		switch ((uintptr_t)arg % 6) {
		case 0:
			if (nanosleep(&ms20, &left))
				fail("nanosleep");
			break;
		case 1:
			if (poll(&p, 1, 20))
				fail("poll");
			break;
		case 2:
			if (epoll_wait(ep, &ev, 1, 20))
				fail("epoll_wait");
			break;
		case 3:
			FD_ZERO(&set);
			FD_SET(pipe_fds[0], &set);
			if (select(pipe_fds[0] + 1, &set, NULL, NULL,
				   &(struct timeval){.tv_usec = 20000}))
				fail("select");
			break;
		case 4:
			clock_gettime(CLOCK_REALTIME, &at);
			at.tv_nsec += 20000000;
			at.tv_sec += at.tv_nsec / 1000000000;
			at.tv_nsec %= 1000000000;
			pthread_mutex_lock(&lock);
			if (pthread_cond_timedwait(&cond, &lock, &at) != ETIMEDOUT)
				fail("pthread_cond_timedwait");
			pthread_mutex_unlock(&lock);
			break;
		case 5:
			if (ppoll(&p, 1, &ms20, NULL))
				fail("ppoll");
			break;
		}
		if (now_ns() - began < 19000000)
			fail("a sleep that was too short");
	}
	close(ep);
	return NULL;
}

static void sleeps(void)
{
	if (pipe(pipe_fds) < 0)
		fail("pipe");
	in_threads(sleep_calls);
}

/* Waits in one thread, in epoll_wait() without a limit and is woken by a timer's signal. */
static atomic_uint ticks;

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
}

static void loop_of_one(void)
{
	struct sigaction sa = {.sa_handler = on_tick};
	struct epoll_event ev = {.events = EPOLLIN};
	int ep = epoll_create1(EPOLL_CLOEXEC);
	char c;

	sigaction(SIGUSR2, &sa, NULL);
	epoll_ctl(ep, EPOLL_CTL_ADD, 0, &ev);
	for (;;) {
		int n = epoll_wait(ep, &ev, 1, -1);

		/* A signal is sent to this program by nobody. */
		if (n < 0)
			fail("epoll_wait");
		if (n == 1 && read(0, &c, 1) <= 0)
			return;
	}
}

/* All signals are blocked, and each that is sent is fetched by sigwait(). */
static void *wait_signals(void *arg)
{
	unsigned *got = arg;
	sigset_t all;
	int sig;

	sigfillset(&all);
	while (!over || *got < 100) {
		if (sigwait(&all, &sig))
			fail("sigwait");
		if (sig == SIGTERM)
			break;
		++*got;
	}
	return NULL;
}

static void blocked(void)
{
	unsigned got = 0;
	pthread_t t;

	pthread_create(&t, NULL, wait_signals, &got);
	while (!over) {
		pthread_kill(t, SIGUSR1);
		nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
	}
	pthread_kill(t, SIGTERM);
	pthread_join(t, NULL);
	if (!got)
		fail("signals");
}

/* Computes without a call: there is nobody to borrow but a thread that runs. Vector registers are in use at each moment. */
static volatile unsigned zero; /* so that no call can be left out */

static __attribute__((noinline)) double compute(unsigned rounds)
{
	double a[16], sum = zero;

	for (unsigned i = 0; i < 16; i++)
		a[i] = 1.0 + i;
	for (unsigned r = 0; r < rounds; r++)
		for (unsigned i = 0; i < 16; i++)
			a[i] = a[i] * 1.0000001 + 1e-9 * i;
	for (unsigned i = 0; i < 16; i++)
		sum += a[i];
	return sum;
}

static void busy(void)
{
	double first = compute(200000);
	int flags = fcntl(0, F_GETFL);
	char c;

	fcntl(0, F_SETFL, flags | O_NONBLOCK);
	do
		if (compute(200000) != first)
			fail("arithmetic");
	while (read(0, &c, 1) != 0);
	fcntl(0, F_SETFL, flags);
}

/* Waits mostly, in a call that a stop ends with EINTR, in one in which no thread is borrowed: it is met there by chance. */
static void events(void)
{
	struct timespec limit = {.tv_nsec = 500000};
	int flags = fcntl(0, F_GETFL);
	aio_context_t ctx = 0;
	struct io_event event;
	char c;

	if (syscall(SYS_io_setup, 1, &ctx) < 0)
		fail("io_setup");
	fcntl(0, F_SETFL, flags | O_NONBLOCK);
	do {
		(void)compute(100);
		if (syscall(SYS_io_getevents, ctx, 1, 1, &event, &limit) != 0)
			fail("io_getevents");
	} while (read(0, &c, 1) != 0);
	fcntl(0, F_SETFL, flags);
}

static void *compute_in_thread(void *arg)
{
	double first = compute(100000);

	(void)arg;
	while (!over) {
		if (compute(100000) != first)
			fail("arithmetic");
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
	return NULL;
}

/* Threads come and go. */
static void *nothing(void *arg)
{
	return arg;
}

static void *make_threads(void *arg)
{
	while (!over) {
		void *got;
		pthread_t t;

		if (pthread_create(&t, NULL, nothing, arg) || pthread_join(t, &got) || got != arg)
			fail("a thread");
	}
	return NULL;
}

/* Writes to a reader that takes its time, as one call: a stop would end it with what has been written by then. */
static void writes(void)
{
	enum { PART = 65536, PARTS = 64 };
	static char bytes[PART * PARTS];
	pid_t child;
	ssize_t n;
	int ends[2];
	char c;

	if (pipe(ends) < 0)
		fail("pipe");
	child = fork();
	if (child == 0) {
		close(ends[1]);
		while (read(ends[0], bytes, PART) > 0)
			nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
		_exit(0);
	}
	close(ends[0]);
	n = write(ends[1], bytes, sizeof(bytes));
	if (n != (ssize_t)sizeof(bytes))
		fail("write");
	close(ends[1]);
	waitpid(child, NULL, 0);
	while (read(0, &c, 1) > 0)
		;
}

/* Takes memory by sbrk(), each piece behind the one before, in a program whose allocator has memory of its own. */
static void take_by_sbrk(void)
{
	void *volatile used = malloc(1);
	int flags = fcntl(0, F_GETFL);
	const char *end;
	char c;

	free(used);
	fcntl(0, F_SETFL, flags | O_NONBLOCK);
	end = sbrk(0);
	do {
		if (sbrk(64) != end)
			fail("sbrk");
		end += 64;
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	} while (read(0, &c, 1) != 0);
	fcntl(0, F_SETFL, flags);
}

/* Unmaps the stack that the program began on, with its arguments, environment and auxiliary vector. */
static void run_elsewhere(void)
{
	static const char said[] = "stackless: all is right\n";
	unsigned long lo = 0, hi = 0;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "[stack]"))
			sscanf(line, "%lx-%lx", &lo, &hi);
	if (!f || fclose(f) ||
	    munmap((void *)(uintptr_t)lo, hi - lo)) /* NOLINT(performance-no-int-to-ptr) */
		fail("munmap");
	while (!over)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	_exit(write(1, said, sizeof(said) - 1) < 0 ? 99 : 24);
}

static void lose_stack(void)
{
	enum { BYTES = 1 << 20 };
	ucontext_t there;

	getcontext(&there);
	there.uc_stack.ss_size = BYTES;
	there.uc_stack.ss_sp =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	there.uc_link = NULL;
	if (there.uc_stack.ss_sp == MAP_FAILED)
		fail("mmap");
	makecontext(&there, run_elsewhere, 0);
	setcontext(&there);
}

static const struct mode {
	const char *name;
	void (*run)(void);
	void *(*in_thread)(void *);
	bool reads; /* its standard input, by itself */
} modes[] = {
	{"malloc", NULL, allocate, false},
	{"forks", forks, NULL, false},
	{"fork-threads", NULL, fork_in_thread, false},
	{"spawns", spawns, NULL, false},
	{"handlers", handlers, NULL, false},
	{"sleeps", sleeps, NULL, false},
	{"epoll", loop_of_one, NULL, true},
	{"blocked", blocked, NULL, false},
	{"busy", busy, NULL, true},
	{"vectors", NULL, compute_in_thread, false},
	{"threads", NULL, make_threads, false},
	{"events", events, NULL, true},
	{"writes", writes, NULL, true},
	{"sbrk", take_by_sbrk, NULL, true},
	{"stackless", lose_stack, NULL, false},
};

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++) {
		const struct mode *m = &modes[i];
		sigset_t all;
		pthread_t t;

		if (strcmp(argv[1], m->name))
			continue;
		sigfillset(&all);
		if (!strcmp(m->name, "blocked"))
			pthread_sigmask(SIG_SETMASK, &all, NULL);
		if (!m->reads)
			pthread_create(&t, NULL, await_end, NULL);
		if (m->run)
			m->run();
		else
			in_threads(m->in_thread);
		printf("%s: all is right\n", m->name);
		return 10 + (int)i;
	}
	return 2;
}
