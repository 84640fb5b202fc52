/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"

/* Executions: which call or operator launched them, and their rows. */
struct kineto;
struct kineto_detail;
struct kineto_exec;

/* The first execution of each number: a place for each from the least to the greatest where at least one of eight is taken, as
 * those that count calls are, else a map. */
struct kineto_numbers {
	uint32_t *at; /* AIF_NONE: no execution has it; NULL: .map has them */
	uint64_t least;
	size_t len;
	struct aif_map map;
};
struct kineto_execs_by { /* by kineto_number_key() */
	struct kineto_numbers correlation;
	struct aif_map external;
};
void kineto_execs_by_finish(struct kineto_execs_by *by);
/* False: no execution has the number. */
bool kineto_numbers_get(const struct kineto_numbers *n, uint64_t number, uint64_t *ret_exec);

/* Returns the key of a number of a thread's process. */
uint64_t kineto_number_key(const struct kineto *k, uint32_t thread, uint64_t number);
/* Returns what few executions have; zeros where this one has none of it. */
const struct kineto_detail *kineto_exec_detail(const struct kineto *k, const struct kineto_exec *x);
/* Finds which executions there are of a number. 0 or -ENOMEM. */
int kineto_correlate(struct kineto *k);
/* Makes the rows of executions, when launches have theirs. 0 or -ENOMEM. */
int kineto_exec_rows(struct kineto *k);
