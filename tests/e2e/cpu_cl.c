/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <fcntl.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

/*
 * A thread that computes for itself and then waits for the device, again and again. It prints what it has
 * measured itself, in seconds: wall time, its CPU time, and waiting (wall time less CPU time of the calls
 * that wait); then the same of what was before, where it opens the device, compiles, and waits once.
 *
 *     cpu_cl finish|events|read|map|short SECONDS
 *     cpu_cl calls SECONDS     it reads files instead, for so much CPU time
 */

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static volatile uint64_t sink;

static __attribute__((noinline)) void burn_for(double s)
{
	double end = now(CLOCK_THREAD_CPUTIME_ID) + s;
	uint64_t x = 1;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		for (unsigned i = 0; i < 20000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
	sink += x;
}

static __attribute__((noinline)) void read_for(double s)
{
	static char bytes[1 << 16];
	double end = now(CLOCK_THREAD_CPUTIME_ID) + s;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		CHECK(read(fd, bytes, sizeof(bytes)) == sizeof(bytes));
	close(fd);
}

static cl_mem buffer;
static cl_int content[64];

static __attribute__((noinline)) void wait_for(struct target *t, const char *how, cl_event event)
{
	cl_int error = CL_SUCCESS;
	void *at;

	if (!strcmp(how, "events")) {
		error = clWaitForEvents(1, &event);
	} else if (!strcmp(how, "read")) {
		error = clEnqueueReadBuffer(t->queue, buffer, CL_TRUE, 0, sizeof(content), content,
					    0, NULL, NULL);
	} else if (!strcmp(how, "map")) {
		at = clEnqueueMapBuffer(t->queue, buffer, CL_TRUE, CL_MAP_READ, 0, sizeof(content),
					0, NULL, NULL, &error);
		CHECK(clEnqueueUnmapMemObject(t->queue, buffer, at, 0, NULL, NULL) == CL_SUCCESS);
	} else {
		error = clFinish(t->queue);
	}
	CHECK(error == CL_SUCCESS);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "finish";
	double seconds = argc > 2 ? atof(argv[2]) : 1, start = now(CLOCK_MONOTONIC), begin, cpu;
	double waited = 0, waiting_cpu = 0, first;
	bool is_short = !strcmp(how, "short"), has_calls = !strcmp(how, "calls");
	struct timespec found = {.tv_nsec = 200000000};
	struct target t;
	cl_kernel kernel;
	size_t items = 4096;

	target_open(&t);
	buffer = target_buffer(&t, items);
	kernel = target_kernel(&t, "spin", buffer, is_short ? 100 : 4000);
	target_launch(t.queue, kernel, items);
	first = now(CLOCK_MONOTONIC) - now(CLOCK_THREAD_CPUTIME_ID);
	CHECK(clFinish(t.queue) == CL_SUCCESS);
	first = now(CLOCK_MONOTONIC) - now(CLOCK_THREAD_CPUTIME_ID) - first;
	nanosleep(&found, NULL); /* until the helper has found this thread */
	begin = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	while (has_calls ? now(CLOCK_THREAD_CPUTIME_ID) < cpu + seconds
			 : now(CLOCK_MONOTONIC) < begin + seconds) {
		double wall_before, cpu_before;
		cl_event event;

		CHECK(clEnqueueNDRangeKernel(t.queue, kernel, 1, NULL, &items, NULL, 0, NULL,
					     &event) == CL_SUCCESS);
		CHECK(clFlush(t.queue) == CL_SUCCESS);
		if (has_calls)
			read_for(0.02);
		else
			burn_for(is_short ? 0.0002 : 0.005);
		wall_before = now(CLOCK_MONOTONIC);
		cpu_before = now(CLOCK_THREAD_CPUTIME_ID);
		wait_for(&t, how, event);
		waiting_cpu += now(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
		waited += now(CLOCK_MONOTONIC) - wall_before;
		CHECK(clReleaseEvent(event) == CL_SUCCESS);
	}
	printf("wall %.3f\ncpu %.3f\nwaiting %.3f\n", now(CLOCK_MONOTONIC) - begin,
	       now(CLOCK_THREAD_CPUTIME_ID) - cpu, waited - waiting_cpu);
	printf("early_wall %.3f\nearly_cpu %.3f\nearly_waiting %.3f\n", begin - start, cpu, first);
	return 0;
}
