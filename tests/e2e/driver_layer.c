/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL layer below the agent's: a driver whose every second launch of a kernel enters the OS kernel. It makes two
 * ioctl() calls, of /dev/net/tun and then of /dev/urandom; clFinish() makes one of /dev/net/tun, which is in no launch. At
 * its end it says on stderr how many launches entered, of how many, and how many of them took 0.1 s or more for it, since
 * the machine was busy:  ENTERED 6 of 12, 0 slow
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/random.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>

static struct _cl_icd_dispatch layer;
static const struct _cl_icd_dispatch *target;
static int tun = -1, source = -1;
static unsigned launches, entered, slow;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void enter_tun(void)
{
	unsigned features;

	ioctl(tun, TUNGETFEATURES, &features);
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
				 const size_t *offset, const size_t *global, const size_t *local,
				 cl_uint waits, const cl_event *wait, cl_event *event)
{
	double since = now();
	int bits;

	if (launches++ % 2) {
		enter_tun();
		entered += ioctl(source, RNDGETENTCNT, &bits) == 0;
		slow += now() - since > 0.1;
	}
	return target->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, waits,
					      wait, event);
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
	enter_tun();
	return target->clFinish(queue);
}

static void __attribute__((destructor)) report(void)
{
	if (launches)
		fprintf(stderr, "ENTERED %u of %u, %u slow\n", entered, launches, slow);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value,
					       size_t *ret_size)
{
	if (name != CL_LAYER_API_VERSION || (value && size < sizeof(cl_layer_api_version)))
		return CL_INVALID_VALUE;
	if (value)
		*(cl_layer_api_version *)value = CL_LAYER_API_VERSION_100;
	if (ret_size)
		*ret_size = sizeof(cl_layer_api_version);
	return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const struct _cl_icd_dispatch *dispatch,
					    cl_uint *ret_n,
					    const struct _cl_icd_dispatch **ret_layer)
{
	if (n < sizeof(layer) / sizeof(layer.clGetPlatformIDs))
		return CL_INVALID_VALUE;
	tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	source = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	target = dispatch;
	layer.clEnqueueNDRangeKernel = launch;
	layer.clFinish = finish;
	*ret_layer = &layer;
	*ret_n = sizeof(layer) / sizeof(layer.clGetPlatformIDs);
	return CL_SUCCESS;
}
