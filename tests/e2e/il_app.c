/* SPDX-License-Identifier: Apache-2.0 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * An OpenCL application that brings its kernels as SPIR-V.  il_app MODULE KERNEL
 *
 * Two programs of one module, a launch of each. It waits for nothing, and leaves all as it is: the device may be one that
 * is not there (intel.sh).
 */
#define CHECK(what)                                           \
	do {                                                  \
		if (error) {                                  \
			printf("%s: %d\n", what, (int)error); \
			return 1;                             \
		}                                             \
	} while (0)

static unsigned char il[1 << 20];

static int launch(cl_context context, cl_device_id device, cl_command_queue queue, size_t n,
		  const char *name)
{
	const size_t global = 64;
	cl_program program;
	cl_kernel kernel;
	cl_int error, size = 8;

	program = clCreateProgramWithIL(context, il, n, &error);
	CHECK("clCreateProgramWithIL");
	error = clBuildProgram(program, 1, &device, "", NULL, NULL);
	CHECK("clBuildProgram");
	kernel = clCreateKernel(program, name, &error);
	CHECK("clCreateKernel");
	error = clSetKernelArg(kernel, 0, sizeof(size), &size);
	for (cl_uint i = 1; i < 4 && !error; i++) {
		cl_mem m = clCreateBuffer(context, CL_MEM_READ_WRITE, 1024, NULL, &error);

		CHECK("clCreateBuffer");
		error = clSetKernelArg(kernel, i, sizeof(cl_mem), &m);
	}
	CHECK("clSetKernelArg");
	error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
	CHECK("clEnqueueNDRangeKernel");
	return 0;
}

int main(int argc, char **argv)
{
	FILE *f = argc == 3 ? fopen(argv[1], "rb") : NULL;
	cl_command_queue queue;
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_int error;
	size_t n;

	if (!f)
		return 2;
	n = fread(il, 1, sizeof(il), f);
	fclose(f);
	setvbuf(stdout, NULL, _IONBF, 0);
	error = clGetPlatformIDs(1, &platform, NULL);
	CHECK("clGetPlatformIDs");
	error = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	CHECK("clGetDeviceIDs");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	CHECK("clCreateContext");
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
	CHECK("clCreateCommandQueueWithProperties");
	if (launch(context, device, queue, n, argv[2]) ||
	    launch(context, device, queue, n, argv[2]))
		return 1;
	_exit(0);
}
