/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops for calls.sh: calls_loop MODE STEPS prints "ns calls". MODE: step, a launch and a clFinish; steps, twenty launches and
 * a clFinish; short, a clFinish with nothing to wait for; long, a buffer of 256 KB made with its contents and given
 * back: these two by CPU time, since nothing waits.
 */
#include "../tests/e2e/agent_cl.h"

#include <stdint.h>
#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "step";
	int steps = argc > 2 ? atoi(argv[2]) : 10000, launches = !strcmp(mode, "steps") ? 20 : 1;
	static char bytes[1 << 18];
	struct target t;
	cl_kernel kernel;
	clockid_t clock;
	uint64_t from, calls = 0;

	target_open(&t);
	kernel = target_kernel(&t, "spin", target_buffer(&t, 64), 10);
	for (int i = 0; i < 200; i++)
		target_launch(t.queue, kernel, 64);
	CHECK(clFinish(t.queue) == CL_SUCCESS);
	clock = !strcmp(mode, "short") || !strcmp(mode, "long") ? CLOCK_THREAD_CPUTIME_ID
								: CLOCK_MONOTONIC;
	from = read_clock(clock);
	for (int i = 0; i < steps; i++) {
		if (!strcmp(mode, "long")) {
			cl_mem buffer = clCreateBuffer(t.context, CL_MEM_COPY_HOST_PTR,
						       sizeof(bytes), bytes, NULL);

			CHECK(clReleaseMemObject(buffer) == CL_SUCCESS);
			calls += 2;
			continue;
		}
		for (int k = 0; k < launches && strcmp(mode, "short") != 0; k++)
			target_launch(t.queue, kernel, 64);
		CHECK(clFinish(t.queue) == CL_SUCCESS);
		calls++;
	}
	printf("%llu %llu\n", (unsigned long long)(read_clock(clock) - from),
	       (unsigned long long)calls);
	return 0;
}
