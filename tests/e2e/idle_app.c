/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <stdint.h>
#include <time.h>

/*
 * A program that knows why its device is idle: idle_app ROUNDS. In each round the device works, then waits for the host to
 * compute, then to sleep, and in every fiftieth round to compile. Prints the CPU time of the first and last, and how long
 * the thread was on no CPU in all three: "compute_ns=... compile_ns=... off_ns=...".
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

/* Lets the device work. */
#define WORK()                                          \
	do {                                            \
		target_launch(t.queue, kernel, 64);     \
		CHECK(clFinish(t.queue) == CL_SUCCESS); \
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

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	uint64_t computed = 0, compiled = 0, off = 0;
	struct target t;
	cl_kernel kernel;

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
	printf("compute_ns=%llu compile_ns=%llu off_ns=%llu\n", (unsigned long long)computed,
	       (unsigned long long)compiled, (unsigned long long)off);
	return 0;
}
