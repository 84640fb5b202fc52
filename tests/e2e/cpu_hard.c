/* SPDX-License-Identifier: Apache-2.0 */
/* CPU time that is hard to sample: in the OS kernel, in handlers on their own stack, in fibers, in threads that block signals, deep
 * in recursion. Of its functions it prints the share of CPU time, in percent: cpu_hard.sh. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define ENDED    __asm__ volatile("") /* behind a call: no tail call */
#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

NOINLINE static void burn(uint64_t turns)
{
	for (uint64_t i = 0; i < turns; i++)
		sink += i * i;
}

/* ---- in the OS kernel ---------------------------------------------------------------------------- */

#define BYTES (16u << 20)

static int zero;
static char *bytes;

NOINLINE static void in_call(void)
{
	if (read(zero, bytes, BYTES) < 0)
		abort();
	ENDED;
}

/* Touches memory that is new each time. */
NOINLINE static void in_faults(char *p)
{
	for (size_t i = 0; i < BYTES / 4; i += 4096)
		p[i] = 1;
	ENDED;
}

NOINLINE static void in_user(uint64_t turns)
{
	burn(turns);
	ENDED;
}

/* Says on stderr how often others had its CPU, for each second of its time. */
static void kernel(double seconds, int is_call)
{
	double of_kernel = 0, of_user = 0;
	uint64_t turns = 100000;
	struct rusage used;

	zero = open("/dev/zero", O_RDONLY);
	bytes = malloc(BYTES);
	in_call(); /* its pages are there from now on */
	for (unsigned i = 0; of_kernel + of_user < seconds; i++) {
		char *p = mmap(NULL, BYTES / 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		double a, b, c;

		madvise(p, BYTES / 4, MADV_NOHUGEPAGE);
		a = now();
		if (is_call)
			in_call();
		else
			in_faults(p);
		b = now();
		in_user(turns);
		c = now();
		of_kernel += b - a;
		of_user += c - b;
		if (i == 9) /* as much of one as of the other */
			turns = (uint64_t)((double)turns * of_kernel / of_user);
		munmap(p, BYTES / 4);
	}
	printf("%s %.1f\n", is_call ? "in_call" : "in_faults",
	       100 * of_kernel / (of_kernel + of_user));
	printf("in_user %.1f\n", 100 * of_user / (of_kernel + of_user));
	getrusage(RUSAGE_THREAD, &used);
	fprintf(stderr, "%.0f\n", (double)used.ru_nivcsw / (of_kernel + of_user));
}

/* ---- signals ------------------------------------------------------------------------------------- */

static volatile sig_atomic_t handled;

NOINLINE static void in_handler(int s)
{
	(void)s;
	burn(5000000);
	handled++;
}

NOINLINE static void raises(void)
{
	for (unsigned i = 0; i < 40; i++)
		raise(SIGUSR1);
	ENDED;
}

static void handlers(int on_own_stack)
{
	stack_t ss = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	struct sigaction a = {.sa_flags = on_own_stack ? SA_ONSTACK : 0};

	sigaltstack(&ss, NULL);
	a.sa_handler = in_handler;
	sigaction(SIGUSR1, &a, NULL);
	raises();
	printf("handled %d\n", (int)handled);
}

/* ---- in a fiber ---------------------------------------------------------------------------------- */

static ucontext_t main_context, fiber_context;
static uint64_t fiber_turns;

NOINLINE static void fiber_step(void)
{
	burn(fiber_turns);
	ENDED;
}

static void fiber(void)
{
	fiber_step();
	ENDED;
}

static void fibers(uint64_t turns)
{
	fiber_turns = turns;
	getcontext(&fiber_context);
	fiber_context.uc_stack.ss_size = 1 << 18;
	fiber_context.uc_stack.ss_sp = malloc(fiber_context.uc_stack.ss_size);
	fiber_context.uc_link = &main_context;
	makecontext(&fiber_context, fiber, 0);
	swapcontext(&main_context, &fiber_context);
}

/* ---- with signals blocked ------------------------------------------------------------------------ */

NOINLINE static void burn_blocked(uint64_t turns)
{
	burn(turns);
	sink++; /* its code is in_user()'s otherwise, and one of the two would go */
	ENDED;
}

static void *blocks(void *turns)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	burn_blocked(*(uint64_t *)turns);
	return NULL;
}

/* ---- threads that live shortly -------------------------------------------------------------------- */

static void *works(void *seconds)
{
	double until = now() + *(double *)seconds;

	while (now() < until)
		burn(1000);
	return NULL;
}

/* Prints the process's CPU time in milliseconds, as the kernel has it. */
static void short_threads(double seconds)
{
	double each = 0.005;
	struct timespec all;
	pthread_t t;

	for (double had = 0; had < seconds; had += each) {
		pthread_create(&t, NULL, works, &each);
		pthread_join(t, NULL);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all);
	printf("%.0f\n", (double)all.tv_sec * 1e3 + (double)all.tv_nsec / 1e6);
}

/* ---- threads that leave the CPU often -------------------------------------------------------------- */

static int there[2], back[2];

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void *computes(void *arg)
{
	while (!exists("stop"))
		burn(100000);
	return arg;
}

static void *answers(void *arg)
{
	char c;

	while (!exists("go"))
		burn(100000);
	while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
	return arg;
}

/* Two threads compute until there is a file "go", then wait for each other in turns until there is "stop"; a third one computes.
 * Prints the process's CPU time in milliseconds. */
static void switches(void)
{
	struct timespec all;
	pthread_t t[2];
	char c = 0;

	if (pipe(there) || pipe(back))
		exit(1);
	pthread_create(&t[0], NULL, computes, NULL);
	pthread_create(&t[1], NULL, answers, NULL);
	while (!exists("go"))
		burn(100000);
	while (!exists("stop"))
		for (int i = 0; i < 1000; i++)
			if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
				exit(1);
	close(there[1]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all);
	printf("%.0f\n", (double)all.tv_sec * 1e3 + (double)all.tv_nsec / 1e6);
}

/* ---- recursion ----------------------------------------------------------------------------------- */

NOINLINE static int deep(int n, uint64_t turns)
{
	volatile char pad[64];
	int r;

	pad[0] = 1;
	if (n == 0) {
		burn(turns);
		return 1;
	}
	r = deep(n - 1, turns);
	return r + pad[0];
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
	uint64_t turns = (uint64_t)(seconds * 4e8);
	pthread_t t;

	if (!strcmp(what, "call") || !strcmp(what, "faults")) {
		kernel(seconds, !strcmp(what, "call"));
	} else if (!strcmp(what, "handler") || !strcmp(what, "own_stack")) {
		handlers(!strcmp(what, "own_stack"));
	} else if (!strcmp(what, "fiber")) {
		fibers(turns);
	} else if (!strcmp(what, "blocks")) {
		pthread_create(&t, NULL, blocks, &turns);
		burn(turns);
		pthread_join(t, NULL);
	} else if (!strcmp(what, "short")) {
		short_threads(seconds);
	} else if (!strcmp(what, "switches")) {
		switches();
	} else if (!strcmp(what, "deep")) {
		printf("%d\n", deep(3000, turns));
	} else {
		return 2;
	}
	return 0;
}
