/* SPDX-License-Identifier: Apache-2.0 */
/* runbook_cl PROMPTS TOKENS COPIES: reads prompts and writes tokens with kernels of OpenCL, each in a range, and says how
 * long both took by its own clock. COPIES of the weights a token are what nobody wants. */
#include "agent_cl.h"

#include <aiflame.h>

#include <time.h>

enum { N = 128, PROMPT = 8 };

static const char source[] =
	"kernel void gemm(global const float *a, global const float *b, global float *c)\n"
	"{\n"
	"	int i = get_global_id(0), j = get_global_id(1), n = get_global_size(1);\n"
	"	float sum = 0;\n"
	"	for (int k = 0; k < n; k++)\n"
	"		sum += a[i * n + k] * b[k * n + j];\n"
	"	c[i * n + j] = sum;\n"
	"}\n"
	"kernel void copy_weights(global const float *from, global float *to)\n"
	"{\n"
	"	int i = get_global_id(0), n = get_global_size(0);\n"
	"	for (int k = 0; k < 64; k++)\n"
	"		to[i] = from[(i * 7 + k) % n];\n"
	"}\n";

static struct target t;
static cl_kernel gemm, copy;

static void enqueue(cl_kernel k, cl_uint dimensions, size_t size)
{
	const size_t sizes[2] = {size, N};

	CHECK(!clEnqueueNDRangeKernel(t.queue, k, dimensions, NULL, sizes, NULL, 0, NULL, NULL));
}

static cl_kernel make(cl_program program, const char *name, const cl_mem *buffers, cl_uint len)
{
	cl_kernel k = clCreateKernel(program, name, NULL);

	CHECK(k);
	for (cl_uint i = 0; i < len; i++)
		CHECK(!clSetKernelArg(k, i, sizeof(buffers[i]), &buffers[i]));
	return k;
}

static double run(const char *name, int times, int gemms, int copies)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < times; i++) {
		aiflame_range_begin(name);
		for (int k = 0; k < gemms; k++) {
			char layer[16];

			snprintf(layer, sizeof(layer), "layer.%d", k % 2);
			aiflame_range_begin(layer);
			enqueue(gemm, 2, N);
			aiflame_range_end();
		}
		for (int k = 0; k < copies; k++)
			enqueue(copy, 1, (size_t)N * N);
		CHECK(!clFinish(t.queue));
		aiflame_range_end();
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

int main(int argc, char **argv)
{
	const char *text = source;
	cl_mem buffers[4];
	cl_program program;

	CHECK(argc > 3);
	target_open(&t);
	program = clCreateProgramWithSource(t.context, 1, &text, NULL, NULL);
	CHECK(program && !clBuildProgram(program, 0, NULL, "", NULL, NULL));
	for (int i = 0; i < 4; i++) {
		static const float zero = 0;

		buffers[i] = clCreateBuffer(t.context, CL_MEM_READ_WRITE, sizeof(float) * N * N,
					    NULL, NULL);
		CHECK(buffers[i] && !clEnqueueFillBuffer(t.queue, buffers[i], &zero, sizeof(zero),
							 0, sizeof(float) * N * N, 0, NULL, NULL));
	}
	gemm = make(program, "gemm", buffers, 3);
	copy = make(program, "copy_weights", buffers + 2, 2);
	enqueue(gemm, 2, N); /* what is compiled once is compiled before */
	enqueue(copy, 1, (size_t)N * N);
	CHECK(!clFinish(t.queue));
	printf("prefill %s %.6f\n", argv[1], run("prefill", atoi(argv[1]), PROMPT, 0));
	printf("decode %s %.6f\n", argv[2], run("decode", atoi(argv[2]), 1, atoi(argv[3])));
	return 0;
}
