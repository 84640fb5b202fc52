/* SPDX-License-Identifier: Apache-2.0 */
/* A library of unloaded_app.c, compiled twice: FIRST's function and SECOND's have their code, and their frames' rows, at
 * other places. */
#include <stdint.h>
#include <time.h>

static volatile uint64_t sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#ifdef FIRST
__attribute__((noinline)) static void first_burns(void)
{
	for (uint64_t i = 0; i < 200000; i++)
		sink += i * i;
}

void work(double seconds);
void work(double seconds)
{
	for (double end = now() + seconds; now() < end;)
		first_burns();
}
#else
__attribute__((noinline)) static void second_burns(void)
{
	volatile uint64_t own[999];

	for (uint64_t i = 0; i < 200000; i++)
		own[i % 999] = i * i;
	sink += own[500];
}

__attribute__((noinline)) static void second_calls(volatile uint64_t *turns)
{
	second_burns();
	++*turns;
}

void work(double seconds);
void work(double seconds)
{
	volatile uint64_t turns[500];

	for (double end = now() + seconds; now() < end;)
		second_calls(&turns[7]);
}
#endif
