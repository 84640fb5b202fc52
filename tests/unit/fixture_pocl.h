/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Real OpenCL kernels, compiled by PoCL while the test runs. */

#include "fixture_build.h"

/* A multiplication by tiles, a kernel whose own name ends like PoCL's suffixes, and vector code. */
static const char fixture_kernels[] =
	"#define T 8\n"
	"float madd(float a, float b, float c)\n"
	"{\n"
	"	return a * b + c;\n"
	"}\n"
	"kernel void mm_tiled(int n, global const float *a, global const float *b,\n"
	"		     global float *c)\n"
	"{\n"
	"	local float ta[T][T], tb[T][T];\n"
	"	int x = get_global_id(0), y = get_global_id(1);\n"
	"	int lx = get_local_id(0), ly = get_local_id(1);\n"
	"	float sum = 0;\n"
	"	for (int t = 0; t < n; t += T) {\n"
	"		ta[ly][lx] = a[y * n + t + lx];\n"
	"		tb[ly][lx] = b[(t + ly) * n + x];\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"		for (int k = 0; k < T; k++)\n"
	"			sum = madd(ta[ly][k], tb[k][lx], sum);\n"
	"		barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	}\n"
	"	c[y * n + x] = sum;\n"
	"}\n"
	"kernel void odd_workgroup(int n, global const float *a, global const float *b,\n"
	"			  global float *c)\n"
	"{\n"
	"	int i = get_global_id(1) * n + get_global_id(0);\n"
	"	float4 v = (float4)(a[i], b[i], a[i] - b[i], (float)i);\n"
	"	for (int k = 0; k < 16; k++)\n"
	"		v = sin(v) * v.wzyx + sqrt(fabs(v));\n"
	"	c[i] = v.x + v.y + v.z + v.w;\n"
	"}\n";

static const char fixture_host[] =
	"#define CL_TARGET_OPENCL_VERSION 120\n"
	"#include <CL/cl.h>\n"
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"#define OK(e) do { if ((e) != CL_SUCCESS) { printf(\"line %d: %d\\n\", __LINE__, (e)); "
	"exit(1); } } while (0)\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	enum { N = 32 };\n"
	"	static float data[N * N];\n"
	"	char *text = calloc(1, 65536);\n"
	"	FILE *f = fopen(\"kernels.cl\", \"r\");\n"
	"	cl_platform_id platform;\n"
	"	cl_device_id device;\n"
	"	cl_int e, n = N;\n"
	"	size_t global[2] = {N, N}, local[2] = {8, 8};\n"
	"	if (!f || !fread(text, 1, 65535, f)) return 1;\n"
	"	OK(clGetPlatformIDs(1, &platform, NULL));\n"
	"	OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));\n"
	"	cl_context c = clCreateContext(NULL, 1, &device, NULL, NULL, &e); OK(e);\n"
	"	cl_command_queue q = clCreateCommandQueue(c, device, 0, &e); OK(e);\n"
	"	cl_program p = clCreateProgramWithSource(c, 1, (const char **)&text, NULL, &e);\n"
	"	OK(e);\n"
	"	OK(clBuildProgram(p, 1, &device, argc > 1 ? argv[1] : \"\", NULL, NULL));\n"
	"	cl_mem m[3];\n"
	"	for (int i = 0; i < 3; i++) {\n"
	"		m[i] = clCreateBuffer(c, CL_MEM_COPY_HOST_PTR, sizeof(data), data, &e);\n"
	"		OK(e);\n"
	"	}\n"
	"	const char *names[] = {\"mm_tiled\", \"odd_workgroup\"};\n"
	"	for (int i = 0; i < 2; i++) {\n"
	"		cl_kernel k = clCreateKernel(p, names[i], &e); OK(e);\n"
	"		OK(clSetKernelArg(k, 0, sizeof(n), &n));\n"
	"		for (int j = 0; j < 3; j++)\n"
	"			OK(clSetKernelArg(k, 1 + j, sizeof(m[j]), &m[j]));\n"
	"		OK(clEnqueueNDRangeKernel(q, k, 2, NULL, global, local, 0, NULL, NULL));\n"
	"		OK(clFinish(q));\n"
	"	}\n"
	"	return 0;\n"
	"}\n";

/* Compiles and runs the host program with the kernels built under `options`; afterwards the paths of
 * PoCL's kernel libraries, one a line, for free(). */
static inline char *fixture_pocl(const struct fixture *f, const char *cache, const char *options)
{
	fixture_write(f, "kernels.cl", fixture_kernels, strlen(fixture_kernels));
	fixture_write(f, "host.c", fixture_host, strlen(fixture_host));
	free(fixture_run(f, "cc -w -O1 host.c -o host -lOpenCL"));
	free(fixture_run(f, "OCL_ICD_VENDORS=pocl.icd POCL_CACHE_DIR='%s/%s' ./host '%s' >&2",
			 f->dir, cache, options));
	return fixture_run(f, "find '%s/%s' -name '*.so' | sort", f->dir, cache);
}

/* The path of one kernel's library in that list, into path[PATH_MAX]. */
static inline void fixture_pocl_path(const char *list, const char *kernel, char *path)
{
	char file[256];

	snprintf(file, sizeof(file), "/%s.so", kernel);
	for (const char *line = list; *line; line += strcspn(line, "\n") + 1) {
		size_t n = strcspn(line, "\n");

		if (n < strlen(file) || strncmp(line + n - strlen(file), file, strlen(file)))
			continue;
		snprintf(path, PATH_MAX, "%.*s", (int)n, line);
		return;
	}
	fail_msg("no library of kernel %s in:\n%s", kernel, list);
}
