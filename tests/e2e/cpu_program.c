/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trainer without an accelerator: each step computes 6 parts of its CPU time in gemm, 3 in attention, 1 in norm. It
 * measures what each took and prints it: "gemm 60.01", then "sum SECONDS". No two functions have the same code, and
 * none is inlined or a tail call.
 *   cpu_program SECONDS            one thread
 *   cpu_program SECONDS threads N  N threads
 *   cpu_program SECONDS forks N    N processes, forked; their parent computes nothing
 *   cpu_program SECONDS sleeps     on a CPU for a fifth of the time
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noipa))

static volatile double sink;
static double seconds;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

FUNCTION static void gemm(double until)
{
	double x = 1;

	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		for (int i = 0; i < 20000; i++)
			x = x * 0.999 + i;
	sink = x;
}

FUNCTION static void attention(double until)
{
	double x = 2;

	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		for (int i = 0; i < 20000; i++)
			x = x + i * 0.25;
	sink = x;
}

FUNCTION static void norm(double until)
{
	double x = 3;

	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		for (int i = 1; i < 5000; i++)
			x = x / i + 1;
	sink = x;
}

/* Adds to took[3] the CPU time of its parts. */
FUNCTION static void step(double took[3])
{
	static void (*const parts[])(double) = {gemm, attention, norm};
	static const double share[] = {0.6, 0.3, 0.1};

	for (int i = 0; i < 3; i++) {
		double from = now(CLOCK_THREAD_CPUTIME_ID);

		parts[i](from + 0.02 * share[i]);
		took[i] += now(CLOCK_THREAD_CPUTIME_ID) - from;
	}
}

FUNCTION static void *train(void *arg)
{
	double *took = arg, end = now(CLOCK_THREAD_CPUTIME_ID) + seconds;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		step(took);
	return NULL;
}

FUNCTION static void sleep_and_train(double took[3])
{
	double end = now(CLOCK_MONOTONIC) + seconds;

	while (now(CLOCK_MONOTONIC) < end) {
		step(took);
		usleep(80000);
	}
}

static void print(const double took[3])
{
	static const char *const names[] = {"gemm", "attention", "norm"};
	double sum = took[0] + took[1] + took[2];

	for (int i = 0; i < 3; i++)
		printf("%s %.3f\n", names[i], 100 * took[i] / sum);
	printf("sum %.6f\n", sum);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	int n = argc > 3 ? atoi(argv[3]) : 1;
	double(*took)[3] = calloc((size_t)n, sizeof(*took));
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));

	seconds = argc > 1 ? atof(argv[1]) : 1;
	if (!took || !threads || n < 1)
		return 1;
	if (!strcmp(how, "threads")) {
		for (int i = 0; i < n; i++)
			if (pthread_create(&threads[i], NULL, train, took[i]))
				return 1;
		for (int i = 0; i < n; i++)
			pthread_join(threads[i], NULL);
		for (int i = 1; i < n; i++)
			for (int k = 0; k < 3; k++)
				took[0][k] += took[i][k];
	} else if (!strcmp(how, "forks")) {
		for (int i = 0; i < n; i++)
			if (!fork()) {
				train(took[0]);
				return 0;
			}
		while (wait(NULL) > 0)
			;
		return 0;
	} else if (!strcmp(how, "sleeps")) {
		sleep_and_train(took[0]);
	} else {
		train(took[0]);
	}
	print(took[0]);
	return 0;
}
