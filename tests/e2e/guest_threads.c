/* SPDX-License-Identifier: Apache-2.0 */
#include "guest_app.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Programs whose threads begin and end in all ways that there are, for so long that the agent has found them at work. */
#define ROUND_NS UINT64_C(700000000)

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The argument of one thread, which finds out if another has got it, too. */
struct job {
	uint64_t magic;
	unsigned loops;
};
#define MAGIC UINT64_C(0x5ca1ab1e0ddba115)

static atomic_uint wrong;

static void compute(unsigned loops)
{
	static volatile uint64_t sum;

	for (unsigned i = 0; i < loops; i++)
		sum += i;
}

static void *do_job(void *arg)
{
	struct job *job = arg;

	if (job->magic != MAGIC || errno)
		wrong++;
	job->magic = 0;
	compute(job->loops);
	return &job->magic;
}

/* Creates threads, each with a job of its own, and joins them. */
static void batch(unsigned n, const pthread_attr_t *attr)
{
	struct job jobs[16];
	pthread_t threads[16];
	void *returned;

	for (unsigned i = 0; i < n; i++) {
		jobs[i] = (struct job){MAGIC, 3000u * (i + 1)};
		threads[i] = pthread_self(); /* which cannot be joined */
		pthread_create(&threads[i], attr, do_job, &jobs[i]);
	}
	for (unsigned i = 0; i < n; i++)
		if (pthread_join(threads[i], &returned) || returned != &jobs[i].magic ||
		    jobs[i].magic)
			wrong++;
}

static atomic_bool stops;

static void *make_batches(void *arg)
{
	while (!stops)
		batch(8, NULL);
	return arg;
}

static void in_child(void)
{
	batch(2, NULL);
}

/* Forks while other threads create threads, as PyTorch's loaders do; parent and child create threads at once. */
void guest_threads_fork(void)
{
	uint64_t until = now_ns() + ROUND_NS;
	pthread_t makers[2];
	int bad = 0;

	pthread_atfork(NULL, NULL, in_child);
	for (int i = 0; i < 2; i++)
		pthread_create(&makers[i], NULL, make_batches, NULL);
	for (unsigned i = 0; now_ns() < until; i++) {
		pid_t child = fork(), grandchild;

		if (!child) {
			wrong = 0;
			batch(8, NULL);
			grandchild = i % 4 ? -1 : fork();
			batch(4, NULL);
			if (!grandchild)
				_exit(wrong != 0);
			if (grandchild > 0 && guest_status(grandchild))
				wrong++;
			_exit(wrong != 0);
		}
		batch(8, NULL);
		bad += guest_status(child) != 0;
	}
	stops = true;
	for (int i = 0; i < 2; i++)
		pthread_join(makers[i], NULL);
	guest_say("children that failed", bad);
	guest_say("wrong", wrong);
}

void guest_threads_storm(void)
{
	uint64_t until = now_ns() + ROUND_NS;
	pthread_t makers[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&makers[i], NULL, make_batches, NULL);
	while (now_ns() < until)
		batch(16, NULL);
	stops = true;
	for (int i = 0; i < 4; i++)
		pthread_join(makers[i], NULL);
	guest_say("wrong", wrong);
}

/* Gives each thread the least stack that there is, one of its own, with a page behind that nobody may touch. */
void guest_threads_small(void)
{
	size_t bytes = (size_t)sysconf(_SC_THREAD_STACK_MIN), page = 4096;
	uint64_t until = now_ns() + ROUND_NS;
	pthread_attr_t least, own;
	char *stack;

	bytes = bytes < 16384 ? 16384 : (bytes + page - 1) / page * page;
	stack = mmap(NULL, bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	guest_say("mprotect", mprotect(stack + page, bytes, PROT_READ | PROT_WRITE));
	pthread_attr_init(&least);
	guest_say("least", pthread_attr_setstacksize(&least, bytes));
	pthread_attr_init(&own);
	guest_say("own", pthread_attr_setstack(&own, stack + page, bytes));
	while (now_ns() < until) {
		batch(8, &least);
		batch(1, &own);
	}
	guest_say("wrong", wrong);
}

static pthread_key_t key;
static atomic_uint destructors, cleanups;

static void count_destructor(void *arg)
{
	destructors += arg == &key;
}

static void count_cleanup(void *arg)
{
	cleanups += arg == &key;
}

static void *wait_for_cancel(void *arg)
{
	pthread_setspecific(key, &key);
	pthread_cleanup_push(count_cleanup, &key);
	if (arg)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;) {
		compute(10000);
		if (!arg)
			pthread_testcancel();
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void leave_from_within(void)
{
	pthread_exit(&key);
}

static void *leave(void *arg)
{
	pthread_setspecific(key, &key);
	pthread_cleanup_push(count_cleanup, &key);
	compute(10000);
	leave_from_within();
	pthread_cleanup_pop(0);
	return arg;
}

/* Ends threads by cancelling them, some before they have begun, and by pthread_exit(). */
void guest_threads_end(void)
{
	static void *(*const starts[])(void *) = {wait_for_cancel, wait_for_cancel, leave};
	uint64_t until = now_ns() + ROUND_NS;
	unsigned n = 0, bad = 0;

	pthread_key_create(&key, count_destructor);
	for (; now_ns() < until; n++) {
		pthread_t thread;
		void *returned;

		bad += pthread_create(&thread, NULL, starts[n % 3], n % 3 == 1 ? &key : NULL) != 0;
		if (n % 2)
			compute(20000);
		if (n % 3 < 2)
			pthread_cancel(thread);
		bad += pthread_join(thread, &returned) != 0;
		bad += returned != (n % 3 < 2 ? PTHREAD_CANCELED : (void *)&key);
	}
	guest_say("bad", bad);
	/* A thread that was cancelled at its first moment has set nothing. */
	guest_say("as many", destructors == cleanups && cleanups * 10 > n);
}

static void *outlive(void *arg)
{
	uint64_t until = now_ns() + ROUND_NS / 2;

	while (now_ns() < until)
		batch(4, NULL);
	guest_say("wrong", wrong);
	return arg;
}

/* The first thread leaves while others create more. */
void guest_threads_outlive(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, outlive, NULL);
	pthread_detach(thread);
	batch(8, NULL);
	pthread_exit(NULL);
}

/* Fails to create threads more often than the agent has entries for those that begin, then creates one. */
void guest_threads_refused(void)
{
	uint64_t until = now_ns() + ROUND_NS;
	int refused = 0, other = 0;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)1 << 46);
	while (now_ns() < until || refused < 1000) {
		pthread_t thread;
		int r = pthread_create(&thread, &attr, do_job, NULL);

		refused += r == EAGAIN || r == ENOMEM;
		other += r != EAGAIN && r != ENOMEM;
	}
	batch(16, NULL);
	guest_say("other", other);
	guest_say("wrong", wrong);
}
