/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For tests of the unwinder: a capture, ours beside glibc's. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unwind/unwind.h"

#include "tiny_elf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MAX 512

/* Result of one capture: ours, and glibc's as the oracle. */
struct seen {
	struct aif_unwinder *u;
	struct aif_stack_bounds bounds;
	unsigned max;
	bool ours_only; /* tables that glibc trusts too much */
	struct aif_unwind_result result;
	uint64_t ours[MAX];
	void *theirs[MAX];
	unsigned n_theirs;
};

/* backtrace() as glibc has it: sanitizers and libunwind put their own in front. */
static int (*glibc_backtrace)(void **frames, int max);
static void *libc_handle;

/* Callbacks of libraries made by hand take no argument, so what they fill in is here. */
static _Thread_local struct seen seen;

static inline struct aif_unwinder *new_unwinder(void)
{
	void *p = mmap(NULL, aif_unwinder_size(), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(aif_unwinder_init(p), 0);
	return p;
}

static inline void free_unwinder(struct aif_unwinder *u)
{
	munmap(u, aif_unwinder_size());
}

static inline int setup(void **state)
{
	void *warm[4], *symbol;

	libc_handle = dlopen("libc.so.6", RTLD_NOW);
	symbol = libc_handle ? dlsym(libc_handle, "backtrace") : NULL;
	if (!symbol)
		return -1;
	memcpy(&glibc_backtrace, &symbol, sizeof(symbol));
	glibc_backtrace(warm, 4); /* loads libgcc */
	memset(&seen, 0, sizeof(seen));
	seen.u = new_unwinder();
	seen.max = MAX;
	*state = NULL;
	return aif_stack_bounds_here(&seen.bounds);
}

static inline int teardown(void **state)
{
	(void)state;
	free_unwinder(seen.u);
	return 0;
}

/* Keeps p's memory and the caller's frame alive. */
static AIF_NOINLINE void use(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

static AIF_NOINLINE void capture(void)
{
	struct aif_regs regs;

	AIF_REGS_HERE(&regs);
	seen.result = aif_unwind(seen.u, &regs, false, seen.bounds, seen.ours, seen.max);
	seen.n_theirs = seen.ours_only ? 0 : (unsigned)glibc_backtrace(seen.theirs, MAX);
	use(&regs);
}

/* Both stacks the same but for the place in the innermost function. */
static inline bool same(void)
{
	return seen.result.stop == AIF_STOP_END && seen.result.depth == seen.n_theirs &&
	       memcmp(seen.ours + 1, seen.theirs + 1, (seen.n_theirs - 1) * sizeof(void *)) == 0;
}

static inline void assert_same(void)
{
	if (!same())
		print_error("ours: %u (%s), glibc: %u\n", seen.result.depth,
			    aif_unwind_stop_name(seen.result.stop), seen.n_theirs);
	assert_true(same());
}
