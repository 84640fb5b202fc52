/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

const char *const target_source =
	"kernel void add_one(global int *a, int rounds) { a[get_global_id(0)] += rounds; }\n"
	"kernel void spin(global int *a, int rounds) {\n"
	"	int i = get_global_id(0), x = a[i];\n"
	"	for (int k = 0; k < rounds; k++)\n"
	"		x = x * 1103515245 + 12345;\n"
	"	a[i] = x;\n"
	"}\n";

void target_open(struct target *t)
{
	const char *source = target_source;
	cl_int error;

	memset(t, 0, sizeof(*t));
	CHECK(clGetPlatformIDs(1, &t->platform, NULL) == CL_SUCCESS);
	CHECK(clGetDeviceIDs(t->platform, CL_DEVICE_TYPE_ALL, 8, t->devices, &t->devices_len) ==
	      CL_SUCCESS);
	t->context = clCreateContext(NULL, t->devices_len, t->devices, NULL, NULL, &error);
	CHECK(error == CL_SUCCESS);
	t->queue = clCreateCommandQueue(t->context, t->devices[0], 0, &error);
	CHECK(error == CL_SUCCESS);
	t->program = clCreateProgramWithSource(t->context, 1, &source, NULL, &error);
	CHECK(error == CL_SUCCESS);
	CHECK(clBuildProgram(t->program, 0, NULL, "-DUNUSED=1", NULL, NULL) == CL_SUCCESS);
}

cl_kernel target_kernel(struct target *t, const char *name, cl_mem buffer, cl_int rounds)
{
	cl_int error;
	cl_kernel kernel = clCreateKernel(t->program, name, &error);

	CHECK(error == CL_SUCCESS);
	CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer) == CL_SUCCESS);
	CHECK(clSetKernelArg(kernel, 1, sizeof(rounds), &rounds) == CL_SUCCESS);
	return kernel;
}

cl_mem target_buffer(struct target *t, size_t ints)
{
	cl_int error;
	cl_mem buffer =
		clCreateBuffer(t->context, CL_MEM_READ_WRITE, ints * sizeof(cl_int), NULL, &error);

	CHECK(error == CL_SUCCESS);
	return buffer;
}

__attribute__((noinline)) void target_launch(cl_command_queue queue, cl_kernel kernel, size_t items)
{
	CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL) ==
	      CL_SUCCESS);
	__asm__ volatile(""); /* no tail call: this frame is part of the stack */
}
