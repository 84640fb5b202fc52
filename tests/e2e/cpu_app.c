/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/*
 * Targets of cpu.sh: programs that use CPU in known ways, or that would notice a careless guest. Their
 * accelerator is the agent's fake runtime; without the agent they do the same.
 *
 *     cpu_app CASE [SECONDS]    0: all was as it should be
 */

#define NOINLINE __attribute__((noinline, noclone))
#define CHECK(condition)                                                                    \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, \
				strerror(errno));                                           \
			exit(1);                                                            \
		}                                                                           \
	} while (0)

static double seconds = 2;
static volatile uint64_t sink;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Launches of the fake device; with 0 its runtime is only started. */
static void launch(unsigned n)
{
	int (*run)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "aif_fake_run");
	char script[64] = "# nothing";

	if (n)
		snprintf(script, sizeof(script), "generate launches=%u kernels=1 streams=1", n);
	if (run)
		run(script);
}

static NOINLINE void burn(unsigned rounds)
{
	uint64_t x = 1;

	for (unsigned i = 0; i < rounds; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink += x;
}

static NOINLINE void burn_for(double s)
{
	double end = now(CLOCK_THREAD_CPUTIME_ID) + s;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		burn(20000);
}

/* ---- shares: ten functions, each of which knows its part -------------------------------------------- */

/*
 * Each round calls them in another order: the kernel's tick, which starts the samples of CPU timers, then comes upon
 * each as often as its share says, whatever the length of a round. In one order, rounds of 3 ms keep time with a tick
 * of 4 ms, and a function of 20 % has 30 % of the samples.
 */

#define PARTS(X) \
	X(1, 28) X(2, 20) X(3, 14) X(4, 11) X(5, 8) X(6, 6) X(7, 5) X(8, 4) X(9, 3) X(10, 1)
#define X(n, part)                                                    \
	static NOINLINE void part_##n(void)                           \
	{                                                             \
		uint64_t x = n;                                       \
                                                                      \
		for (unsigned i = 0; i < part * 20000u; i++)          \
			x = x * 6364136223846793005u + 144269504088u; \
		sink += x;                                            \
	}
PARTS(X)
#undef X

static int shares(void)
{
	static void (*const part[])(void) = {
#define X(n, share) part_##n,
		PARTS(X)
#undef X
	};
	double used[10] = {0}, sum = 0, end = now(CLOCK_THREAD_CPUTIME_ID) + seconds, before, after;
	unsigned order[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
	uint64_t random = 1;

	before = now(CLOCK_THREAD_CPUTIME_ID);
	while (before < end)
		for (unsigned left = 10; left; left--) {
			random = random * 6364136223846793005u + 1442695040888963407u;

			unsigned at = (unsigned)(random >> 33) % left, i = order[at];

			order[at] = order[left - 1];
			order[left - 1] = i;
			part[i]();
			after = now(CLOCK_THREAD_CPUTIME_ID);
			used[i] += after - before;
			before = after;
		}
	for (unsigned i = 0; i < 10; i++)
		sum += used[i];
	for (unsigned i = 0; i < 10; i++)
		printf("part_%u %.2f\n", i + 1, 100 * used[i] / sum);
	printf("sum %.3f\n", sum);
	return 0;
}

/* The same work each time; prints the CPU time that it took. */
static int work(void)
{
	double before = now(CLOCK_THREAD_CPUTIME_ID);

	for (unsigned i = 0; i < (unsigned)(seconds * 10000); i++)
		burn(100000);
	printf("%.6f\n", now(CLOCK_THREAD_CPUTIME_ID) - before);
	return 0;
}

/* ---- waits: every call that a signal could end early ------------------------------------------------ */

static int feed[2];

static void *feeder(void *arg)
{
	char byte = 0;

	(void)arg;
	while (write(feed[1], &byte, 1) == 1)
		poll(NULL, 0, 1);
	return NULL;
}

static int waits(void)
{
	double end = now(CLOCK_MONOTONIC) + seconds;
	int quiet[2], ep = epoll_create1(0), sem = semget(IPC_PRIVATE, 1, 0600);
	uint64_t calls = 0, interrupted = 0;
	pthread_t thread;
	sigset_t none;
	char byte;

	CHECK(pipe(quiet) == 0 && pipe(feed) == 0 && ep >= 0 && sem >= 0);
	CHECK(pthread_create(&thread, NULL, feeder, NULL) == 0);
	sigemptyset(&none);
	sigaddset(&none, SIGUSR2);
	while (now(CLOCK_MONOTONIC) < end) {
		for (unsigned kind = 0; kind < 9; kind++) {
			struct pollfd p = {.fd = quiet[0], .events = POLLIN};
			struct timespec brief = {.tv_nsec = kind & 1 ? 1000 : 200000};
			struct timeval tv = {.tv_usec = 100};
			struct sembuf op = {.sem_op = -1};
			struct epoll_event event;
			int word = 0, r = 0;

			burn((unsigned)(calls * 7919 % 60000));
			errno = 0;
			switch (kind) {
			case 0:
				r = poll(&p, 1, calls % 8 ? 0 : 1);
				break;
			case 1:
				r = nanosleep(&brief, NULL);
				break;
			case 2:
				r = epoll_wait(ep, &event, 1, calls % 8 ? 0 : 1);
				break;
			case 3:
				r = select(0, NULL, NULL, NULL, &tv);
				break;
			case 4:
				r = semtimedop(sem, &op, 1, &brief);
				break;
			case 5:
				r = (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, &brief, NULL, 0);
				break;
			case 6:
				r = (int)read(feed[0], &byte, 1);
				break;
			case 7:
				r = ppoll(&p, 1, &brief, NULL);
				break;
			case 8:
				r = sigtimedwait(&none, NULL, &brief);
				break;
			}
			calls++;
			interrupted += r < 0 && errno == EINTR;
		}
	}
	semctl(sem, 0, IPC_RMID);
	printf("calls %lu, EINTR %lu\n", (unsigned long)calls, (unsigned long)interrupted);
	return interrupted != 0;
}

/* ---- threads, stacks, masks, signals ---------------------------------------------------------------- */

static void *short_thread(void *arg)
{
	burn_for((uintptr_t)arg % 12 ? 0.002 : 0.02);
	return NULL;
}

static int threads(void)
{
	for (unsigned i = 0; i < 300; i++) {
		pthread_t t[4];

		for (uintptr_t k = 0; k < 4; k++)
			CHECK(pthread_create(&t[k], NULL, short_thread, (void *)(i + k)) == 0);
		for (unsigned k = 0; k < 4; k++)
			CHECK(pthread_join(t[k], NULL) == 0);
	}
	return 0;
}

static ucontext_t outside, inside;

static NOINLINE void on_small_stack(void)
{
	burn_for(seconds);
}

/* A coroutine with 16 KiB, in a mapping of its own that ends with its stack. */
static int coroutine(void)
{
	size_t size = 16384;
	char *stack = aligned_alloc(4096, size);

	memset(stack, 0x5a, 4096);
	CHECK(getcontext(&inside) == 0);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside;
	makecontext(&inside, on_small_stack, 0);
	CHECK(swapcontext(&outside, &inside) == 0);
	for (unsigned i = 0; i < 1024; i++)
		CHECK(stack[i] == 0x5a);
	return 0;
}

/* A thread that fetches signals itself must never get ours. */
static int blocked(void)
{
	struct timespec no_time = {0};
	double end = now(CLOCK_MONOTONIC) + seconds;
	sigset_t all, old;

	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_SETMASK, &all, &old) == 0);
	launch(0);
	while (now(CLOCK_MONOTONIC) < end) {
		burn(100000);
		CHECK(sigtimedwait(&all, NULL, &no_time) < 0 && errno == EAGAIN);
	}
	return 0;
}

