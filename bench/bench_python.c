/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "unwind/python.h"

#include <stdio.h>
#include <string.h>

/*
 * ns for one Python stack, in the process and the thread that a Python program calls us from (bench_python.sh
 * loads this into each interpreter found). Hot caches. Interleaved rounds, medians and quartiles.
 * Beside it the floor: finding the thread's state, which is the interpreter's own function.
 */

enum { ROUNDS = 61, CALLS = 400, DEPTH = 512, WAYS = 5 };

static const char *const ways[WAYS] = {"not there", "state", "hash", "frames", "in handler"};

static struct aif_python python, nowhere;
static struct aif_stack_bounds bounds;
static struct aif_python_frame frames[DEPTH];

__attribute__((visibility("default"))) int bench_start(void);
__attribute__((visibility("default"))) void bench_python(const char *version);

int bench_start(void)
{
	aif_python_detect(&python);
	return aif_stack_bounds_here(&bounds);
}

static uint64_t once(int way)
{
	struct aif_python_stack stack = {0};

	switch (way) {
	case 0:
		aif_python_hash(&nowhere, AIF_PYTHON_AT_CALL, DEPTH, &stack);
		break;
	case 1:
		return (uint64_t)(uintptr_t)python.thread_state();
	case 2:
		aif_python_hash(&python, AIF_PYTHON_AT_CALL, DEPTH, &stack);
		break;
	case 3:
		aif_python_walk(&python, AIF_PYTHON_AT_CALL, bounds, frames, DEPTH, &stack);
		break;
	case 4:
		aif_python_hash(&python, AIF_PYTHON_IN_SIGNAL, DEPTH, &stack);
		break;
	}
	return stack.hash;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void bench_python(const char *version)
{
	static double ns[WAYS][ROUNDS];
	static char buffer[AIF_PYTHON_CODE_BUFFER];
	struct aif_python_stack stack;
	struct aif_python_code code;
	volatile uint64_t sum = 0;

	aif_python_walk(&python, AIF_PYTHON_AT_CALL, bounds, frames, DEPTH, &stack);
	for (unsigned i = 0; i < stack.depth; i++)
		if (frames[i].id == 0 && aif_python_code_read(&python, frames[i].code, buffer,
							      sizeof(buffer), &code) == 0)
			aif_python_code_publish(&python, &code);
	aif_python_hash(&python, AIF_PYTHON_AT_CALL, DEPTH, &stack);
	for (int r = 0; r < ROUNDS; r++) {
		for (int k = 0; k < WAYS; k++) {
			int way = r & 1 ? WAYS - 1 - k : k;
			uint64_t t0 = aif_now_ns();

			for (int i = 0; i < CALLS; i++)
				sum += once(way);
			ns[way][r] = (double)(aif_now_ns() - t0) / CALLS;
		}
	}
	printf("%-8s %3u frames, %u loops, %u unknown:", version, stack.depth, stack.segments,
	       stack.unknown);
	for (int way = 0; way < WAYS; way++) {
		qsort(ns[way], ROUNDS, sizeof(double), by_value);
		printf("  %s %.1f (%.1f-%.1f)", ways[way], ns[way][ROUNDS / 2], ns[way][ROUNDS / 4],
		       ns[way][ROUNDS * 3 / 4]);
	}
	printf(" ns\n");
	fflush(stdout);
}
