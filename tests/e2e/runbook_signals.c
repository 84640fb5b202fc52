/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs for the rules of the decision table, each of which works in ranges called decode.  runbook_signals WHAT [FILE]
 *   calm    arithmetic on what is in registers: no rule fires
 *   reuse   arithmetic on 4 MiB of weights, again and again, in order: they stay in the last cache and in the TLBs
 *   slow    the same, four times as much a token
 *   chase   each load's address is the load's before it, in 512 MiB without order: it waits for memory and for page tables
 *   copy    moves weights, which is no arithmetic of a model
 *   read    reads pages of FILE that are in no cache
 */
#include <aiflame.h>

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKENS = 20, PAGE = 4096, CHASED = 512 << 20, STEP = 64 };

static volatile float result;

__attribute__((noinline)) static void gemm(int rounds)
{
	float sum[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	for (int i = 0; i < rounds * 1000; i++)
		for (int k = 0; k < 8; k++)
			sum[k] = sum[k] * 0.999f + 0.5f;
	result = sum[0] + sum[7];
}

__attribute__((noinline)) static void gemm_of_weights(const volatile float *weights, size_t n)
{
	float sum = 0;

	for (size_t i = 0; i < n; i++)
		sum = sum * 0.5f + weights[i];
	result = sum;
}

/* A cycle through all lines: i -> (a i + c) mod n, whose period is n as c is odd and a is 1 mod 4. */
__attribute__((noinline)) static void gemm_of_lists(char *memory, size_t steps)
{
	static char *at;

	if (!at) {
		size_t n = CHASED / STEP;

		for (size_t i = 0; i < n; i++) {
			char *next = memory + (i * 1664525 + 1013904223) % n * STEP;

			memcpy(memory + i * STEP, &next, sizeof(next));
		}
		at = memory;
	}
	while (steps--)
		memcpy(&at, at, sizeof(at));
	result = (float)(uintptr_t)at;
}

__attribute__((noinline)) static void shuffle_weights(float *to, const float *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		to[i] = from[(i * 7) % n];
		__asm__ volatile("" ::: "memory");
	}
}

/* Reads one byte of every 16th page, none of which is read ahead. */
static void read_pages(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *file;

	if (fd < 0 || fstat(fd, &st) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		exit(1);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED || madvise(file, (size_t)st.st_size, MADV_RANDOM))
		exit(1);
	for (off_t at = 0; at < st.st_size; at += 16 * PAGE)
		result += file[at];
	munmap(file, (size_t)st.st_size);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "calm";
	size_t n = 1 << 20;
	float *weights = calloc(2 * n, sizeof(*weights));
	char *memory = NULL;

	if (!strcmp(what, "chase")) {
		memory = malloc(CHASED);
		if (!memory)
			return 1;
		gemm_of_lists(memory, 1);
	}
	if (!weights)
		return 1;
	if (!strcmp(what, "read") && argc > 2)
		read_pages(argv[2]);
	for (int t = 0; t < TOKENS; t++) {
		aiflame_range_begin("decode");
		if (memory)
			gemm_of_lists(memory, 400000);
		else if (!strcmp(what, "reuse"))
			for (int i = 0; i < 20; i++)
				gemm_of_weights(weights, n);
		else
			/* Long enough to be sampled on a machine that is busy with something else. */
			gemm(!strcmp(what, "slow") ? 32000 : !strcmp(what, "copy") ? 2000 : 8000);
		if (!strcmp(what, "copy"))
			for (int i = 0; i < 20; i++)
				shuffle_weights(weights, weights + n, n);
		aiflame_range_end();
	}
	free(memory);
	free(weights);
	return 0;
}
