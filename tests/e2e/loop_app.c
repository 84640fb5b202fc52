/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <stdint.h>
#include <time.h>

/*
 * A program that knows its loop, its steps and who keeps its device waiting: loop_app MODE. Prints "loop=FUNCTION steps=N
 * owner=FUNCTION owner_ns=... ns=...": the time of the owner, however long it had no CPU, and of the loop.
 *
 *   loader    load_batch() computes before each step
 *   chatty    a step launches eight times and waits for each, between which pick_token() computes
 *   validate  evaluate() launches behind every tenth step
 *   warm_up   tune() launches twelve times before the first step
 */
#define NS_PER_S 1000000000ull
#define MS       1000000ull

static cl_kernel kernel;
static struct target t;
static uint64_t owner_ns;
static volatile double sink;

static uint64_t now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * NS_PER_S + (uint64_t)at.tv_nsec;
}

/* Computes in the function that it stands in, which then owns the time: no other function of this program is called. */
#define COMPUTE(ns)                                                                \
	({                                                                         \
		struct timespec from_, to_;                                        \
		uint64_t took_;                                                    \
                                                                                   \
		clock_gettime(CLOCK_MONOTONIC, &from_);                            \
		do {                                                               \
			for (int i_ = 1; i_ < 200; i_++)                           \
				sink += 1.0 / i_;                                  \
			clock_gettime(CLOCK_MONOTONIC, &to_);                      \
			took_ = (uint64_t)(to_.tv_sec - from_.tv_sec) * NS_PER_S + \
				(uint64_t)to_.tv_nsec - (uint64_t)from_.tv_nsec;   \
		} while (took_ < (ns));                                            \
		took_;                                                             \
	})

#define FUNCTION(name) static __attribute__((noinline)) void name
FUNCTION(load_batch)(uint64_t ns)
{
	owner_ns += COMPUTE(ns);
	sink += 1; /* no tail call */
}

FUNCTION(pick_token)(uint64_t ns)
{
	owner_ns += COMPUTE(ns);
	sink += 2; /* the compiler folds functions that are the same */
}

FUNCTION(prepare)(uint64_t ns)
{
	sink += (double)COMPUTE(ns);
}

FUNCTION(run)(void)
{
	target_launch(t.queue, kernel, 64);
	CHECK(clFinish(t.queue) == CL_SUCCESS);
}

FUNCTION(forward)(void)
{
	target_launch(t.queue, kernel, 64);
}

FUNCTION(backward)(void)
{
	run();
}

FUNCTION(train_step)(void)
{
	forward();
	prepare(1 * MS);
	backward();
}

FUNCTION(evaluate)(void)
{
	for (int i = 0; i < 3; i++)
		run();
}

FUNCTION(tune)(void)
{
	for (int i = 0; i < 12; i++) {
		forward();
		run();
		sink += (double)COMPUTE(30 * MS);
	}
}

FUNCTION(train)(const char *mode, int steps)
{
	for (int i = 0; i < steps; i++) {
		if (!strcmp(mode, "chatty")) {
			for (int k = 0; k < 8; k++) {
				run();
				pick_token(1 * MS);
			}
			forward();
		} else {
			load_batch(8 * MS);
		}
		train_step();
		if (!strcmp(mode, "validate") && i % 10 == 9)
			evaluate();
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "loader";
	int steps = 60;
	uint64_t begin;

	target_open(&t);
	kernel = target_kernel(&t, "spin", target_buffer(&t, 64), 2000);
	run();
	if (!strcmp(mode, "warm_up"))
		tune();
	begin = now();
	train(mode, steps);
	printf("loop=train steps=%d owner=%s owner_ns=%llu ns=%llu\n", steps,
	       strcmp(mode, "chatty") ? "load_batch" : "pick_token", (unsigned long long)owner_ns,
	       (unsigned long long)(now() - begin));
	return 0;
}
