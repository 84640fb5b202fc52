/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each loop is written once, with vectors of BYTES, and compiled for several instruction sets. Twelve sums are independent
 * of each other: two units with a latency of 4 or 5 turns are kept busy, and 16 registers suffice.
 */
#include "stat/roof_kernels.h"

#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define SUMS     12

/* Read at run time: a compiler that knew the terms would compute the sums once and for all. */
static const volatile float half = 0.5f;

#define BEGIN(i) v x##i = zero + (i + 1);
#define STEP(i)  x##i = x##i * by + more;
#define TOTAL(i) zero += x##i;

#define FMA(name, target, scalar, bytes)                                \
	target static scalar name(uint64_t turns)                       \
	{                                                               \
		typedef scalar v __attribute__((vector_size(bytes)));   \
		v zero = {0}, by = zero + (scalar)half, more = by + by; \
		EACH(BEGIN)                                             \
		for (uint64_t n = 0; n < turns; n++) {                  \
			EACH(STEP)                                      \
		}                                                       \
		EACH(TOTAL)                                             \
		return zero[0];                                         \
	}
#define READ(name, target, bytes)                                                   \
	target static float name(const float *from, size_t len)                     \
	{                                                                           \
		typedef float v __attribute__((vector_size(bytes)));                \
		const v *p = (const v *)(const void *)from, *end = p + len / bytes; \
		v a = {0}, b = a, c = a, d = a, e = a, f = a, g = a, h = a;         \
		for (; p < end; p += 8) {                                           \
			a += p[0], b += p[1], c += p[2], d += p[3];                 \
			e += p[4], f += p[5], g += p[6], h += p[7];                 \
		}                                                                   \
		a += b + c + d + (e + f + g + h);                                   \
		return a[0];                                                        \
	}
#define TRIAD(name, target, bytes)                                                        \
	target static void name(double *to, const double *b, const double *c, size_t len) \
	{                                                                                 \
		typedef double v __attribute__((vector_size(bytes)));                     \
		v *p = (v *)(void *)to, by = (v){0} + 3;                                  \
		const v *q = (const v *)(const void *)b, *r = (const v *)(const void *)c; \
		for (size_t i = 0; i < len / bytes; i++)                                  \
			p[i] = q[i] + by * r[i];                                          \
	}
#define KERNELS(name, target, bytes)                         \
	FMA(name##_sp, target, float, bytes)                 \
	FMA(name##_dp, target, double, bytes)                \
	READ(name##_read, target, bytes)                     \
	TRIAD(name##_triad, target, bytes)                   \
	static const struct aif_roof_kernels name = {        \
		.isa = #name,                                \
		.flops = 2.0 * SUMS * bytes / sizeof(float), \
		.fma_sp = name##_sp,                         \
		.fma_dp = name##_dp,                         \
		.read = name##_read,                         \
		.triad = name##_triad,                       \
	};

#ifdef __x86_64__
KERNELS(generic, , 16)
KERNELS(avx2, __attribute__((target("avx2,fma"))), 32)
KERNELS(avx512f, __attribute__((target("avx512f,prefer-vector-width=512"))), 64)

const struct aif_roof_kernels *aif_roof_kernels(void)
{
	if (__builtin_cpu_supports("avx512f"))
		return &avx512f;
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &avx2 : &generic;
}
#else
KERNELS(generic, , 16)

const struct aif_roof_kernels *aif_roof_kernels(void)
{
	return &generic;
}
#endif
