/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for zebin.sh, one a module (-D NAME): IGC of Debian 12 writes no debug data for several. */

#ifdef MATMUL
float half_of(float x)
{
	return x * 0.5f;
}

float weigh(float a, float b)
{
	float c = half_of(a);

	return c * b + sqrt(b);
}

__kernel void matmul(__global float *c, __global const float *a, __global const float *b, int n)
{
	int row = get_global_id(1), col = get_global_id(0);
	float sum = 0;

	for (int k = 0; k < n; k++)
		sum += weigh(a[row * n + k], b[k * n + col]);
	c[row * n + col] = sum;
}
#endif

#ifdef REDUCE
__kernel void reduce(__global const int *in, __global int *out, __local int *part)
{
	int l = get_local_id(0);

	part[l] = in[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int s = get_local_size(0) / 2; s > 0; s /= 2) {
		if (l < s)
			part[l] += part[l + s];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (l == 0)
		atomic_add(out, part[0]);
}
#endif

#ifdef MATHS
__kernel void maths(__global float4 *x, __global int *q, __global short *s)
{
	int i = get_global_id(0);
	float4 v = x[i];

	if (v.x > 0.5f)
		v = native_sin(v) * exp(v) + log(v.wzyx);
	else if (v.y < 0.1f)
		v = native_rsqrt(v) / v.yxwz;
	else
		v = pow(v, 1.7f) + cos(v);
	x[i] = v;
	q[i] = q[i] / (q[i + 1] | 1) + q[i + 2] % 7 + popcount(q[i + 3]) + clz(q[i + 4]);
	s[i] = (short)rotate((ushort)s[i], (ushort)3) + mul_hi(s[i], s[i + 1]);
}
#endif

#ifdef BRANCHES
__kernel void branches(__global int *x, int n)
{
	int i = get_global_id(0), v = x[i];
	int tmp[16];

	for (int k = 0; k < 16; k++)
		tmp[k] = x[i + k];
	while (v > 1 && n-- > 0) {
		if (v & 1)
			v = 3 * v + tmp[v & 15];
		else
			v /= 2;
		if (v == n)
			continue;
		if (v == 17)
			break;
		switch (v & 7) {
		case 1:
			tmp[n & 15] ^= v;
			break;
		case 2:
			v += 5;
			break;
		case 5:
			return;
		}
	}
	x[i] = v + tmp[n & 15];
}
#endif

#ifdef SYSTOLIC
/* The compiler's own, as its headers do not declare the public one. */
float8 __builtin_IB_sub_group16_fdpas_f_f_hf_hf_8_8(float8 sum, short8 a, int8 b);

__attribute__((intel_reqd_sub_group_size(16))) __kernel void
systolic(__global short8 *a, __global int8 *b, __global float8 *c)
{
	int i = get_global_id(0);
	float8 sum = c[i];

	for (int k = 0; k < 8; k++)
		sum = __builtin_IB_sub_group16_fdpas_f_f_hf_hf_8_8(sum, a[i + k], b[i + k]);
	c[i] = sum;
}
#endif

#ifdef WIDE
#ifdef cl_khr_fp64
typedef double real;
#else
typedef float real;
#endif

__kernel void wide(__global real *d, __global long *l, __global uchar *c)
{
	int i = get_global_id(0);

	d[i] = d[i] * (real)1.5 + d[i + 1];
	l[i] = l[i] * l[i + 1] + (l[i] >> 3);
	c[i] = (uchar)(c[i] + c[i + 1] * 3);
	l[i] = sub_group_reduce_add((int)l[i]);
}
#endif