static _Atomic unsigned profs, urgents, strangers;

static void on_prof(int sig)
{
	(void)sig;
	profs++;
}

static void on_urgent(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	urgents++;
	strangers += info->si_code != SI_TKILL && info->si_code != SI_USER;
}

/* Checks that a program's own SIGPROF profiler goes on ticking. */
static int profiler(void)
{
	struct sigaction sa = {.sa_handler = on_prof, .sa_flags = SA_RESTART}, seen;
	struct itimerval each = {{0, 10000}, {0, 10000}};

	CHECK(sigaction(SIGPROF, &sa, NULL) == 0 && setitimer(ITIMER_PROF, &each, NULL) == 0);
	burn_for(seconds);
	/* The kernel's ticks seldom meet a thread whose CPU others want. */
	for (double end = now(CLOCK_MONOTONIC) + 60;
	     profs <= seconds * 30 && now(CLOCK_MONOTONIC) < end;)
		burn(20000);
	CHECK(sigaction(SIGPROF, NULL, &seen) == 0 && seen.sa_handler == on_prof);
	CHECK(profs > seconds * 30);
	return 0;
}

/* Checks that a program with its own SIGURG handler gets the signals it sends itself, and no
 * others. */
static int urgent(void)
{
	struct sigaction sa = {.sa_sigaction = on_urgent, .sa_flags = SA_SIGINFO | SA_RESTART};

	CHECK(sigaction(SIGURG, &sa, NULL) == 0);
	launch(0);
	burn_for(seconds / 2);
	raise(SIGURG);
	burn_for(seconds / 2);
	CHECK(urgents == 1 && strangers == 0);
	return 0;
}

static NOINLINE void after_restoring(void)
{
	burn_for(seconds / 2);
	launch(0);
}

/* Restores the signal's default, as programs do that restore all. */
static int restores(void)
{
	launch(0);
	burn_for(seconds / 2);
	CHECK(signal(SIGURG, SIG_DFL) != SIG_ERR);
	after_restoring();
	return 0;
}

