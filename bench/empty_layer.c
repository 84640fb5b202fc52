/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL layer whose functions do nothing but call on: what it costs to be a layer at all
 * (bench/standby.sh). */
#include "agent/opencl/cl_abi.h"

#include <string.h>

static struct aif_cl_dispatch layer, target;

AIF_PUBLIC int32_t clGetLayerInfo(uint32_t name, size_t size, void *value, size_t *ret_size);
int32_t clGetLayerInfo(uint32_t name, size_t size, void *value, size_t *ret_size)
{
	static const uint32_t version = AIF_CL_LAYER_API_VERSION_100;
	const void *from = name == AIF_CL_LAYER_API_VERSION ? (const void *)&version : "empty";
	size_t len = name == AIF_CL_LAYER_API_VERSION ? sizeof(version) : sizeof("empty");

	if (value && size >= len)
		memcpy(value, from, len);
	if (ret_size)
		*ret_size = len;
	return AIF_CL_SUCCESS;
}

static int32_t finish(void *queue)
{
	return target.clFinish(queue);
}

static int32_t enqueue(void *queue, void *kernel, uint32_t dims, const size_t *offset,
		       const size_t *global, const size_t *local, uint32_t n, const void *wait,
		       void **event)
{
	return target.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, n, wait,
					     event);
}

AIF_PUBLIC int32_t clInitLayer(uint32_t n, const struct aif_cl_dispatch *below, uint32_t *ret_n,
			       const struct aif_cl_dispatch **ret);
int32_t clInitLayer(uint32_t n, const struct aif_cl_dispatch *below, uint32_t *ret_n,
		    const struct aif_cl_dispatch **ret)
{
	memcpy(&target, below, AIF_MIN(n, AIF_CL_ENTRIES) * sizeof(void *));
	layer = target;
	layer.clFinish = finish;
	layer.clEnqueueNDRangeKernel = enqueue;
	*ret_n = (uint32_t)AIF_MIN(n, AIF_CL_ENTRIES);
	*ret = &layer;
	return AIF_CL_SUCCESS;
}
