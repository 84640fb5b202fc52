/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <stdint.h>
#include <time.h>

/*
 * A program that knows who holds its device's memory: memory_app. Prints "FUNCTION BYTES" for each function that holds some
 * at the peak, then "allocations N", "released BYTES" and "peak BYTES".
 *
 * memory_app many N: allocates and releases N buffers of 256 bytes. Prints the nanoseconds of one.
 */
#define MIB ((size_t)1 << 20)

static struct target t;
static cl_command_queue queue;
static size_t held, peak, allocations, released;

static void count(size_t bytes)
{
	held += bytes;
	allocations++;
	if (held > peak)
		peak = held;
}

static void uncount(size_t bytes)
{
	held -= bytes;
	released += bytes;
}

static cl_mem buffer(size_t bytes)
{
	cl_int e;
	cl_mem mem = clCreateBuffer(t.context, CL_MEM_READ_WRITE, bytes, NULL, &e);

	CHECK(e == CL_SUCCESS);
	return mem;
}

__attribute__((noinline)) static cl_mem hold_weights(void)
{
	cl_mem mem = buffer(8 * MIB);

	count(8 * MIB);
	return mem;
}

/* Recursions are stacks of their own. */
__attribute__((noinline)) static void hold_levels(cl_mem *ret, int levels)
{
	*ret = buffer(MIB);
	count(MIB);
	if (levels > 1)
		hold_levels(ret + 1, levels - 1);
}

__attribute__((noinline)) static void *hold_svm(void)
{
	void *at = clSVMAlloc(t.context, CL_MEM_READ_WRITE, 3 * MIB, 0);

	CHECK(at);
	count(3 * MIB);
	return at;
}

__attribute__((noinline)) static cl_mem hold_image(bool old)
{
	const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
	const cl_image_desc desc = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 256, .image_height = 256};
	size_t size;
	cl_int e;
	cl_mem mem =
		old ? clCreateImage2D(t.context, CL_MEM_READ_WRITE, &format, 256, 256, 0, NULL, &e)
		    : clCreateImage(t.context, CL_MEM_READ_WRITE, &format, &desc, NULL, &e);

	CHECK(e == CL_SUCCESS);
	CHECK(clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof(size), &size, NULL) == CL_SUCCESS);
	CHECK(size >= 256 * 256 * 4);
	count(size);
	return mem;
}

/* Makes an object without memory of its own: a part of another, or the program's memory. */
__attribute__((noinline)) static cl_mem share(cl_mem of, void *mine)
{
	const cl_buffer_region region = {0, MIB};
	cl_int e;
	cl_mem mem = of ? clCreateSubBuffer(of, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
					    &region, &e)
			: clCreateBuffer(t.context, CL_MEM_USE_HOST_PTR, MIB, mine, &e);

	CHECK(e == CL_SUCCESS);
	return mem;
}

/* Comes and goes before the peak. */
__attribute__((noinline)) static void pass_by(void)
{
	for (int i = 0; i < 5; i++) {
		cl_mem mem = buffer(4 * MIB);

		count(4 * MIB);
		CHECK(clReleaseMemObject(mem) == CL_SUCCESS);
		uncount(4 * MIB);
	}
}

static void fill(cl_mem mem)
{
	const cl_int value = 7;

	CHECK(clEnqueueFillBuffer(queue, mem, &value, sizeof(value), 0, MIB, 0, NULL, NULL) ==
	      CL_SUCCESS);
}

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static void many(int n)
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < 20; round++) {
		uint64_t begin = now(), ns;

		for (int i = 0; i < n; i++)
			CHECK(clReleaseMemObject(buffer(256)) == CL_SUCCESS);
		ns = (now() - begin) / (uint64_t)n;
		if (ns < least)
			least = ns;
	}
	printf("ns %llu\n", (unsigned long long)least);
}

int main(int argc, char **argv)
{
	cl_mem weights, part, levels[4], image, old, wrapped;
	static char mine[MIB] __attribute__((aligned(4096)));
	size_t images;
	void *svm;

	target_open(&t);
	queue = t.queue;
	if (argc == 3 && !strcmp(argv[1], "many")) {
		many(atoi(argv[2]));
		return 0;
	}
	pass_by();
	weights = hold_weights();
	hold_levels(levels, 4);
	svm = hold_svm();
	images = held;
	image = hold_image(false);
	old = hold_image(true);
	images = held - images;
	part = share(weights, NULL);
	wrapped = share(NULL, mine);
	/* References, each of which keeps the memory: one of the program's, a part, a command. */
	CHECK(clRetainMemObject(levels[0]) == CL_SUCCESS);
	CHECK(clReleaseMemObject(levels[0]) == CL_SUCCESS);
	CHECK(clReleaseMemObject(weights) == CL_SUCCESS);
	CHECK(clReleaseMemObject(wrapped) == CL_SUCCESS);
	fill(levels[0]);
	CHECK(clFinish(queue) == CL_SUCCESS);
	printf("hold_weights %zu\nhold_levels %zu\nhold_svm %zu\nhold_image %zu\n", 8 * MIB,
	       4 * MIB, 3 * MIB, images);
	{
		cl_mem last = buffer(MIB); /* at the peak, too; of main */

		count(MIB);
		printf("main %zu\n", MIB);
		CHECK(clReleaseMemObject(last) == CL_SUCCESS);
		uncount(MIB);
	}
	CHECK(clReleaseMemObject(part) == CL_SUCCESS);
	uncount(8 * MIB);
	CHECK(clReleaseMemObject(levels[0]) == CL_SUCCESS);
	uncount(MIB);
	clSVMFree(t.context, svm);
	uncount(3 * MIB);
	CHECK(clReleaseMemObject(image) == CL_SUCCESS);
	CHECK(clReleaseMemObject(old) == CL_SUCCESS);
	uncount(images);
	pass_by();
	/* levels[1] to levels[3] are left to the end. */
	printf("allocations %zu\nreleased %zu\npeak %zu\n", allocations, released, peak);
	return 0;
}
