/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"

/* Executions: which call or operator launched them, and their rows. */
struct kineto;

struct kineto_execs_by { /* the first execution of a number */
	struct aif_map correlation, external;
};

/* Finds which executions there are of a number. 0 or -ENOMEM. */
int kineto_correlate(struct kineto *k);
/* Makes the rows of executions, when launches have theirs. 0 or -ENOMEM. */
int kineto_exec_rows(struct kineto *k);
