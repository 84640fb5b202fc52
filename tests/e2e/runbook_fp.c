/* SPDX-License-Identifier: Apache-2.0 */
/* runbook_fp SECONDS: half of its CPU time in arithmetic on four numbers at once, half in arithmetic on one. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __aarch64__
#define KEEP(x) "+w"(x)
#else
#define KEEP(x) "+x"(x)
#endif

typedef float four __attribute__((vector_size(16)));

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noinline)) static float packed(int n)
{
	four x = {1, 2, 3, 4}, y = {5, 6, 7, 8};

	for (int i = 0; i < n; i++) {
		x = x * 0.999f + y;
		y = y * 0.5f + x;
		__asm__ volatile("" : KEEP(x), KEEP(y));
	}
	return x[0] + y[3];
}

__attribute__((noinline)) static double scalar(int n)
{
	double x = 1;

	for (int i = 0; i < n; i++) {
		x = x * 0.999 + 0.5;
		__asm__ volatile("" : KEEP(x));
	}
	return x;
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 1), sum = 0;

	while (now() < end) {
		double half = now() + 0.01;

		while (now() < half)
			sum += (double)packed(2000);
		half = now() + 0.01;
		while (now() < half)
			sum += scalar(2000);
	}
	printf("%g\n", sum);
	return 0;
}
