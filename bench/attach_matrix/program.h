/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * Programs of the attach matrix (run.py): each runs until its standard input ends, prints one line that is the same in each
 * run, and ends with a status of its own. Anything that differs from what it expects is printed, with status 99.
 */

#define THREADS 8

extern atomic_bool over; /* standard input has ended */

/* Ends the program: `what` went wrong. */
_Noreturn void fail(const char *what);

/* Runs a function in THREADS threads, which get 0, 1 ..., and waits for them. */
void in_threads(void *(*run)(void *));

struct mode {
	const char *name;
	void (*run)(void);
};

extern const struct mode memory_modes[], control_modes[], system_modes[]; /* end with {NULL} */

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void pause_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}