/* errno, the rounding mode and all vector registers are as they were. */
static int registers(void)
{
	double end = now(CLOCK_THREAD_CPUTIME_ID) + seconds, first = 0;
	bool have_first = false;

	fesetround(FE_UPWARD);
	while (now(CLOCK_THREAD_CPUTIME_ID) < end) {
		double v[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sum = 0;

		errno = 4321;
		for (unsigned i = 0; i < 300000; i++)
			for (unsigned k = 0; k < 8; k++)
				v[k] = v[k] * 1.0000001 + 0.1;
		for (unsigned k = 0; k < 8; k++)
			sum += v[k];
		CHECK(errno == 4321 && fegetround() == FE_UPWARD);
		CHECK(!have_first || sum == first);
		first = sum;
		have_first = true;
	}
	return 0;
}

static int child_status(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* A child that goes on, one that starts its own, and another program. */
static int forks(char **argv)
{
	char what[] = "burn", how_long[] = "1";
	char *args[] = {argv[0], what, how_long, NULL}, *no_env[] = {NULL};
	pid_t pid;

	burn_for(0.3);
	for (unsigned i = 0; i < 3; i++) {
		pid = fork();
		if (pid == 0) {
			if (i == 1)
				launch(1);
			if (i == 2)
				execve("/proc/self/exe", args, no_env);
			burn_for(0.5);
			exit(0);
		}
		burn_for(0.2);
		CHECK(pid > 0 && child_status(pid) == 0);
	}
	/* The process itself becomes another program, while its threads are sampled. */
	execve("/proc/self/exe", args, no_env);
	return 1;
}

static NOINLINE unsigned deep(unsigned depth)
{
	unsigned r = depth ? deep(depth - 1) : (burn_for(seconds), 0);

	return r + (unsigned)sink % 2;
}

static void *deep_thread(void *arg)
{
	(void)arg;
	poll(NULL, 0, 600); /* until the helper has found all */
	deep(120);
	return NULL;
}

/* Many threads with deep stacks. */
static int many(void)
{
	pthread_t t[64];

	seconds /= 64;
	for (unsigned i = 0; i < 64; i++)
		CHECK(pthread_create(&t[i], NULL, deep_thread, NULL) == 0);
	for (unsigned i = 0; i < 64; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	return 0;
}

/* The main thread, which is the only one, ends by a system call. */
static int exits_alone(void)
{
	burn_for(seconds);
	syscall(SYS_exit, 4);
	return 1;
}

/* Faults where an access is not aligned, as programs look for such (EFLAGS.AC). */
static int aligned(void)
{
#ifdef __x86_64__
	double end = now(CLOCK_THREAD_CPUTIME_ID) + seconds;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 1000; i++)
			__asm__ volatile(
				"sub $128, %%rsp; pushfq; orl $0x40000, (%%rsp); popfq; mov $100000, %%ecx; "
				"1: dec %%ecx; jnz 1b; pushfq; andl $0xfffbffff, (%%rsp); popfq; add $128, %%rsp" ::
					: "rcx", "cc", "memory");
#endif
	return 0;
}

/* Touches shared memory of System V for the first time: such faults the kernel begins twice. */
static int shared(void)
{
	const size_t size = 8 << 20;
	int id;
	char *at;

	CHECK((id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600)) >= 0);
	CHECK((at = shmat(id, NULL, 0)) != (char *)-1);
	CHECK(!shmctl(id, IPC_RMID, NULL));
	burn_for(seconds);
	for (size_t i = 0; i < size; i += 4096)
		at[i] = 1;
	return 0;
}

/* A hundredth of a CPU: a sample a second, at 99 Hz. */
static int rarely(void)
{
	double end = now(CLOCK_MONOTONIC) + seconds;

	while (now(CLOCK_MONOTONIC) < end) {
		burn_for(0.002);
		poll(NULL, 0, 198);
	}
	printf("sum %.4f\n", now(CLOCK_THREAD_CPUTIME_ID));
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc > 2)
		seconds = atof(argv[2]);
	if (!strcmp(what, "blocked"))
		return blocked();
	if (!strcmp(what, "urgent"))
		return urgent();
	if (!strcmp(what, "restores"))
		return restores();
	if (!strcmp(what, "burn")) {
		burn_for(seconds);
		return 0;
	}
	if (!strcmp(what, "exits_alone"))
		return exits_alone();
	if (!strcmp(what, "shared"))
		return shared();
	if (!strcmp(what, "aligned"))
		return aligned();
	launch(0);
	/* Until the helper has found this thread: what comes is to be sampled from its start. */
	poll(NULL, 0, 200);
	if (!strcmp(what, "shares"))
		return shares();
	if (!strcmp(what, "work"))
		return work();
	if (!strcmp(what, "waits"))
		return waits();
	if (!strcmp(what, "threads"))
		return threads();
	if (!strcmp(what, "coroutine"))
		return coroutine();
	if (!strcmp(what, "profiler"))
		return profiler();
	if (!strcmp(what, "registers"))
		return registers();
	if (!strcmp(what, "forks"))
		return forks(argv);
	if (!strcmp(what, "rarely"))
		return rarely();
	if (!strcmp(what, "many"))
		return many();
	if (!strcmp(what, "deep"))
		return deep(40) > 1000;
	return 2;
}
