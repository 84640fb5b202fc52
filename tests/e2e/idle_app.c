/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/*
 * A program that knows why its device is idle: idle_app ROUNDS. In each round the device works, then waits for the host to
 * compute, then to sleep, and in every fiftieth round to compile. Prints the CPU time of the first and last, and how long
 * the thread was on no CPU in all three: "compute_ns=... compile_ns=... off_ns=...".
 *
 * idle_app serve REQUESTS: a server, whose only client asks for one piece of work after pauses of 3 to 6 ms. Prints how
 * long it waited for it in all, and how often: "demand_ns=... requests=...".
 *
 * idle_app fed ROUNDS: a thread "feeder" computes what the launching thread waits for at a condition variable. Prints how long
 * that waited until it was fed, and until it went on: "fed_ns=... waited_ns=...".
 *
 * idle_app hide ...: the same, at which nobody without CAP_SYS_PTRACE may look.
 */
#define NS_PER_S 1000000000ull
#define PART_NS  3000000ull

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

__attribute__((noinline)) static void compute_on_host(void)
{
	volatile unsigned x = 1;

	for (uint64_t end = now() + PART_NS; now() < end;)
		for (int i = 0; i < 2000; i++)
			x = x * 1664525 + 1013904223;
}

__attribute__((noinline)) static void sleep_on_host(void)
{
	nanosleep(&(struct timespec){.tv_nsec = PART_NS}, NULL);
}

/* Another program each time: no driver has it in its cache. */
__attribute__((noinline)) static void compile_on_host(struct target *t, int number)
{
	char source[256];
	const char *text = source;
	cl_program program;
	cl_int e;

	snprintf(source, sizeof(source), "kernel void k%d(global int *a) { a[0] += %d + %d; }",
		 number, number, (int)(now() % 1000000));
	program = clCreateProgramWithSource(t->context, 1, &text, NULL, &e);
	CHECK(e == CL_SUCCESS);
	CHECK(clBuildProgram(program, 0, NULL, NULL, NULL, NULL) == CL_SUCCESS);
	clReleaseProgram(program);
}

/* Waits that took longer than any that finds the device done. */
static int waited_for_device;

/* Lets the device work. Where CPUs are few its threads may be done before the launch call has returned. */
#define WORK()                                              \
	do {                                                \
		uint64_t begin;                             \
		target_launch(t.queue, kernel, 64);         \
		begin = now();                              \
		CHECK(clFinish(t.queue) == CL_SUCCESS);     \
		waited_for_device += now() - begin > 10000; \
	} while (0)

/* Does what the device waits for, then lets it work. Returns the CPU time of the former. */
#define ROUND(what)                                                               \
	({                                                                        \
		uint64_t from = now(), cpu = read_clock(CLOCK_THREAD_CPUTIME_ID); \
		what;                                                             \
		cpu = read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;                  \
		off += now() - from - cpu;                                        \
		WORK();                                                           \
		cpu;                                                              \
	})
/* The same of a call whose begin and end are recorded: all of its time is the call's, however long it had no CPU. */
#define ROUND_CALL(what)                   \
	({                                 \
		uint64_t from = now(), ns; \
		what;                      \
		ns = now() - from;         \
		WORK();                    \
		ns;                        \
	})

static int listen_for_requests(void)
{
	struct sockaddr_un any = {.sun_family = AF_UNIX};
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	/* The OS chooses a name. */
	CHECK(s >= 0 && !bind(s, (struct sockaddr *)&any, sizeof(any.sun_family)) && !listen(s, 8));
	return s;
}

static void ask(int listening, int requests)
{
	struct sockaddr_un to;
	socklen_t len = sizeof(to);

	CHECK(!getsockname(listening, (struct sockaddr *)&to, &len));
	srand48(1);
	for (int i = 0; i < requests; i++) {
		char answer;
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		long pause = 3000000L + lrand48() % 3000000;

		nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
		CHECK(s >= 0 && !connect(s, (struct sockaddr *)&to, len));
		CHECK(read(s, &answer, 1) == 1);
		close(s);
	}
}

__attribute__((noinline)) static int wait_for_request(int listening, uint64_t *waited)
{
	uint64_t from = now();
	int s;

	do
		s = accept(listening, NULL, NULL);
	while (s < 0 && errno == EINTR);
	CHECK(s >= 0);
	*waited += now() - from;
	return s;
}

static int serve(int requests)
{
	uint64_t waited = 0;
	struct target t;
	cl_kernel kernel;
	int listening = listen_for_requests();
	pid_t client;

	client = fork();
	CHECK(client >= 0);
	if (!client) {
		ask(listening, requests);
		_exit(0);
	}
	target_open(&t);
	kernel = target_kernel(&t, "spin", target_buffer(&t, 64), 2000);
	WORK();
	for (int i = 0; i < requests; i++) {
		int s = wait_for_request(listening, &waited);

		WORK();
		CHECK(write(s, "k", 1) == 1);
		close(s);
	}
	printf("demand_ns=%llu requests=%d\n", (unsigned long long)waited, requests);
	return 0;
}

static struct feed {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int full, left;
	uint64_t at; /* when it was last turned */
} feed = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Waits until the feed is full, or empty, and makes it the other. */
__attribute__((noinline)) static void turn_feed(int full)
{
	pthread_mutex_lock(&feed.lock);
	while (feed.full != full)
		pthread_cond_wait(&feed.changed, &feed.lock);
	feed.full = !full;
	feed.at = feed.full ? now() : feed.at;
	pthread_cond_signal(&feed.changed);
	pthread_mutex_unlock(&feed.lock);
}

static void *feeder(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "feeder");
	while (feed.left--) {
		compute_on_host();
		turn_feed(0);
	}
	return NULL;
}

static int be_fed(int rounds)
{
	uint64_t waited = 0, fed = 0;
	struct target t;
	cl_kernel kernel;
	pthread_t thread;

	target_open(&t);
	kernel = target_kernel(&t, "spin", target_buffer(&t, 64), 2000);
	WORK();
	feed.left = rounds;
	CHECK(!pthread_create(&thread, NULL, feeder, NULL));
	for (int i = 0; i < rounds; i++) {
		uint64_t from = now();

		turn_feed(1);
		waited += now() - from;
		fed += feed.at > from ? feed.at - from : 0;
		WORK();
	}
	CHECK(!pthread_join(thread, NULL));
	printf("fed_ns=%llu waited_ns=%llu\n", (unsigned long long)fed, (unsigned long long)waited);
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	uint64_t computed = 0, compiled = 0, off = 0;
	struct target t;
	cl_kernel kernel;

	if (argc > 2 && !strcmp(argv[1], "hide")) {
		CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
		argv++;
		argc--;
	}
	if (argc > 2 && !strcmp(argv[1], "serve"))
		return serve(atoi(argv[2]));
	if (argc > 2 && !strcmp(argv[1], "fed"))
		return be_fed(atoi(argv[2]));
	target_open(&t);
	kernel = target_kernel(&t, "spin", target_buffer(&t, 64), 2000);
	target_launch(t.queue, kernel, 64);
	CHECK(clFinish(t.queue) == CL_SUCCESS);
	for (int i = 0; i < rounds; i++) {
		computed += ROUND(compute_on_host());
		ROUND(sleep_on_host());
		if (i % 50 == 0)
			compiled += ROUND_CALL(compile_on_host(&t, i));
	}
	printf("compute_ns=%llu compile_ns=%llu off_ns=%llu waits=%d\n",
	       (unsigned long long)computed, (unsigned long long)compiled, (unsigned long long)off,
	       waited_for_device);
	return 0;
}
