/* SPDX-License-Identifier: Apache-2.0 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include <string.h>

/*
 * A layer between us and a driver whose device is not there (Intel's in AUB mode): it takes everything and executes nothing,
 * so whoever waits waits for ever. Without markers nobody does, and queues that fill in times would wait, too.
 */
#define EXPORT __attribute__((visibility("default")))

static struct _cl_icd_dispatch layer;
static const struct _cl_icd_dispatch *driver;

static cl_int CL_API_CALL no_marker(cl_command_queue queue, cl_event *event)
{
	(void)queue, (void)event;
	return CL_INVALID_OPERATION;
}

static cl_command_queue CL_API_CALL queue_with(cl_context context, cl_device_id device,
					       const cl_queue_properties *properties, cl_int *error)
{
	(void)properties;
	return driver->clCreateCommandQueueWithProperties(context, device, NULL, error);
}

static cl_command_queue CL_API_CALL queue(cl_context context, cl_device_id device,
					  cl_command_queue_properties properties, cl_int *error)
{
	(void)properties;
	return driver->clCreateCommandQueue(context, device, 0, error);
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value,
						      size_t *ret_size)
{
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	if (name != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && size >= sizeof(version))
		memcpy(value, &version, sizeof(version));
	if (ret_size)
		*ret_size = sizeof(version);
	return CL_SUCCESS;
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const struct _cl_icd_dispatch *target,
						   cl_uint *ret_n,
						   const struct _cl_icd_dispatch **ret)
{
	const cl_uint own = sizeof(layer) / sizeof(void *);

	*ret_n = n < own ? n : own;
	memcpy(&layer, target, *ret_n * sizeof(void *));
	driver = target;
	layer.clEnqueueMarker = no_marker;
	layer.clCreateCommandQueue = queue;
	layer.clCreateCommandQueueWithProperties = queue_with;
	*ret = &layer;
	return CL_SUCCESS;
}
