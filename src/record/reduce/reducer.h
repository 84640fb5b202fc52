/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/file.h"

/*
 * record --reduce: a recording without the launches of most of its steps, made as it goes on. All rows are written as they come, so that
 * a recording that is cut short has its last steps whole; some seconds after a step has ended it is judged, and the launches, executions,
 * operators and calls of one that is not kept are left out of the file again. What is kept stands for it, as in what aiflame reduce makes
 * (merge/reduce.h), by the same lot (analysis/kept_lot.h).
 *
 * aiflame reduce knows all steps. Here a step is slow against those before it. And before any step of a stretch between two that are
 * certain to be kept is left out, as many are kept as it takes for each thread that launches in each step to have AIF_WEIGHTS_MIN launches
 * by lot in it; a thread that has fewer by then keeps all of its launches up to the next such step.
 *
 * Steps are those that the program marks, or, as long as it marks none, ranges that are named like steps. Of a process without any all is
 * kept. Rows that come later than AIF_REDUCER_SETTLE_NS stay.
 */
#define AIF_REDUCER_SETTLE_NS (UINT64_C(5) * 1000000000)
/* Time between two rounds: each writes a chunk of each kind, of 130 bytes. */
#define AIF_REDUCER_ROUND_NS (UINT64_C(15) * 1000000000)
/* Time without a step after which what runs is no part of one. */
#define AIF_REDUCER_PAUSE_NS (UINT64_C(120) * 1000000000)

struct aif_reducer_sum {
	uint64_t steps, by_lot, first, slow; /* of all processes, that were judged */
	uint64_t left_out;                   /* launches */
	bool lacks_step_sums;                /* what places took in each step is not known */
	uint64_t missed; /* executions that came too late for the sums of their step */
};

struct aif_reducer;
struct aif_reducer *aif_reducer_new(uint32_t every); /* NULL: there is no memory */
void aif_reducer_free(struct aif_reducer *r);
/* Takes rows of operators, whose strings need not be known yet. 0 or -ENOMEM. */
int aif_reducer_see(struct aif_reducer *r, const struct aif_op_row *rows, size_t n);
/* Counts how long executions took (analysis/durations.h), whatever becomes of them. 0 or -ENOMEM. */
int aif_reducer_see_execs(struct aif_reducer *r, const struct aif_exec_row *rows, size_t n);
/* Gives a profile's tables what was counted of all executions, once, behind the last round. Processes with an execution whose clock does
 * not tick in nanoseconds have none. 0 or -ENOMEM. */
int aif_reducer_durations(struct aif_reducer *r, struct aif_profile *tables);
/* Judges what can be judged at `now`, once in AIF_REDUCER_ROUND_NS; all, if is_last. `tables` has all that rows of the writer refer to.
 * Part of the transaction of the next commit. 0 or -errno with *err. */
int aif_reducer_round(struct aif_reducer *r, struct aif_writer *w, const struct aif_profile *tables,
		      uint64_t now, bool is_last, struct aif_err *err);
const struct aif_reducer_sum *aif_reducer_sum(const struct aif_reducer *r);
