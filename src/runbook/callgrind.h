/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdio.h>

/*
 * Reads counts of valgrind's callgrind (--dump-instr=yes --cache-sim=yes --simulate-wb=yes): how often each instruction of
 * some functions ran, and the cache lines that its model of the caches moved from and to memory for them.
 */
struct aif_callgrind_range {
	const char *path;       /* the file that the code is of */
	uint64_t address, size; /* in that file */
	uint64_t *executions;   /* of the instruction at each byte: size, the caller's */
	uint64_t fetched,
		written; /* cache lines that its instructions had fetched, and written back */
};
struct aif_callgrind_totals {
	char cache[96];      /* the last cache of the model, as callgrind describes it; "" = none */
	uint64_t line_bytes; /* of a cache line */
	uint64_t fetched, written;
	uint64_t files; /* that were read */
};

/* Adds what a file has: a file of callgrind's, of any size and content. 0 or -errno: -EINVAL, it is none, or one without
 * addresses or caches; the ranges may have got some of it. */
int aif_callgrind_read(FILE *f, struct aif_callgrind_range *ranges, size_t len,
		       struct aif_callgrind_totals *totals);
