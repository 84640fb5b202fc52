/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/unwind.h"

/*
 * The read set of an unwind: each word of the stack that could have changed its result, with the
 * value that it had. memo.c opens with the essay.
 */

struct aif_memo_read {
	uint64_t at, value;
};

/* The limit of a read set. Beyond the return address, which every frame has, few frames need a
 * word: a fifth of those of CUDA's libraries, where half of the rows are by rbp and most of
 * these in one function. */
#define AIF_MEMO_READS_MAX 2048

/*
 * Collects the read set of the first `steps` steps that aif_unwind_frames() took, from frame to
 * caller: frames[0..steps], and pcs[1..steps] as they were read. The set is filled in from the end,
 * innermost frame first: it begins at reads[AIF_MEMO_READS_MAX - result]. If frames[steps] has no
 * row, frames[steps + 1] is what aif_unwind_frames() left there. *ret_needs_bp: the frame pointer's
 * register, as it was at entry, matters too. Returns how many, or -E2BIG.
 */
int aif_memo_reads(const uint64_t *pcs, const struct aif_unwind_frame *frames, unsigned steps,
		   struct aif_memo_read reads[AIF_MEMO_READS_MAX], bool *ret_needs_bp);
