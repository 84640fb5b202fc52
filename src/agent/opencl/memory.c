/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/calls/allocation.h"
#include "agent/opencl/opencl.h"

/*
 * Memory that is made and given back: when each call began and ended (host_call.h), and, whenever the recorder listens,
 * how much it was and who asked for it.
 *
 * A block is an object's handle or the address of shared virtual memory. An object is gone when the driver says so, by
 * a callback that is the first to be registered and so the last to run: its references are held by sub-buffers, kernels and
 * commands, too, and clReleaseMemObject gives back but one. What shares the memory of another object, or of the
 * program (CL_MEM_USE_HOST_PTR), is no allocation. Memory of a context with several devices counts for the first.
 */

static void tell(struct aif_cl_device *device, const struct aif_regs *regs,
		 const struct aif_emit_api *api, uint64_t block, uint64_t bytes)
{
	struct aif_emit_memory m = {.block = block,
				    .bytes = bytes,
				    .allocated = AIF_EMIT_MEMORY_UNKNOWN,
				    .reserved = AIF_EMIT_MEMORY_UNKNOWN,
				    .device = device->desc.id,
				    .is_release = !regs};
	struct aif_allocation a;

	if (!aif_allocation_begin(&a))
		return;
	aif_cl_device_define(a.thread, device);
	aif_allocation_end(&a, &m, regs, api);
}

/* ---- buffers and images ----------------------------------------------------------------------- */

static void destroyed(void *mem, void *device)
{
	if (!aif_thread_asleep())
		tell(device, NULL, NULL, (uintptr_t)mem, 0);
}

static AIF_NOINLINE void created(void *mem, void *context, uint64_t flags,
				 const struct aif_regs *regs, const struct aif_emit_api *api)
{
	struct aif_cl_device *device;
	void *of = NULL;
	size_t size = 0;

	if (!mem || flags & AIF_CL_MEM_USE_HOST_PTR || aif_thread_asleep() ||
	    !TARGET->clSetMemObjectDestructorCallback)
		return;
	if (TARGET->clGetMemObjectInfo(mem, AIF_CL_MEM_SIZE, sizeof(size), &size, NULL) < 0 ||
	    TARGET->clGetMemObjectInfo(mem, AIF_CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(of), &of,
				       NULL) < 0) {
		aif_allocation_unplaced();
		return;
	}
	if (of)
		return;
	device = aif_cl_context_device(context);
	if (device && TARGET->clSetMemObjectDestructorCallback(mem, destroyed, device) >= 0)
		tell(device, regs, api, (uintptr_t)mem, size);
	else
		aif_allocation_unplaced();
}

static void *create_buffer(void *context, uint64_t flags, size_t size, void *at, int32_t *ret_error)
{
	void *mem = CALL_TIMED(void *, clCreateBuffer, context, flags, size, at, ret_error);
	struct aif_regs regs;

	AIF_REGS_HERE(&regs);
	created(mem, context, flags, &regs, API(clCreateBuffer));
	return mem;
}

static void *create_buffer_with_properties(void *context, const uint64_t *properties,
					   uint64_t flags, size_t size, void *at,
					   int32_t *ret_error)
{
	void *mem = CALL_TIMED(void *, clCreateBufferWithProperties, context, properties, flags,
			       size, at, ret_error);
	struct aif_regs regs;

	AIF_REGS_HERE(&regs);
	created(mem, context, flags, &regs, API(clCreateBufferWithProperties));
	return mem;
}

static void *create_image(void *context, uint64_t flags, const void *format, const void *desc,
			  void *at, int32_t *ret_error)
{
	void *mem = CALL_TIMED(void *, clCreateImage, context, flags, format, desc, at, ret_error);
	struct aif_regs regs;

	AIF_REGS_HERE(&regs);
	created(mem, context, flags, &regs, API(clCreateImage));
	return mem;
}

/* OpenCL 1.1 */
static void *create_image_2d(void *context, uint64_t flags, const void *format, size_t width,
			     size_t height, size_t pitch, void *at, int32_t *ret_error)
{
	void *mem = TARGET->clCreateImage2D(context, flags, format, width, height, pitch, at,
					    ret_error);
	struct aif_regs regs;

	AIF_REGS_HERE(&regs);
	created(mem, context, flags, &regs, API(clCreateImage2D));
	return mem;
}

static void *create_image_3d(void *context, uint64_t flags, const void *format, size_t width,
			     size_t height, size_t depth, size_t row_pitch, size_t slice_pitch,
			     void *at, int32_t *ret_error)
{
	void *mem = TARGET->clCreateImage3D(context, flags, format, width, height, depth, row_pitch,
					    slice_pitch, at, ret_error);
	struct aif_regs regs;

	AIF_REGS_HERE(&regs);
	created(mem, context, flags, &regs, API(clCreateImage3D));
	return mem;
}

static int32_t release_mem_object(void *mem)
{
	return CALL_TIMED(int32_t, clReleaseMemObject, mem);
}

/* ---- shared virtual memory -------------------------------------------------------------------- */

static AIF_NOINLINE void svm_tell(void *context, void *at, size_t size, const struct aif_regs *regs)
{
	struct aif_cl_device *device;

	if (!at || aif_thread_asleep())
		return;
	device = aif_cl_context_device(context);
	if (device)
		tell(device, regs, API(clSVMAlloc), (uintptr_t)at, size);
	else if (regs)
		aif_allocation_unplaced();
}

static void *svm_alloc(void *context, uint64_t flags, size_t size, uint32_t alignment)
{
	void *at = CALL_TIMED(void *, clSVMAlloc, context, flags, size, alignment);
	struct aif_regs regs;

	AIF_REGS_HERE(&regs);
	svm_tell(context, at, size, &regs);
	return at;
}

static void svm_free(void *context, void *at)
{
	struct aif_regs regs;
	uint32_t call;

	AIF_REGS_HERE(&regs);
	call = CALL_BEGIN(clSVMFree, &regs);
	svm_tell(context, at, 0, NULL);
	TARGET->clSVMFree(context, at);
	CALL_END(clSVMFree, call, &regs);
}

void aif_cl_memory_install(struct aif_cl_dispatch *layer)
{
	layer->clCreateBuffer = create_buffer;
	layer->clCreateBufferWithProperties = create_buffer_with_properties;
	layer->clCreateImage = create_image;
	layer->clCreateImage2D = create_image_2d;
	layer->clCreateImage3D = create_image_3d;
	layer->clReleaseMemObject = release_mem_object;
	layer->clSVMAlloc = svm_alloc;
	layer->clSVMFree = svm_free;
}
