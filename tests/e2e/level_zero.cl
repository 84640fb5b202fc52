/* SPDX-License-Identifier: Apache-2.0 */
__kernel void mm(int n, __global float *A, __global float *B, __global float *C)
{
	int col = get_global_id(0), row = get_global_id(1);

	for (int k = 0; k < n; k++)
		C[row * n + col] += A[row * n + k] * B[k * n + col];
}

#ifndef ONE /* IGC of 2022 drops the lines of modules with several kernels */
__kernel void add(int n, __global float *A, __global float *B, __global float *C)
{
	C[get_global_id(0)] = A[get_global_id(0)] + B[get_global_id(0)] + n;
}
#endif
