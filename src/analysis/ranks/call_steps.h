/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/loop/phases.h"
#include "analysis/ranks/ranks.h"

/*
 * Steps of a job whose ranks use no device: those that the program marks, else turns of the loop that recurs in the joint calls of a
 * rank, as it does in launches where there are some (loop/loop.h).
 */

/* Finds those of the job, by the calls of a rank without a device where no rank marks any; ret->from is AIF_PHASES_UNKNOWN where there are none. The caller finishes *ret in any case. 0
 * or -errno. */
int aif_rank_call_phases(const struct aif_profile *p, const struct aif_selection *sel,
			 const struct aif_ranks *r, size_t rank, struct aif_phases *ret);
/* Finds the turns of that rank's own loop, whatever is marked: reads no file. */
int aif_rank_call_turns(const struct aif_profile *p, const struct aif_selection *sel,
			const struct aif_ranks *r, size_t rank, struct aif_phases *ret);
/* Returns the rank without a device that makes most joint calls, of the processes that `sel` keeps; r->ranks_len: there is none. */
size_t aif_rank_with_most_calls(const struct aif_ranks *r, const struct aif_selection *sel);
