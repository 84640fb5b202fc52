/* SPDX-License-Identifier: Apache-2.0 */
/* Several kernels in one module, inlining three deep, a device function of its own. Lines matter:
 * test_cubin_lines.c names them. */
__device__ __noinline__ float apart(float x, int n)
{
	for (int i = 0; i < n; i++)
		x = x * x + 1.0f;
	return x;
}

__device__ __forceinline__ float inner(const float *p, int i)
{
	return p[i] * 3.0f;
}

__device__ __forceinline__ float middle(const float *p, int i)
{
	float x = inner(p, i);

	return x + inner(p, i + 7);
}

__global__ void chain(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = middle(in, i);
}

__global__ void calls(float *out, const float *in, int n)
{
	int i = threadIdx.x;

	out[i] = apart(in[i], n);
}

#ifndef FEWER /* keeps the larger cubins of newer machines small */
__global__ void shared_sum(float *out, const float *in)
{
	__shared__ float part[128];

	part[threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	out[threadIdx.x] = part[127 - threadIdx.x] + middle(in, 1);
}
#endif
