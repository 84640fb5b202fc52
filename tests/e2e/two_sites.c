/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <time.h>
#include <unistd.h>

/* Launches one kernel from two functions, of which the second asks for three times the work: two stacks whose shares
 * the runtime's own times tell. With `two`, on two queues at once; with `wait`, some time after the device was opened;
 * with `finish`, each by itself, printing the wall time of each enqueue and clFinish in ns, first of the one site, then
 * of the other. */

__attribute__((noinline)) static void small_site(cl_command_queue q, cl_kernel k)
{
	target_launch(q, k, 4096);
	__asm__ volatile("");
}

__attribute__((noinline)) static void large_site(cl_command_queue q, cl_kernel k)
{
	target_launch(q, k, 3 * 4096);
	__asm__ volatile("");
}

static void print_walls(void (*site)(cl_command_queue, cl_kernel), cl_command_queue q, cl_kernel k)
{
	for (int i = 0; i < 40; i++) {
		struct timespec a, b;

		clock_gettime(CLOCK_MONOTONIC, &a);
		site(q, k);
		CHECK(clFinish(q) == CL_SUCCESS);
		clock_gettime(CLOCK_MONOTONIC, &b);
		printf("%lld\n",
		       (long long)(b.tv_sec - a.tv_sec) * 1000000000 + (b.tv_nsec - a.tv_nsec));
	}
}

int main(int argc, char **argv)
{
	cl_command_queue other;
	struct target t;
	cl_kernel small, large;
	cl_int error;
	bool finish;

	target_open(&t);
	other = t.queue;
	if (argc > 1 && !strcmp(argv[1], "wait"))
		usleep(1500000);
	if (argc > 1 && !strcmp(argv[1], "two"))
		other = clCreateCommandQueue(t.context, t.devices[0], 0, &error);
	finish = argc > 1 && !strcmp(argv[1], "finish");
	small = target_kernel(&t, "spin", target_buffer(&t, 4096), finish ? 3000 : 4000);
	large = target_kernel(&t, "spin", target_buffer(&t, 3 * 4096), finish ? 3000 : 4000);
	if (finish) {
		print_walls(small_site, t.queue, small);
		print_walls(large_site, t.queue, large);
		return 0;
	}
	for (int i = 0; i < 40; i++) {
		small_site(t.queue, small);
		large_site(other, large);
	}
	CHECK(clFinish(t.queue) == CL_SUCCESS);
	CHECK(clFinish(other) == CL_SUCCESS);
	return 0;
}
