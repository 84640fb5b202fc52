// SPDX-License-Identifier: Apache-2.0
//
// One matrix product, computed three ways on an NVIDIA GPU, each called through its own small chain of
// C++ functions, so that the flame graph has three towers. Prints what CUDA's own events say each took.
//
//     nvcc -O2 -lineinfo -o matmul_cuda matmul.cu
//     matmul_cuda [N [REPETITIONS]]      N: a multiple of 32, default 1024; repetitions of each, default 40

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define NOINLINE __attribute__((noinline))

/* Each thread makes one element of c, and writes it back after each step. */
__global__ void multiply_basic(int n, const float *a, const float *b, volatile float *c)
{
	int col = blockIdx.x * blockDim.x + threadIdx.x;
	int row = blockIdx.y * blockDim.y + threadIdx.y;

	c[row * n + col] = 0;
	for (int k = 0; k < n; k++)
		c[row * n + col] += a[row * n + k] * b[k * n + col];
}

/* Its sum is kept in a register. */
__global__ void multiply_local_access(int n, const float *a, const float *b, float *c)
{
	int col = blockIdx.x * blockDim.x + threadIdx.x;
	int row = blockIdx.y * blockDim.y + threadIdx.y;
	float sum = 0;

	for (int k = 0; k < n; k++)
		sum += a[row * n + k] * b[k * n + col];
	c[row * n + col] = sum;
}

/* And each block keeps a tile of both matrices in shared memory. */
__global__ void multiply_local_access_and_tiling(int n, const float *a, const float *b, float *c)
{
	__shared__ float as[32][32], bs[32][32];
	int x = threadIdx.x, y = threadIdx.y;
	int col = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
	float sum = 0;

	for (int tile = 0; tile < n; tile += 32) {
		as[y][x] = a[row * n + tile + x];
		bs[y][x] = b[(tile + y) * n + col];
		__syncthreads();
		for (int k = 0; k < 32; k++)
			sum += as[y][k] * bs[k][x];
		__syncthreads();
	}
	c[row * n + col] = sum;
}

static void check(cudaError_t result, const char *what)
{
	if (result == cudaSuccess)
		return;
	std::fprintf(stderr, "matmul: %s: %s\n", what, cudaGetErrorString(result));
	std::exit(1);
}

struct Matrices {
	int n;
	float *a, *b, *c;
};

NOINLINE static void launch_basic(const Matrices &m)
{
	multiply_basic<<<dim3(m.n / 32, m.n / 32), dim3(32, 32)>>>(m.n, m.a, m.b, m.c);
	asm volatile("");
}

NOINLINE static void launch_local(const Matrices &m)
{
	multiply_local_access<<<dim3(m.n / 32, m.n / 32), dim3(32, 32)>>>(m.n, m.a, m.b, m.c);
	asm volatile("");
}

NOINLINE static void launch_tiled(const Matrices &m)
{
	multiply_local_access_and_tiling<<<dim3(m.n / 32, m.n / 32), dim3(32, 32)>>>(m.n, m.a, m.b,
										      m.c);
	asm volatile("");
}

NOINLINE static void multiply_naively(const Matrices &m, int repetitions)
{
	while (repetitions--)
		launch_basic(m);
}

NOINLINE static void multiply_in_registers(const Matrices &m, int repetitions)
{
	while (repetitions--)
		launch_local(m);
}

NOINLINE static void multiply_tile_by_tile(const Matrices &m, int repetitions)
{
	while (repetitions--)
		launch_tiled(m);
}

NOINLINE static void run_benchmark(const char *name, const Matrices &m, int repetitions,
				   void (*run)(const Matrices &, int))
{
	std::vector<float> c((size_t)m.n * m.n);
	cudaEvent_t begin, end;
	float ms;

	run(m, 1); /* the first launch loads the kernel */
	check(cudaEventCreate(&begin), "cudaEventCreate");
	check(cudaEventCreate(&end), "cudaEventCreate");
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	check(cudaEventRecord(begin), "cudaEventRecord");
	run(m, repetitions);
	check(cudaEventRecord(end), "cudaEventRecord");
	check(cudaEventSynchronize(end), "cudaEventSynchronize");
	check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
	check(cudaMemcpy(c.data(), m.c, c.size() * sizeof(float), cudaMemcpyDeviceToHost), "cudaMemcpy");
	for (size_t i = 0; i < c.size(); i += 997)
		if (std::fabs(c[i] - 0.5f * m.n) > 0.01f * m.n) {
			std::fprintf(stderr, "matmul: %s is wrong at %zu\n", name, i);
			std::exit(1);
		}
	std::printf("%-34s %10.3f ms in all, %8.4f ms each\n", name, ms, ms / repetitions);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? std::atoi(argv[1]) : 1024;
	int repetitions = argc > 2 ? std::atoi(argv[2]) : 40;
	size_t bytes = (size_t)n * n * sizeof(float);
	Matrices m = {n, nullptr, nullptr, nullptr};

	if (n < 32 || n % 32 || n > 16384 || repetitions < 1) {
		std::fprintf(stderr, "usage: matmul_cuda [N [REPETITIONS]], N a multiple of 32\n");
		return 2;
	}
	std::vector<float> ones((size_t)n * n, 1.0f), halves((size_t)n * n, 0.5f);
	check(cudaMalloc(&m.a, bytes), "cudaMalloc");
	check(cudaMalloc(&m.b, bytes), "cudaMalloc");
	check(cudaMalloc(&m.c, bytes), "cudaMalloc");
	check(cudaMemcpy(m.a, ones.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
	check(cudaMemcpy(m.b, halves.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
	check(cudaMemset(m.c, 0, bytes), "cudaMemset");
	run_benchmark("multiply_basic", m, repetitions, multiply_naively);
	run_benchmark("multiply_local_access", m, repetitions, multiply_in_registers);
	run_benchmark("multiply_local_access_and_tiling", m, repetitions, multiply_tile_by_tile);
	return 0;
}
