/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/memo_reads.h"

#include "unwind/guess.h"
#include "unwind/row.h"

#include <errno.h>

struct set {
	struct aif_memo_read *reads;
	unsigned first;
	bool full;
};

static void put(struct set *s, uint64_t at, uint64_t value)
{
	if (s->first == 0) {
		s->full = true;
		return;
	}
	s->reads[--s->first] = (struct aif_memo_read){at, value};
}

/*
 * Adds what mattered of the words read by a step from frame *f to its caller, whose pc, sp and bp
 * are known. `bp_matters` says whether the caller's rbp did; returns whether this frame's does.
 *
 * The values are those that the unwinder used, not read again: all of them are some frame's pc, sp
 * or bp.
 */
static bool put_step(struct set *s, const struct aif_unwind_frame *f, uint64_t caller_pc,
		     const struct aif_unwind_frame *caller, bool bp_matters)
{
	const enum aif_row_kind kind = aif_row_kind(f->row);
	const int8_t bp = aif_row_bp(f->row);
	const uint64_t aux = (uint64_t)(int64_t)aif_row_aux(f->row);

	if (kind == AIF_ROW_SIGNAL) {
		put(s, f->sp + aux, caller_pc);
		put(s, f->sp + (uint64_t)aif_row_off(f->row), caller->sp);
		if (bp_matters)
			put(s, f->sp + 8 * (uint64_t)bp, caller->bp);
		return false;
	}
	if (kind == AIF_ROW_LR) /* as the signal's frame before had it, after the frame pointer */
		put(s, f[-1].sp + 8 * (uint64_t)aif_row_bp(f[-1].row) + 8, caller_pc);
	else
		put(s, aif_row_ra_at(f->row, caller->sp), caller_pc);
	if (bp == AIF_ROW_BP_AT_BP) {
		/* Matters in any case: the address that it points to must be readable. */
		if (bp_matters)
			put(s, f->bp, caller->bp);
		bp_matters = true;
	} else if (bp) {
		if (bp_matters)
			put(s, aif_row_bp_at(f->row, caller->sp), caller->bp);
		bp_matters = false;
	}
	if (kind == AIF_ROW_RBP_DEREF)
		put(s, f->bp + aux, caller->sp);
	else if (kind == AIF_ROW_RSP_DEREF)
		put(s, f->sp + aux, caller->sp);
	return bp_matters || kind == AIF_ROW_RBP || kind == AIF_ROW_RBP_DEREF;
}

int aif_memo_reads(const uint64_t *pcs, const struct aif_unwind_frame *frames, unsigned steps,
		   struct aif_memo_read reads[AIF_MEMO_READS_MAX], bool *ret_needs_bp)
{
	struct set s = {.reads = reads, .first = AIF_MEMO_READS_MAX};
	bool bp_matters = false; /* nobody asks what it was in the outermost frame */

	/* A guess that was refused depends on rbp and on the word read there: with others the stack
	 * might have gone on. */
	if (AIF_GUESSES && aif_row_kind(frames[steps].row) == AIF_ROW_NONE) {
		bp_matters = true;
		if (frames[steps + 1].bp)
			put(&s, frames[steps + 1].bp, frames[steps + 1].row);
	}
	for (unsigned i = steps; i > 0; i--)
		bp_matters = put_step(&s, &frames[i - 1], pcs[i], &frames[i], bp_matters);
	if (s.full)
		return -E2BIG;
	*ret_needs_bp = bp_matters;
	return (int)(AIF_MEMO_READS_MAX - s.first);
}
