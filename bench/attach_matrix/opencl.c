/* SPDX-License-Identifier: Apache-2.0 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Launches a kernel again and again until its standard input ends, and looks at what it has computed each time. Without
 * profiling in its queue. `threads`: from two threads' worth of queues. */

#define ITEMS 4096

static const char *const source =
	"kernel void scale(global int *x, int by) { int s = 0; for (int i = 0; i < 2000; i++) s += (int)get_global_id(0) % (i + 1);"
	" x[get_global_id(0)] = s - s + by * (int)get_global_id(0); }";

static void check(cl_int error, const char *what)
{
	if (error) {
		printf("wrong: %s: %d\n", what, error);
		exit(99);
	}
}

static int is_over(void)
{
	fd_set set;
	struct timeval none = {0, 0};
	char c;

	FD_ZERO(&set);
	FD_SET(0, &set);
	return select(1, &set, NULL, NULL, &none) == 1 && read(0, &c, 1) <= 0;
}

int main(void)
{
	static int got[ITEMS];
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue[2];
	cl_program program;
	cl_kernel kernel;
	cl_mem buffer;
	cl_int r;

	check(clGetPlatformIDs(1, &platform, NULL), "platform");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &r);
	check(r, "context");
	queue[0] = clCreateCommandQueue(context, device, 0, &r);
	check(r, "queue");
	queue[1] = clCreateCommandQueue(context, device, 0, &r);
	check(r, "queue");
	program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &r);
	check(r, "program");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
	kernel = clCreateKernel(program, "scale", &r);
	check(r, "kernel");
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(got), NULL, &r);
	check(r, "buffer");
	check(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "argument");
	for (cl_int by = 1; !is_over(); by = by % 1000 + 1) {
		cl_command_queue q = queue[by % 2];
		size_t items = ITEMS;

		check(clSetKernelArg(kernel, 1, sizeof(by), &by), "argument");
		check(clEnqueueNDRangeKernel(q, kernel, 1, NULL, &items, NULL, 0, NULL, NULL),
		      "launch");
		check(clEnqueueReadBuffer(q, buffer, CL_TRUE, 0, sizeof(got), got, 0, NULL, NULL),
		      "read");
		for (int i = 0; i < ITEMS; i++)
			if (got[i] != by * i)
				check(i + 1, "a result");
	}
	puts("opencl: all is right");
	return 22;
}
