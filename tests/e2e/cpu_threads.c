/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/*
 * Threads that live shortly: `cpu_threads MS SECONDS [AT_ONCE]`. Each computes for MS of CPU time, three quarters of it in
 * heavy(), then the rest in light(), measured by its own clock; as many as make SECONDS of CPU time one after another, AT_ONCE
 * (2) beside each other. Prints what the two used in all, in seconds, and the process's CPU time.
 */

static double ms;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double used[2];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Two functions of one text each: equal ones would be folded into one. 0.05 ms a look at the clock. */
#define COMPUTES(name, step)                                      \
	__attribute__((noinline)) static double name(double time) \
	{                                                         \
		volatile uint64_t sum = 0;                        \
		double begin = now(), end = begin;                \
                                                                  \
		for (; end < begin + time; end = now())           \
			for (unsigned i = 0; i < 25000; i++)      \
				sum += i * (step);                \
		return end - begin;                               \
	}
COMPUTES(heavy, 3)
COMPUTES(light, 5)

static void *work(void *arg)
{
	double begin = now(), a = heavy(0.75e-3 * ms), b = light(1e-3 * ms - (now() - begin));

	pthread_mutex_lock(&lock);
	used[0] += a;
	used[1] += b;
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) : 1;
	int at_once = argc > 3 ? atoi(argv[3]) : 2;
	pthread_t threads[64];
	struct rusage u;

	ms = argc > 1 ? atof(argv[1]) : 1;
	while (used[0] + used[1] < seconds) {
		for (int i = 0; i < at_once; i++)
			if (pthread_create(&threads[i], NULL, work, NULL))
				return 1;
		for (int i = 0; i < at_once; i++)
			pthread_join(threads[i], NULL);
	}
	getrusage(RUSAGE_SELF, &u);
	printf("heavy %.4f\nlight %.4f\nall %.4f\n", used[0], used[1],
	       (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
	return 0;
}
