/* SPDX-License-Identifier: Apache-2.0 */
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>

/* Reaches OpenCL through dlopen and dlsym only, as PyTorch and oneAPI do: fills a buffer 8 times. */

#define GET(name) __typeof__(&name) p_##name = (__typeof__(&name))dlsym(lib, #name)

int main(void)
{
	void *lib = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	cl_command_queue queue;
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_mem buffer;
	int zero = 0;

	if (!lib)
		return 77;
	GET(clGetPlatformIDs);
	GET(clGetDeviceIDs);
	GET(clCreateContext);
	GET(clCreateCommandQueueWithProperties);
	GET(clCreateBuffer);
	GET(clEnqueueFillBuffer);
	GET(clFinish);
	if (p_clGetPlatformIDs(1, &platform, NULL) ||
	    p_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 77;
	context = p_clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	queue = p_clCreateCommandQueueWithProperties(context, device, NULL, NULL);
	buffer = p_clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL);
	for (int i = 0; i < 8; i++)
		if (p_clEnqueueFillBuffer(queue, buffer, &zero, sizeof(zero), 0, 4096, 0, NULL,
					  NULL))
			return 1;
	return p_clFinish(queue) != CL_SUCCESS;
}
