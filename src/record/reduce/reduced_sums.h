/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/step_sums.h"
#include "profile/file.h"
#include "record/reduce/reduced_steps.h"

/*
 * Sums of each step's places (analysis/step_sums.h) of a recording whose steps are folded while it goes on. Rows are taken as they are
 * judged; once a round has judged all, its steps are added. An execution that comes in a later round than its launch is missed, and counted.
 */

/* Most executions, and most launches, of a round; with more, places have no sums: 100 MB, and 50 MB while a process's steps are added. */
#define AIF_REDUCED_SUMS_MOST ((size_t)1 << 20)

struct aif_reduced_sums {
	struct aif_reduced_sums_launch {
		uint64_t launch;
		uint32_t process, block, stack; /* block: index of its process's steps.blocks */
		bool is_of_step;
	} * launches; /* of this round, that lie in a block */
	size_t launches_len, launches_cap;
	struct aif_reduced_sums_launch *before; /* of the round before, of steps, by number */
	size_t before_len, before_cap;
	struct aif_map
		older; /* by slot of a process: the greatest number of such launches of earlier rounds */
	uint64_t missed; /* executions of launches of steps of earlier rounds */
	struct aif_reduced_sums_exec {
		uint64_t launch, start, end;
		uint32_t process, device, kind, kernel;
		bool communicates;
	} * execs; /* of this round */
	size_t execs_len, execs_cap;
	struct aif_reduced_sums_process {
		struct aif_step_sums sums;
		struct aif_map busy_to; /* by device: the end of its executions so far */
	} * processes;
	size_t processes_len, processes_cap;
	struct aif_map computes; /* by kernel */
	bool is_incomplete; /* rows were too many, or memory too little: nothing is taken, nor held, any longer */
};

void aif_reduced_sums_finish(struct aif_reduced_sums *s);
/* Takes a launch that was judged, in a block of its process in this round. */
void aif_reduced_sums_launch(struct aif_reduced_sums *s, const struct aif_launch_row *row,
			     uint32_t process, size_t block);
/* Takes an execution that was judged. */
void aif_reduced_sums_exec(struct aif_reduced_sums *s, const struct aif_exec_row *row);
/* Adds the steps that a process has in this round; `process`: in the order of their numbers, each once a round. */
void aif_reduced_sums_round(struct aif_reduced_sums *s, const struct aif_profile *p,
			    uint32_t process, const struct aif_reduced_steps *steps);
/* Forgets the rows of this round, but for its launches of steps. */
void aif_reduced_sums_next(struct aif_reduced_sums *s);
/* Writes all rows, behind the last round; none if it is incomplete. 0 or -errno with *err. */
int aif_reduced_sums_write(struct aif_reduced_sums *s, struct aif_writer *w, struct aif_err *err);
