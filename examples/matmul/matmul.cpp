// SPDX-License-Identifier: Apache-2.0
//
// The first thing to look at with aiflame: one matrix product, computed three ways on an OpenCL
// device, each called through its own small chain of C++ functions, so that the flame graph has
// three towers.
//
//     matmul [N [REPETITIONS]]        N: a multiple of 16, default 512; repetitions of each, default 8

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace
{

const char *const source =
#include "matmul.cl.inc"
	;

void check(cl_int result, const char *what)
{
	if (result == CL_SUCCESS)
		return;
	std::fprintf(stderr, "matmul: %s: OpenCL error %d\n", what, result);
	std::exit(1);
}

struct Device {
	cl_device_id id = nullptr;
	cl_context context = nullptr;
	cl_command_queue queue = nullptr;
	cl_program program = nullptr;

	void open();
	void build();
};

void Device::open()
{
	cl_platform_id platforms[16];
	cl_uint count = 0;
	cl_int r;

	clGetPlatformIDs(16, platforms, &count);
	for (cl_uint i = 0; i < count && !id; i++)
		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &id, nullptr) != CL_SUCCESS)
			id = nullptr;
	if (!id) {
		std::fprintf(stderr,
			     "matmul: no OpenCL device was found; install PoCL, which makes "
			     "one of the CPU (Debian: apt-get install pocl-opencl-icd)\n");
		std::exit(1);
	}
	context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &r);
	check(r, "clCreateContext");
	queue = clCreateCommandQueue(context, id, 0, &r);
	check(r, "clCreateCommandQueue");
}

void Device::build()
{
	const char *text = source;
	cl_int r;

	program = clCreateProgramWithSource(context, 1, &text, nullptr, &r);
	check(r, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &id, "", nullptr, nullptr), "clBuildProgram");
}

struct Matrices {
	int n;
	std::vector<float> a, b, c;
	cl_mem mem_a = nullptr, mem_b = nullptr, mem_c = nullptr;

	explicit Matrices(int size);
	void upload(Device &device);
	NOINLINE void download_and_verify(Device &device, const char *variant);
};

Matrices::Matrices(int size) : n(size), a(size_t(n) * n), b(size_t(n) * n), c(size_t(n) * n)
{
	for (size_t i = 0; i < a.size(); i++) {
		a[i] = float(i % 7) * 0.5f;
		b[i] = float(i % 5) * 0.25f;
	}
}

void Matrices::upload(Device &device)
{
	size_t bytes = a.size() * sizeof(float);
	cl_int r;

	mem_a = clCreateBuffer(device.context, CL_MEM_READ_ONLY, bytes, nullptr, &r);
	check(r, "clCreateBuffer");
	mem_b = clCreateBuffer(device.context, CL_MEM_READ_ONLY, bytes, nullptr, &r);
	check(r, "clCreateBuffer");
	mem_c = clCreateBuffer(device.context, CL_MEM_READ_WRITE, bytes, nullptr, &r);
	check(r, "clCreateBuffer");
	check(clEnqueueWriteBuffer(device.queue, mem_a, CL_FALSE, 0, bytes, a.data(), 0, nullptr,
				   nullptr),
	      "clEnqueueWriteBuffer");
	check(clEnqueueWriteBuffer(device.queue, mem_b, CL_TRUE, 0, bytes, b.data(), 0, nullptr,
				   nullptr),
	      "clEnqueueWriteBuffer");
}

void Matrices::download_and_verify(Device &device, const char *variant)
{
	size_t bytes = c.size() * sizeof(float);

	check(clEnqueueReadBuffer(device.queue, mem_c, CL_TRUE, 0, bytes, c.data(), 0, nullptr,
				  nullptr),
	      "clEnqueueReadBuffer");
	for (int row = 0; row < n; row += n / 4)
		for (int col = 1; col < n; col += n / 4) {
			double sum = 0;

			for (int k = 0; k < n; k++)
				sum += double(a[size_t(row) * n + k]) * b[size_t(k) * n + col];
			if (std::fabs(sum - c[size_t(row) * n + col]) > 1e-3 * std::fabs(sum)) {
				std::fprintf(stderr, "matmul: %s: wrong result\n", variant);
				std::exit(1);
			}
		}
}

