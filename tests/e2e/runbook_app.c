/* SPDX-License-Identifier: Apache-2.0 */
/* runbook_app TOKENS COPIES THREADS EXPS: a model of one matrix; each token is a range called decode with two layers, after one called prefill.
 * COPIES of the weights a token are what nobody wants. EXPS times the exponentials of a row are taken for attention. THREADS, which mark nothing, multiply beside the one that marks. */
#include <aiflame.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 192 };
static float a[N * N], b[N * N], c[N * N];
static pthread_barrier_t token_begin, token_end;
static volatile int is_over;

__attribute__((noinline)) static void gemm(void)
{
	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			for (int j = 0; j < N; j++)
				c[i * N + j] += a[i * N + k] * b[k * N + j];
}

__attribute__((noinline)) static void shuffle_weights(int times)
{
	for (int t = 0; t < times; t++)
		for (int i = 0; i < N * N; i++) {
			b[i] = c[(i * 7 + t) % (N * N)] * 0.5f;
			__asm__ volatile("" ::: "memory");
		}
}

__attribute__((noinline)) static void multiply_beside(float *restrict to)
{
	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			for (int j = 0; j < N; j++)
				to[i * N + j] += a[i * N + k] * b[k * N + j];
}

static void *worker(void *to)
{
	for (;;) {
		pthread_barrier_wait(&token_begin);
		if (is_over)
			return NULL;
		for (int i = 0; i < 12; i++)
			multiply_beside(to);
		pthread_barrier_wait(&token_end);
	}
}

__attribute__((noinline)) static float exponential(float x)
{
	float sum = 1, term = 1;

	for (int i = 1; i < 40; i++)
		sum += term *= x / (float)i;
	return sum;
}

__attribute__((noinline)) static float attention(int times)
{
	volatile float sum = 0;

	for (int i = 0; i < times * N; i++)
		sum += exponential(a[i % N] * 0.1f);
	return sum;
}

int main(int argc, char **argv)
{
	int tokens = argc > 1 ? atoi(argv[1]) : 10, copies = argc > 2 ? atoi(argv[2]) : 0;
	int threads = argc > 3 ? atoi(argv[3]) : 0, exps = argc > 4 ? atoi(argv[4]) : 0;
	pthread_t started;

	pthread_barrier_init(&token_begin, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&token_end, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		pthread_create(&started, NULL, worker, calloc(N * N, sizeof(float)));

	for (int i = 0; i < N * N; i++)
		a[i] = b[i] = (float)(i % 13);
	aiflame_range_begin("prefill");
	for (int i = 0; i < 10; i++)
		gemm();
	aiflame_range_end();
	for (int t = 0; t < tokens; t++) {
		aiflame_range_begin("decode");
		pthread_barrier_wait(&token_begin);
		for (int i = 0; i < 12; i++) {
			char layer[16];

			snprintf(layer, sizeof(layer), "layer %d", i / 6);
			aiflame_range_begin(layer);
			gemm();
			aiflame_range_end();
		}
		shuffle_weights(copies);
		c[0] += attention(exps);
		pthread_barrier_wait(&token_end);
		aiflame_range_end();
	}
	is_over = 1;
	pthread_barrier_wait(&token_begin);
	printf("%g\n", (double)c[N]);
	return 0;
}
