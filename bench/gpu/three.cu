// SPDX-License-Identifier: Apache-2.0
//
// The three matrix products of examples/cuda/matmul.cu, for abba.py to launch again and again:
//
//     nvcc -O2 -shared -Xcompiler -fPIC -o three.so three.cu

#define main example
#include "../../examples/cuda/matmul.cu"

static Matrices matrices;

extern "C" void three_begin(int n)
{
	size_t bytes = (size_t)n * n * sizeof(float);

	matrices.n = n;
	check(cudaMalloc(&matrices.a, bytes), "cudaMalloc");
	check(cudaMalloc(&matrices.b, bytes), "cudaMalloc");
	check(cudaMalloc(&matrices.c, bytes), "cudaMalloc");
	check(cudaMemset(matrices.a, 0x3c, bytes), "cudaMemset");
	check(cudaMemset(matrices.b, 0x3c, bytes), "cudaMemset");
}

/* Each about as long as the others, and until all are done. */
extern "C" void three_step(void)
{
	multiply_naively(matrices, 1);
	multiply_in_registers(matrices, 9);
	multiply_tile_by_tile(matrices, 13);
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}
