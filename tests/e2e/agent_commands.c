/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <pthread.h>

/* Every command that is replaced, with and without events, on in-order, out-of-order and several
 * queues and devices; what the application reads back is what it asked for. */

#define ITEMS 1024
#define BYTES (ITEMS * sizeof(cl_int))

static void transfers(struct target *t)
{
	static cl_int host[ITEMS], back[ITEMS];
	cl_mem a = target_buffer(t, ITEMS), b = target_buffer(t, ITEMS);
	size_t origin[3] = {0}, region[3] = {256, 4, 1};
	const cl_int pattern = 7;
	cl_kernel kernel = target_kernel(t, "add_one", a, 1), clone;
	cl_int error, *mapped;

	for (int i = 0; i < ITEMS; i++)
		host[i] = i;
	CHECK(clEnqueueWriteBuffer(t->queue, a, CL_TRUE, 0, BYTES, host, 0, NULL, NULL) ==
	      CL_SUCCESS);
	target_launch(t->queue, kernel, ITEMS);
	clone = clCloneKernel(kernel, &error);
	if (error == CL_SUCCESS) {
		target_launch(t->queue, clone, ITEMS);
		clReleaseKernel(clone);
	} else {
		target_launch(t->queue, kernel, ITEMS);
	}
	CHECK(clEnqueueCopyBuffer(t->queue, a, b, 0, 0, BYTES, 0, NULL, NULL) == CL_SUCCESS);
	CHECK(clEnqueueReadBuffer(t->queue, b, CL_TRUE, 0, BYTES, back, 0, NULL, NULL) ==
	      CL_SUCCESS);
	CHECK(back[10] == 12 && back[ITEMS - 1] == ITEMS + 1);
	CHECK(clEnqueueFillBuffer(t->queue, b, &pattern, sizeof(pattern), 0, BYTES, 0, NULL,
				  NULL) == CL_SUCCESS);
	mapped = clEnqueueMapBuffer(t->queue, b, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL,
				    &error);
	CHECK(error == CL_SUCCESS && mapped[5] == 7);
	CHECK(clEnqueueUnmapMemObject(t->queue, b, mapped, 0, NULL, NULL) == CL_SUCCESS);
	CHECK(clEnqueueWriteBufferRect(t->queue, a, CL_TRUE, origin, origin, region, 0, 0, 0, 0,
				       host, 0, NULL, NULL) == CL_SUCCESS);
	CHECK(clEnqueueCopyBufferRect(t->queue, a, b, origin, origin, region, 0, 0, 0, 0, 0, NULL,
				      NULL) == CL_SUCCESS);
	CHECK(clEnqueueReadBufferRect(t->queue, b, CL_TRUE, origin, origin, region, 0, 0, 0, 0,
				      back, 0, NULL, NULL) == CL_SUCCESS);
	CHECK(back[100] == 100);
	CHECK(clEnqueueMigrateMemObjects(t->queue, 1, &a, 0, 0, NULL, NULL) == CL_SUCCESS);
	CHECK(clEnqueueTask(t->queue, kernel, 0, NULL, NULL) == CL_SUCCESS);
	CHECK(clFinish(t->queue) == CL_SUCCESS);
	clReleaseKernel(kernel);
	clReleaseMemObject(a);
	clReleaseMemObject(b);
}

static void images(struct target *t)
{
	static cl_uchar4 host[32][32], back[32][32];
	const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
	const cl_image_desc desc = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 32, .image_height = 32};
	size_t origin[3] = {0}, region[3] = {32, 32, 1}, row;
	const cl_uint color[4] = {1, 2, 3, 4};
	cl_mem a, b, buffer = target_buffer(t, ITEMS);
	cl_bool have = CL_FALSE;
	cl_int error;
	void *mapped;

	clGetDeviceInfo(t->devices[0], CL_DEVICE_IMAGE_SUPPORT, sizeof(have), &have, NULL);
	if (!have)
		return;
	a = clCreateImage(t->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &error);
	CHECK(error == CL_SUCCESS);
	b = clCreateImage(t->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &error);
	CHECK(error == CL_SUCCESS);
	memset(host, 9, sizeof(host));
	CHECK(clEnqueueWriteImage(t->queue, a, CL_TRUE, origin, region, 0, 0, host, 0, NULL,
				  NULL) == CL_SUCCESS);
	CHECK(clEnqueueCopyImage(t->queue, a, b, origin, origin, region, 0, NULL, NULL) ==
	      CL_SUCCESS);
	CHECK(clEnqueueReadImage(t->queue, b, CL_TRUE, origin, region, 0, 0, back, 0, NULL, NULL) ==
	      CL_SUCCESS);
	CHECK(!memcmp(host, back, sizeof(host)));
	CHECK(clEnqueueFillImage(t->queue, a, color, origin, region, 0, NULL, NULL) == CL_SUCCESS);
	CHECK(clEnqueueCopyImageToBuffer(t->queue, a, buffer, origin, region, 0, 0, NULL, NULL) ==
	      CL_SUCCESS);
	CHECK(clEnqueueCopyBufferToImage(t->queue, buffer, b, 0, origin, region, 0, NULL, NULL) ==
	      CL_SUCCESS);
	mapped = clEnqueueMapImage(t->queue, b, CL_TRUE, CL_MAP_READ, origin, region, &row, NULL, 0,
				   NULL, NULL, &error);
	CHECK(error == CL_SUCCESS && ((cl_uchar *)mapped)[3] == 4);
	CHECK(clEnqueueUnmapMemObject(t->queue, b, mapped, 0, NULL, NULL) == CL_SUCCESS);
	CHECK(clFinish(t->queue) == CL_SUCCESS);
	clReleaseMemObject(a);
	clReleaseMemObject(b);
	clReleaseMemObject(buffer);
}

