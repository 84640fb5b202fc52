/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel to launch, for programs in other languages: 0 is success. */
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

static cl_command_queue queue;
static cl_kernel kernel;

static int start(void)
{
	const char *source =
		"__kernel void spin(__global float *a) { float x = a[get_global_id(0)];"
		" for (int i = 0; i < 2000; i++) x = x * 0.999f + 1; a[get_global_id(0)] = x; }";
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
	cl_mem memory;
	cl_int error;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 1;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	queue = clCreateCommandQueue(context, device, 0, &error);
	program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
	if (error || clBuildProgram(program, 1, &device, "", NULL, NULL))
		return 1;
	kernel = clCreateKernel(program, "spin", &error);
	memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &error);
	return error || clSetKernelArg(kernel, 0, sizeof(memory), &memory);
}

static int launch(void)
{
	size_t size = 1024;

	return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL);
}

static int finish(void)
{
	return clFinish(queue);
}
