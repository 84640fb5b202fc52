/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runbook_train OUT: trains a layer of 256 x 256 by SGD with OpenMP's threads. Each step is a range called train; OUT is a JSON
 * file with the rate and the loss. The file `fault`, where one works, says what is wrong with it:
 *   slow     each step multiplies twice as often
 *   copy     each step moves the weights to and fro, which no step needs
 *   chase    each step follows pointers through 64 MiB in no order
 *   wrong    the step of the descent has the wrong sign
 */
#include <aiflame.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 256, TOKENS = 128, STEPS = 150, LINES = 1 << 20 };
static float weights[N][N], moved[N][N], in[TOKENS][N], out[TOKENS][N], want[TOKENS][N], grad[N][N];
static struct line {
	struct line *next;
	char rest[56];
} * lines;

__attribute__((noinline)) static void gemm_forward(void)
{
#pragma omp parallel for
	for (int t = 0; t < TOKENS; t++) {
		memset(out[t], 0, sizeof(out[t]));
		for (int k = 0; k < N; k++)
			for (int j = 0; j < N; j++)
				out[t][j] += in[t][k] * weights[k][j];
	}
}

__attribute__((noinline)) static void gemm_backward(void)
{
#pragma omp parallel for
	for (int k = 0; k < N; k++) {
		memset(grad[k], 0, sizeof(grad[k]));
		for (int t = 0; t < TOKENS; t++)
			for (int j = 0; j < N; j++)
				grad[k][j] += in[t][k] * (out[t][j] - want[t][j]);
	}
}

__attribute__((noinline)) static void update_weights(float rate)
{
	for (int k = 0; k < N; k++)
		for (int j = 0; j < N; j++)
			weights[k][j] -= rate * grad[k][j];
}

__attribute__((noinline)) static void shuffle_weights(void)
{
	for (int round = 0; round < 100; round++)
		for (int k = 0; k < N; k++)
			for (int j = 0; j < N; j++) {
				moved[j][k] = weights[k][j];
				__asm__ volatile("" ::: "memory");
			}
	for (int k = 0; k < N; k++)
		for (int j = 0; j < N; j++)
			weights[k][j] = moved[j][k];
}

__attribute__((noinline)) static const struct line *follow_lines(int steps)
{
	const struct line *at = lines;

	while (steps--)
		at = at->next;
	return at;
}

static void make_lines(void)
{
	lines = malloc(sizeof(*lines) * LINES);
	if (!lines)
		exit(1);
	for (size_t i = 0; i < LINES; i++) /* one cycle: 5 is 1 mod 4, and 12345 is odd */
		lines[i].next = &lines[(i * 1664525 + 1013904223) % LINES];
}

static double loss(void)
{
	double sum = 0;

	for (int t = 0; t < TOKENS; t++)
		for (int j = 0; j < N; j++)
			sum += (double)(out[t][j] - want[t][j]) * (out[t][j] - want[t][j]);
	return sum / TOKENS / N;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	char fault[16] = "";
	FILE *f = fopen("fault", "r");
	double begin;

	if (f && fscanf(f, "%15s", fault) != 1)
		*fault = 0;
	if (f)
		fclose(f);
	for (int t = 0; t < TOKENS; t++)
		for (int k = 0; k < N; k++) {
			in[t][k] = (float)((t * 131 + k * 71) % 97) / 97 - 0.5f;
			want[t][k] = in[t][(k + 1) % N];
		}
	if (!strcmp(fault, "chase"))
		make_lines();
	begin = now();
	for (int step = 0; step < STEPS; step++) {
		aiflame_range_begin("train");
		for (int i = 0; i < (strcmp(fault, "slow") ? 1 : 2); i++) {
			gemm_forward();
			gemm_backward();
		}
		if (!strcmp(fault, "copy"))
			shuffle_weights();
		if (!strcmp(fault, "chase") && !follow_lines(20000))
			return 1;
		update_weights(strcmp(fault, "wrong") ? 0.002f : -0.002f);
		aiflame_range_end();
	}
	begin = now() - begin;
	f = argc > 1 ? fopen(argv[1], "w") : NULL;
	if (!f)
		return 1;
	fprintf(f, "{\"train_tok_s\": %.1f, \"loss\": %.6f, \"is_learning\": %s}\n",
		STEPS * TOKENS / begin, loss(), loss() < 0.05 ? "true" : "false");
	return fclose(f) != 0;
}
