/* SPDX-License-Identifier: Apache-2.0 */
#include "aiflame.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_OPENCL
#include "agent_cl.h"
#endif

/*
 * A program that is recorded while it runs: does what the lines on its standard input say, and answers
 * each with one line "WORD TOTAL", TOTAL being the launches that it has made so far (as N processes, if it
 * forked). With the agent's fake runtime, or with OpenCL where it was built so.
 *
 *     attach_app [THREADS]
 *       begin        starts the runtime (every other line but title does, too)
 *       launch N     N launches by each thread
 *       storm, calm  all threads launch until calm, some 40,000 times a second each
 *       pace N       N launches, with the time of each in ns, in the middle: "pace NS"
 *       fork N       a child makes N launches
 *       recording    whether it is recorded now: "recording 1", or 0
 *       close        closes all descriptors but the standard ones, and opens files in their place
 *       title        writes over its environment, as who sets a title does
 *       exec         the same program anew
 *       crash, quit
 */

#define MAX_THREADS 64

static int (*fake_run)(const char *script);
static void (*fake_launch)(uint32_t stream, uint32_t kernel);
static unsigned threads = 1;
static _Atomic uint64_t total, wanted[MAX_THREADS];
static atomic_bool storming, begun;

#ifdef WITH_OPENCL
static struct target target;
static struct worker {
	cl_command_queue queue;
	cl_kernel kernel;
} workers[MAX_THREADS + 1];

static void begin(void)
{
	if (atomic_exchange(&begun, true))
		return;
	target_open(&target);
	for (unsigned i = 0; i <= MAX_THREADS; i++) {
		cl_int error;

		workers[i].queue =
			clCreateCommandQueue(target.context, target.devices[0], 0, &error);
		CHECK(error == CL_SUCCESS);
		workers[i].kernel =
			target_kernel(&target, "add_one", target_buffer(&target, 64), 1);
	}
}

static void launch(unsigned thread)
{
	target_launch(workers[thread].queue, workers[thread].kernel, 64);
	CHECK(clFinish(workers[thread].queue) == CL_SUCCESS);
	total++;
}
#else
static void begin(void)
{
	if (!atomic_exchange(&begun, true) && fake_run)
		fake_run("generate kernels=20 streams=3");
}

static __attribute__((noinline)) void launch(unsigned thread)
{
	if (fake_launch)
		fake_launch(thread % 3, thread % 20);
	total++;
	__asm__ volatile("");
}
#endif

static void *work(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	for (;;) {
		while (atomic_load(&storming)) {
			for (int k = 0; k < 16; k++)
				launch(i);
			nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
		}
		for (; wanted[i]; wanted[i]--)
			launch(i);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return NULL;
}

static void launch_all(uint64_t n)
{
	bool busy = true;

	for (unsigned i = 0; i < threads; i++)
		wanted[i] = n;
	while (busy) {
		busy = false;
		for (unsigned i = 0; i < threads; i++)
			busy |= wanted[i] != 0;
		nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
	}
}

static void start_threads(void)
{
	pthread_t thread;

	for (unsigned i = 0; i < threads; i++)
		pthread_create(&thread, NULL, work, (void *)(uintptr_t)i);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t pace(uint64_t n)
{
	uint64_t *ns = calloc(n, sizeof(*ns)), middle;

	for (uint64_t i = 0; i < n; i++) {
		ns[i] = now_ns();
		launch(MAX_THREADS);
		ns[i] = now_ns() - ns[i];
	}
	qsort(ns, n, sizeof(*ns), compare);
	middle = ns[n / 2];
	free(ns);
	return middle;
}

static void make_child(uint64_t n)
{
	pid_t child = fork();

	if (!child) {
		for (uint64_t i = 0; i < n; i++)
			launch(MAX_THREADS);
		/* The child lives until its recorder has seen it. */
		nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	total += n;
}

static void close_all(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int i = 0; i < 64; i++)
		if (open("/dev/zero", O_RDWR) < 0)
			exit(1);
}

int main(int argc, char **argv)
{
	char line[256], word[16];
	unsigned long n;

	threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	if (threads > MAX_THREADS)
		return 2;
	fake_run = (int (*)(const char *))dlsym(RTLD_DEFAULT, "aif_fake_run");
	fake_launch = (void (*)(uint32_t, uint32_t))dlsym(RTLD_DEFAULT, "aif_fake_launch");
	start_threads();
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		n = 0;
		if (sscanf(line, "%15s %lu", word, &n) < 1)
			continue;
		if (!strcmp(word, "quit"))
			return 0;
		if (!strcmp(word, "crash"))
			raise(SIGKILL);
		if (!strcmp(word, "exec"))
			execv("/proc/self/exe", argv);
		if (strcmp(word, "title"))
			begin();
		if (!strcmp(word, "storm")) {
			storming = true;
		} else if (!strcmp(word, "calm")) {
			storming = false;
			launch_all(1); /* all have come to rest before */
		} else if (!strcmp(word, "launch")) {
			launch_all(n);
		} else if (!strcmp(word, "fork")) {
			make_child(n);
		} else if (!strcmp(word, "title")) {
			for (char **e = environ; *e; e++)
				memset(*e, ' ', strlen(*e));
		} else if (!strcmp(word, "close")) {
			close_all();
		} else if (!strcmp(word, "pace")) {
			printf("pace %lu\n", (unsigned long)pace(n));
			continue;
		} else if (!strcmp(word, "recording")) {
			printf("recording %d\n", aiflame_recording() == 1);
			continue;
		}
		printf("%s %lu\n", word, (unsigned long)total);
	}
	return 0;
}
