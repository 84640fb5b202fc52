/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/*
 * Measures what a CPU sample costs its thread: cpu.sh loads this into a Python program that is recorded. The agent's
 * handler is called from a handler of ours, in which a signal of ours has interrupted the program 40 native frames
 * deep, with cold caches; the kernel's part, which an empty handler has too, is not in it.
 */

#define NOINLINE  __attribute__((noinline, noclone))
#define POLLUTION (1u << 20)

static void (*theirs)(int, siginfo_t *, void *);
static uint64_t body_ns;
static uint8_t cold[POLLUTION];
static volatile uint64_t sink;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	siginfo_t as_from_perf = {.si_signo = SIGURG, .si_code = POLL_IN};
	uint64_t begin;

	(void)sig;
	(void)info;
	begin = now();
	theirs(SIGURG, &as_from_perf, context);
	body_ns = now() - begin;
}

static NOINLINE void deep(unsigned depth)
{
	if (depth)
		deep(depth - 1);
	else
		raise(SIGUSR1);
	sink++;
}

/* The handler's time in ns; 0: this process is not sampled. */
uint64_t bench_cpu_one(unsigned depth, int evict);
uint64_t bench_cpu_one(unsigned depth, int evict)
{
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO}, old;

	sigaction(SIGURG, NULL, &old);
	if (!(old.sa_flags & SA_SIGINFO))
		return 0;
	theirs = old.sa_sigaction;
	sigfillset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	for (unsigned i = 0; evict && i < POLLUTION; i += 64)
		sink += cold[i]++;
	deep(depth);
	return body_ns;
}
