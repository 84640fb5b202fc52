/* Three ways to multiply two N x N matrices. */

/* Each work item makes one element of c, and writes it back after each step. */
__kernel void multiply_basic(int n, __global const float *a, __global const float *b,
			     __global float *c)
{
	int col = get_global_id(0), row = get_global_id(1);

	c[row * n + col] = 0;
	for (int k = 0; k < n; k++)
		c[row * n + col] += a[row * n + k] * b[k * n + col];
}

/* Four neighbours at a time, their sums kept in a private variable. */
__kernel void multiply_local_access(int n, __global const float *a, __global const float *b,
				    __global float *c)
{
	int col = get_global_id(0) * 4, row = get_global_id(1);
	float4 sum = 0;

	for (int k = 0; k < n; k++)
		sum += a[row * n + k] * vload4(0, b + k * n + col);
	vstore4(sum, 0, c + row * n + col);
}

/* And each work item makes a tile of 2 x 8 elements, so that what is read is used many times. */
__kernel void multiply_local_access_and_tiling(int n, __global const float *a,
					       __global const float *b, __global float *c)
{
	int col = get_global_id(0) * 8, row = get_global_id(1) * 2;
	float8 sum0 = 0, sum1 = 0;

	for (int k = 0; k < n; k++) {
		float8 line = vload8(0, b + k * n + col);

		sum0 += a[row * n + k] * line;
		sum1 += a[(row + 1) * n + k] * line;
	}
	vstore8(sum0, 0, c + row * n + col);
	vstore8(sum1, 0, c + (row + 1) * n + col);
}
