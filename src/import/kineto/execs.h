/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"

/* Executions: which call or operator launched them, and their rows. */
struct kineto;

struct kineto_execs_by { /* the first execution of a number, by kineto_number_key() */
	struct aif_map correlation, external;
};

/* Returns the key of a number of a thread's process. */
uint64_t kineto_number_key(const struct kineto *k, uint32_t thread, uint64_t number);
/* Finds which executions there are of a number. 0 or -ENOMEM. */
int kineto_correlate(struct kineto *k);
/* Makes the rows of executions, when launches have theirs. 0 or -ENOMEM. */
int kineto_exec_rows(struct kineto *k);