static void svm(struct target *t)
{
	cl_device_svm_capabilities can = 0;
	const cl_int pattern = 3;
	size_t size = BYTES;
	const void *pointers[1];
	cl_int *a, *b;

	clGetDeviceInfo(t->devices[0], CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL);
	if (!(can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
		return;
	a = clSVMAlloc(t->context, CL_MEM_READ_WRITE, BYTES, 0);
	b = clSVMAlloc(t->context, CL_MEM_READ_WRITE, BYTES, 0);
	CHECK(a && b);
	CHECK(clEnqueueSVMMemFill(t->queue, a, &pattern, sizeof(pattern), BYTES, 0, NULL, NULL) ==
	      CL_SUCCESS);
	CHECK(clEnqueueSVMMemcpy(t->queue, CL_TRUE, b, a, BYTES, 0, NULL, NULL) == CL_SUCCESS);
	CHECK(clEnqueueSVMMap(t->queue, CL_TRUE, CL_MAP_READ, b, BYTES, 0, NULL, NULL) ==
	      CL_SUCCESS);
	CHECK(b[17] == 3);
	CHECK(clEnqueueSVMUnmap(t->queue, b, 0, NULL, NULL) == CL_SUCCESS);
	pointers[0] = a;
	CHECK(clEnqueueSVMMigrateMem(t->queue, 1, pointers, &size, 0, 0, NULL, NULL) == CL_SUCCESS);
	CHECK(clFinish(t->queue) == CL_SUCCESS);
	clSVMFree(t->context, a);
	clSVMFree(t->context, b);
}

static cl_ulong stamp(cl_event event, cl_profiling_info name)
{
	cl_ulong ns = 0;

	CHECK(clGetEventProfilingInfo(event, name, sizeof(ns), &ns, NULL) == CL_SUCCESS);
	return ns;
}

static cl_uint references(cl_event event)
{
	cl_uint n = 0;

	CHECK(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof(n), &n, NULL) == CL_SUCCESS);
	return n;
}

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *data)
{
	(void)event;
	*(volatile int *)data = status == CL_COMPLETE ? 1 : 2;
}

/* The application's own events and profiling. */
static void events(struct target *t)
{
	const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
	cl_command_queue queue;
	cl_mem a = target_buffer(t, ITEMS);
	cl_kernel kernel = target_kernel(t, "add_one", a, 1);
	cl_event first, second;
	volatile int called = 0;
	size_t items = ITEMS;
	cl_ulong ns;
	cl_int error;

	/* A queue without profiling has no times to give. */
	CHECK(clEnqueueNDRangeKernel(t->queue, kernel, 1, NULL, &items, NULL, 0, NULL, &first) ==
	      CL_SUCCESS);
	CHECK(clEnqueueNDRangeKernel(t->queue, kernel, 1, NULL, &items, NULL, 1, &first, &second) ==
	      CL_SUCCESS);
	CHECK(clSetEventCallback(second, CL_COMPLETE, on_complete, (void *)&called) == CL_SUCCESS);
	CHECK(clWaitForEvents(1, &second) == CL_SUCCESS);
	CHECK(clGetEventProfilingInfo(second, CL_PROFILING_COMMAND_START, sizeof(ns), &ns, NULL) ==
	      CL_PROFILING_INFO_NOT_AVAILABLE);
	for (int i = 0; !called && i < 1000; i++)
		clFinish(t->queue);
	for (int i = 0; references(first) != 1 && i < 1000000; i++)
		;
	CHECK(called == 1 && references(first) == 1);
	CHECK(clReleaseEvent(first) == CL_SUCCESS && clReleaseEvent(second) == CL_SUCCESS);

	/* A queue with profiling gives times. */
	queue = clCreateCommandQueueWithProperties(t->context, t->devices[0], list, &error);
	CHECK(error == CL_SUCCESS);
	CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, &first) ==
	      CL_SUCCESS);
	CHECK(clWaitForEvents(1, &first) == CL_SUCCESS);
	CHECK(stamp(first, CL_PROFILING_COMMAND_START) <= stamp(first, CL_PROFILING_COMMAND_END));
	CHECK(clReleaseEvent(first) == CL_SUCCESS);
	/* A command that cannot work. */
	CHECK(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, BYTES * 2, &ns, 0, NULL, NULL) ==
	      CL_INVALID_VALUE);
	CHECK(clEnqueueReadBuffer(NULL, a, CL_TRUE, 0, 4, &ns, 0, NULL, NULL) ==
	      CL_INVALID_COMMAND_QUEUE);
	clReleaseCommandQueue(queue);
	clReleaseKernel(kernel);
	clReleaseMemObject(a);
}

