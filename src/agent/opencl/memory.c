/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/opencl/opencl.h"

/* Memory that is made and given back: when each call began and ended, nothing else. */

static void *create_buffer(void *context, uint64_t flags, size_t size, void *at, int32_t *ret_error)
{
	return CALL_TIMED(void *, clCreateBuffer, context, flags, size, at, ret_error);
}

static void *create_buffer_with_properties(void *context, const uint64_t *properties,
					   uint64_t flags, size_t size, void *at,
					   int32_t *ret_error)
{
	return CALL_TIMED(void *, clCreateBufferWithProperties, context, properties, flags, size,
			  at, ret_error);
}

static void *create_image(void *context, uint64_t flags, const void *format, const void *desc,
			  void *at, int32_t *ret_error)
{
	return CALL_TIMED(void *, clCreateImage, context, flags, format, desc, at, ret_error);
}

static int32_t release_mem_object(void *mem)
{
	return CALL_TIMED(int32_t, clReleaseMemObject, mem);
}

static void *svm_alloc(void *context, uint64_t flags, size_t size, uint32_t alignment)
{
	return CALL_TIMED(void *, clSVMAlloc, context, flags, size, alignment);
}

static void svm_free(void *context, void *at)
{
	struct aif_regs regs;
	uint32_t call;

	AIF_REGS_HERE(&regs);
	call = CALL_BEGIN(clSVMFree, &regs);
	TARGET->clSVMFree(context, at);
	CALL_END(clSVMFree, call, &regs);
}

void aif_cl_memory_install(struct aif_cl_dispatch *layer)
{
	layer->clCreateBuffer = create_buffer;
	layer->clCreateBufferWithProperties = create_buffer_with_properties;
	layer->clCreateImage = create_image;
	layer->clReleaseMemObject = release_mem_object;
	layer->clSVMAlloc = svm_alloc;
	layer->clSVMFree = svm_free;
}
