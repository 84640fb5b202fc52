/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include "aiflame.h"

#include <CL/cl.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * A program with marked steps and ranges and a change on request: diff_app VARIANT [STEPS [ROUNDS]]. Each step copies its input, then runs the
 * model: an attention of one kernel, a block of a fused kernel, a head of two. VARIANT is "base", or names what is different;
 * "unmarked" has its steps to be found. ROUNDS is how long kernels are. STEPS of "batch" are twice as many, of a bit more than half the work each.
 */
#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)
#define BODY                                                                                      \
	"(global int *a, int rounds) { int x = a[get_global_id(0)]; for (int k = 0; k < rounds; " \
	"k++) x = x * 1103515245 + 12345; a[get_global_id(0)] = x; }\n"
#define PART        __attribute__((noinline)) static void
#define INPUT_BYTES (4 << 20)

static const char *const source =
	"kernel void attention" BODY "kernel void gemm_tile_16" BODY "kernel void gemm_tile_8" BODY
	"kernel void scale_and_shift" BODY "kernel void scale" BODY "kernel void shift" BODY
	"kernel void logits" BODY "kernel void logits_first" BODY "kernel void logits_second" BODY
	"kernel void softmax" BODY "kernel void penalty" BODY;

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_mem values, input;
static char *host_input;
static const char *variant;
static int rounds;

static bool is(const char *name)
{
	return !strcmp(variant, name);
}

/* Keeps a call from being the last thing that its caller does: the caller stays on the stack. */
#define STAY __asm__ volatile("")

PART run(const char *name, double part)
{
	size_t items = 16;
	cl_int error, n = (cl_int)(part * rounds);
	cl_kernel kernel = clCreateKernel(program, name, &error);

	CHECK(error == CL_SUCCESS);
	CHECK(clSetKernelArg(kernel, 0, sizeof(values), &values) == CL_SUCCESS);
	CHECK(clSetKernelArg(kernel, 1, sizeof(n), &n) == CL_SUCCESS);
	CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL) ==
	      CL_SUCCESS);
	clReleaseKernel(kernel);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Computes on the host, while the device has nothing to do. */
PART tokenize(double ns)
{
	volatile unsigned x = 1;

	for (double end = now() + ns; now() < end;)
		for (int i = 0; i < 2000; i++)
			x = x * 1664525 + 1013904223;
}

PART log_progress(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
	STAY;
}

PART load(void)
{
	size_t pieces = is("copies") ? 64 : 1, size = INPUT_BYTES / pieces;

	for (int again = 0; again < (is("copies") ? 2 : 1); again++)
		for (size_t i = 0; i < pieces; i++)
			CHECK(clEnqueueWriteBuffer(queue, input, CL_FALSE, i * size, size,
						   host_input + i * size, 0, NULL,
						   NULL) == CL_SUCCESS);
	STAY;
}

PART attention(double batch)
{
	run("attention", batch * (is("longer") ? 2 : is("slower5") ? 1.05 : is("moved") ? 0.4 : 1));
	if (is("launch"))
		run("penalty", 0.8 * batch);
	STAY;
}

PART helper(double batch)
{
	run("softmax", 0.6 * batch);
	STAY;
}

PART block(double batch)
{
	if (is("fusion")) {
		run("scale", 0.9 * batch);
		run("shift", 0.9 * batch);
	} else {
		run("scale_and_shift", (is("moved") ? 1.6 : 1) * batch);
	}
	if (is("tile"))
		run("gemm_tile_8", 1.6 * batch);
	else
		run("gemm_tile_16", 0.8 * batch);
	STAY;
}

PART head(double batch)
{
	if (is("split")) {
		run("logits_first", 0.9 * batch);
		run("logits_second", 0.9 * batch);
	} else {
		run("logits", batch);
	}
	if (is("caller"))
		helper(batch);
	else
		run("softmax", 0.6 * batch);
	STAY;
}

PART model(double batch)
{
	attention(batch);
	if (is("sync")) {
		CHECK(clFinish(queue) == CL_SUCCESS);
		tokenize(2e6);
	}
	aiflame_range_begin("blocks");
	block(batch);
	aiflame_range_end();
	aiflame_range_begin("head");
	head(batch);
	aiflame_range_end();
	STAY;
}

PART step(double batch)
{
	tokenize(is("host") ? 3e6 : 5e5);
	load();
	model(batch);
	CHECK(clFinish(queue) == CL_SUCCESS);
	if (is("idle"))
		log_progress();
	STAY;
}

PART train(int steps)
{
	double batch = is("batch") ? 0.8 : 1;

	for (int i = 0; i < (is("batch") ? 2 : 1) * steps; i++) {
		if (!is("unmarked"))
			aiflame_step();
		step(batch);
	}
	aiflame_steps_end();
	STAY;
}

/* PoCL compiles a kernel when it is first enqueued. */
PART warm_up(void)
{
	static const char *const names[] = {
		"attention", "gemm_tile_16", "gemm_tile_8",   "scale_and_shift", "scale",  "shift",
		"logits",    "logits_first", "logits_second", "softmax",         "penalty"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		run(names[i], 0.01);
	CHECK(clFinish(queue) == CL_SUCCESS);
}

int main(int argc, char **argv)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int error;

	variant = argc > 1 ? argv[1] : "base";
	rounds = argc > 3 ? atoi(argv[3]) : 40000;
	CHECK(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS);
	CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	CHECK(error == CL_SUCCESS);
	queue = clCreateCommandQueueWithProperties(context, device, NULL, &error);
	CHECK(error == CL_SUCCESS);
	program = clCreateProgramWithSource(context, 1, (const char **)&source, NULL, &error);
	CHECK(error == CL_SUCCESS);
	CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS);
	values = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &error);
	CHECK(error == CL_SUCCESS);
	input = clCreateBuffer(context, CL_MEM_READ_WRITE, INPUT_BYTES, NULL, &error);
	CHECK(error == CL_SUCCESS);
	host_input = calloc(1, INPUT_BYTES);
	CHECK(host_input);
	warm_up();
	train(argc > 2 ? atoi(argv[2]) : 20);
	return 0;
}