class Variant
{
      public:
	Variant(Device &d, Matrices &m, const char *name, int columns = 1, int rows = 1)
	    : device(d), matrices(m), kernel_name(name), tile_columns(columns), tile_rows(rows)
	{
		cl_int r;

		kernel = clCreateKernel(d.program, name, &r);
		check(r, "clCreateKernel");
	}
	virtual ~Variant()
	{
		clReleaseKernel(kernel);
	}
	virtual void run(int repetitions) = 0;
	const char *name() const
	{
		return kernel_name;
	}

      protected:
	NOINLINE void enqueue();
	Device &device;
	Matrices &matrices;

      private:
	const char *kernel_name;
	int tile_columns, tile_rows; // elements that one work item makes
	cl_kernel kernel;
};

void Variant::enqueue()
{
	size_t global[2] = {size_t(matrices.n) / tile_columns, size_t(matrices.n) / tile_rows};
	size_t local[2] = {size_t(16) / tile_columns, size_t(16) / tile_rows};

	check(clSetKernelArg(kernel, 0, sizeof(int), &matrices.n), "clSetKernelArg");
	check(clSetKernelArg(kernel, 1, sizeof(cl_mem), &matrices.mem_a), "clSetKernelArg");
	check(clSetKernelArg(kernel, 2, sizeof(cl_mem), &matrices.mem_b), "clSetKernelArg");
	check(clSetKernelArg(kernel, 3, sizeof(cl_mem), &matrices.mem_c), "clSetKernelArg");
	check(clEnqueueNDRangeKernel(device.queue, kernel, 2, nullptr, global, local, 0, nullptr,
				     nullptr),
	      "clEnqueueNDRangeKernel");
}

class Basic : public Variant
{
      public:
	Basic(Device &d, Matrices &m) : Variant(d, m, "multiply_basic")
	{
	}
	NOINLINE void multiply_all_rows()
	{
		enqueue();
		asm volatile("");
	}
	NOINLINE void run(int repetitions) override
	{
		while (repetitions--)
			multiply_all_rows();
	}
};

class LocalAccess : public Variant
{
      public:
	LocalAccess(Device &d, Matrices &m) : Variant(d, m, "multiply_local_access", 4)
	{
	}
	NOINLINE void multiply_with_register_sum()
	{
		enqueue();
		asm volatile("");
	}
	NOINLINE void run(int repetitions) override
	{
		while (repetitions--)
			multiply_with_register_sum();
	}
};

class LocalAccessAndTiling : public Variant
{
      public:
	LocalAccessAndTiling(Device &d, Matrices &m)
	    : Variant(d, m, "multiply_local_access_and_tiling", 8, 2)
	{
	}
	NOINLINE void multiply_tile_by_tile()
	{
		enqueue();
		asm volatile("");
	}
	NOINLINE void run(int repetitions) override
	{
		while (repetitions--)
			multiply_tile_by_tile();
	}
};

NOINLINE void run_benchmark(Device &device, Matrices &matrices, Variant &variant, int repetitions)
{
	/* PoCL compiles a kernel at its first launch: that is not what is compared. */
	variant.run(1);
	check(clFinish(device.queue), "clFinish");
	auto begin = std::chrono::steady_clock::now();
	variant.run(repetitions);
	check(clFinish(device.queue), "clFinish");
	std::printf(
		"%-34s %8.3f ms each\n", variant.name(),
		std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
				.count() /
			repetitions);
	matrices.download_and_verify(device, variant.name());
}

} // namespace

int main(int argc, char **argv)
{
	int n = argc > 1 ? std::atoi(argv[1]) : 512;
	int repetitions = argc > 2 ? std::atoi(argv[2]) : 8;
	Device device;

	if (n < 16 || n % 16 || n > 16384 || repetitions < 1) {
		std::fprintf(stderr, "usage: matmul [N [REPETITIONS]], N a multiple of 16\n");
		return 2;
	}
	device.open();
	device.build();
	Matrices matrices(n);
	matrices.upload(device);
	Basic basic(device, matrices);
	LocalAccess local(device, matrices);
	LocalAccessAndTiling tiling(device, matrices);
	for (Variant *v : {(Variant *)&basic, (Variant *)&local, (Variant *)&tiling})
		run_benchmark(device, matrices, *v, repetitions);
	return 0;
}
