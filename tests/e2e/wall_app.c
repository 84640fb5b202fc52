/* SPDX-License-Identifier: Apache-2.0 */
/* wall_app S: waits for another thread, sleeps and computes, for as long as it is told; prints how its main thread's time was
 * spent by its own clocks: "waited 0.512", "slept 0.251", "computed 0.237", shares of all of it.
 * wall_app S joins: waits for the lock of a file that another thread holds while it computes, then for that thread's end. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int asked, over;
static volatile double sink;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void compute(double s)
{
	double end = now(CLOCK_THREAD_CPUTIME_ID) + s;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 100000; i++)
			sink = sink + i;
}

static void *serve(void *arg)
{
	pthread_mutex_lock(&lock);
	while (!over) {
		if (asked) {
			compute(0.02);
			asked = 0;
			pthread_cond_broadcast(&turn);
		} else {
			pthread_cond_wait(&turn, &lock);
		}
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

__attribute__((noinline)) static void ask(void)
{
	pthread_mutex_lock(&lock);
	asked = 1;
	pthread_cond_broadcast(&turn);
	while (asked)
		pthread_cond_wait(&turn, &lock);
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void rest(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static double seconds;
static sem_t held;

static void *hold(void *file)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		abort();
	sem_post(&held);
	compute(seconds / 2);
	flock(fd, LOCK_UN);
	compute(seconds / 2);
	return NULL;
}

__attribute__((noinline)) static void lock_file(const char *file)
{
	int fd = open(file, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		abort();
}

static int join(void)
{
	static char file[] = "locked";
	pthread_t holder;

	sem_init(&held, 0, 0);
	if (pthread_create(&holder, NULL, hold, file))
		return 1;
	sem_wait(&held);
	lock_file(file);
	return pthread_join(holder, NULL) != 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[2], "joins")) {
		seconds = atof(argv[1]);
		return join();
	}

	double begin = now(CLOCK_MONOTONIC), end = begin + (argc > 1 ? atof(argv[1]) : 2),
	       at = begin, waited = 0, slept = 0, computed = 0;
	pthread_t server;

	if (pthread_create(&server, NULL, serve, NULL))
		return 1;
	while (at < end) {
		double t[3];

		ask();
		t[0] = now(CLOCK_MONOTONIC);
		rest();
		t[1] = now(CLOCK_MONOTONIC);
		compute(0.01);
		t[2] = now(CLOCK_MONOTONIC);
		waited += t[0] - at;
		slept += t[1] - t[0];
		computed += t[2] - t[1];
		at = t[2];
	}
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_cond_broadcast(&turn);
	pthread_mutex_unlock(&lock);
	pthread_join(server, NULL);
	printf("waited %.4f\nslept %.4f\ncomputed %.4f\n", waited / (at - begin),
	       slept / (at - begin), computed / (at - begin));
	return 0;
}
