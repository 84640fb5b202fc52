/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels whose arithmetic and traffic are known, for `runbook run --roofline`: runbook_roofline KERNEL ROUNDS [N]. Arrays
 * are many times the caches of the model, or N is given for a product that fits.
 *
 *   triad     a[i] = b[i] + s * c[i]: 2 FLOP; 8 bytes each of b, c and a are fetched, 8 of a written back
 *   stencil   five points of a square: 5 FLOP; 8 bytes fetched of the input, of which a row more is in the cache, and of
 *             the output, 8 written back
 *   matmul    c += a * b by blocks of B: 2 N^3 FLOP; for each of (N / B)^3 products of blocks two are fetched, and each
 *             block of c once and written back
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 1 << 20, SIDE = 1024, BLOCK = 16 };

__attribute__((noinline)) static void triad(double *a, const double *b, const double *c)
{
	for (long i = 0; i < ELEMENTS; i++)
		a[i] = b[i] + 3.0 * c[i];
}

__attribute__((noinline)) static void stencil(double *out, const double *in)
{
	for (long i = 1; i < SIDE - 1; i++)
		for (long j = 1; j < SIDE - 1; j++)
			out[i * SIDE + j] = 0.2 * (in[i * SIDE + j] + in[i * SIDE + j - 1] +
						   in[i * SIDE + j + 1] + in[(i - 1) * SIDE + j] +
						   in[(i + 1) * SIDE + j]);
}

__attribute__((noinline)) static void matmul(double *c, const double *a, const double *b, long n)
{
	for (long ii = 0; ii < n; ii += BLOCK)
		for (long jj = 0; jj < n; jj += BLOCK)
			for (long kk = 0; kk < n; kk += BLOCK)
				for (long i = ii; i < ii + BLOCK; i++)
					for (long k = kk; k < kk + BLOCK; k++)
						for (long j = jj; j < jj + BLOCK; j++)
							c[i * n + j] += a[i * n + k] * b[k * n + j];
}

int main(int argc, char **argv)
{
	const char *kernel = argc > 1 ? argv[1] : "";
	long rounds = argc > 2 ? atol(argv[2]) : 1, n = argc > 3 ? atol(argv[3]) : 240;
	double *x[3];

	for (int i = 0; i < 3; i++) {
		x[i] = aligned_alloc(64, ELEMENTS * sizeof(double));
		if (!x[i] || n * n > ELEMENTS)
			return 1;
		for (long k = 0; k < ELEMENTS; k++)
			x[i][k] = 1;
	}
	for (long i = 0; i < rounds; i++) {
		if (!strcmp(kernel, "triad"))
			triad(x[0], x[1], x[2]);
		else if (!strcmp(kernel, "stencil"))
			stencil(x[0], x[1]);
		else if (!strcmp(kernel, "matmul"))
			matmul(x[0], x[1], x[2], n);
	}
	printf("%g\n", x[0][SIDE + 1]);
	return 0;
}