static void readbacks(struct target *t)
{
	const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES,
					    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
	cl_queue_properties back[8];
	cl_command_queue_properties properties = 99;
	cl_command_queue queue;
	char options[64];
	size_t size = 99;
	cl_int error;

	CHECK(clGetCommandQueueInfo(t->queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
				    NULL) == CL_SUCCESS);
	CHECK(properties == 0);
	queue = clCreateCommandQueueWithProperties(t->context, t->devices[0], list, &error);
	CHECK(error == CL_SUCCESS);
	CHECK(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
				    &size) == CL_SUCCESS);
	CHECK(properties == CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE && size == sizeof(properties));
	if (clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof(back), back, &size) ==
	    CL_SUCCESS)
		CHECK(size == sizeof(list) && !memcmp(back, list, size));
	clReleaseCommandQueue(queue);
	queue = clCreateCommandQueueWithProperties(t->context, t->devices[0], NULL, &error);
	CHECK(error == CL_SUCCESS);
	if (clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof(back), back, &size) ==
	    CL_SUCCESS)
		CHECK(size == 0);
	clReleaseCommandQueue(queue);
	CHECK(clGetProgramBuildInfo(t->program, t->devices[0], CL_PROGRAM_BUILD_OPTIONS,
				    sizeof(options), options, &size) == CL_SUCCESS);
	CHECK(!strcmp(options, "-DUNUSED=1") && size == sizeof("-DUNUSED=1"));
	CHECK(clGetProgramBuildInfo(t->program, t->devices[0], CL_PROGRAM_BUILD_OPTIONS, 3, options,
				    NULL) == CL_INVALID_VALUE);
}

/* Two queues, one of them out of order, on each device; commands that wait for a user event. */
static void overlap(struct target *t)
{
	for (cl_uint d = 0; d < t->devices_len; d++) {
		cl_command_queue in, out;
		cl_mem a = target_buffer(t, ITEMS), b = target_buffer(t, ITEMS);
		cl_kernel slow = target_kernel(t, "spin", a, 100000),
			  quick = target_kernel(t, "add_one", b, 1);
		size_t items = ITEMS;
		cl_event gate;
		cl_int error;
		char name[256] = "";
		bool gated;

		/* PoCL 3.1's "basic" device locks itself out when a user event starts a command. */
		clGetDeviceInfo(t->devices[d], CL_DEVICE_NAME, sizeof(name), name, NULL);
		gated = !strstr(name, "basic");
		in = clCreateCommandQueue(t->context, t->devices[d], 0, &error);
		CHECK(error == CL_SUCCESS);
		out = clCreateCommandQueue(t->context, t->devices[d],
					   CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
		CHECK(error == CL_SUCCESS);
		gate = clCreateUserEvent(t->context, &error);
		CHECK(error == CL_SUCCESS);
		target_launch(in, slow, ITEMS);
		for (int i = 0; i < 4; i++)
			CHECK(clEnqueueNDRangeKernel(out, quick, 1, NULL, &items, NULL,
						     i == 0 && gated, i || !gated ? NULL : &gate,
						     NULL) == CL_SUCCESS);
		CHECK(clFlush(in) == CL_SUCCESS && clFlush(out) == CL_SUCCESS);
		CHECK(clSetUserEventStatus(gate, CL_COMPLETE) == CL_SUCCESS);
		CHECK(clFinish(out) == CL_SUCCESS && clFinish(in) == CL_SUCCESS);
		clReleaseEvent(gate);
		clReleaseKernel(slow);
		clReleaseKernel(quick);
		clReleaseCommandQueue(in);
		clReleaseCommandQueue(out);
		clReleaseMemObject(a);
		clReleaseMemObject(b);
	}
}

int main(void)
{
	struct target t;

	target_open(&t);
	readbacks(&t);
	transfers(&t);
	images(&t);
	svm(&t);
	events(&t);
	overlap(&t);
	printf("%u device(s) fine\n", t.devices_len);
	return 0;
}
