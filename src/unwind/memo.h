/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/unwind.h"

/*
 * The exact memo of native stacks: a stack that was seen before is recognised by checking the words
 * that its unwind read, which costs a tenth of unwinding it again. memo.c opens with the essay.
 *
 * One thread, one memo. Not in a signal handler, and not re-entered by one. No allocation, no lock;
 * what is not in the memo, or must not be, is unwound: the answer is always that of aif_unwind().
 *
 *     struct aif_memo_result r = aif_memo_capture(memo, &regs);
 *
 *     if (r.hit)
 *         use(r.stack->value);                 // what was stored below, some other time
 *     else
 *         value = ...(r.pcs, r.depth, r.stop); // a fresh unwind
 *     if (!r.hit && r.stack)
 *         r.stack->value = value;
 */

struct aif_memo;

/* Frames of a stack at most; what is deeper is cut, AIF_STOP_DEPTH. */
#define AIF_MEMO_MAX_DEPTH 1024

/* Memory is the caller's: aif_memo_size() bytes (1.2 MB), zeroed, aligned to 64. Pages are
 * touched as stacks are learned: 100 KB for 80 stacks of 80 frames. */
size_t aif_memo_size(void);

/* For the running thread, whose stack is `bounds`: captures elsewhere (a coroutine's stack, an
 * alternate signal stack) are not remembered. Memory as above, or of a memo that another thread
 * used before; what it knew is forgotten, its counts are not. `max_depth` is cut to
 * AIF_MEMO_MAX_DEPTH. */
void aif_memo_init(struct aif_memo *m, struct aif_unwinder *u, struct aif_stack_bounds bounds,
		   unsigned max_depth);

/* Forgets all stacks. Needed by nobody who need not forget the values: a new generation of the
 * unwinder is noticed by capturing. */
void aif_memo_clear(struct aif_memo *m);

/* A stack that is remembered. Valid until the next capture. */
struct aif_memo_stack {
	uint64_t value; /* the caller's, to find again; 0 at first */
	/* The stack's number in this memo: never two stacks' in one life of the memo, from 1.
	 * One stack may get several, one after another: when it was forgotten, and when words
	 * that its unwind read changed without changing the result. */
	uint32_t number;
	uint16_t depth;
	uint8_t stop; /* enum aif_unwind_stop */
	bool guessed; /* some of its frames are */
};

struct aif_memo_result {
	/* NULL: not remembered, by its nature, or because the memo does not pay now */
	struct aif_memo_stack *stack;
	bool hit; /* seen before: no pcs */
	unsigned depth;
	enum aif_unwind_stop stop;
	bool guessed, foreign, switched; /* see struct aif_unwind_result */
	/* The results of aif_unwind() and aif_unwind_frames(), in memory of the memo, until the
	 * next capture. NULL on a hit; frames also when the memo does not pay now. The caller
	 * may change them. */
	uint64_t *pcs;
	struct aif_unwind_frame *frames;
};

/* The stack of *regs, whose pc is a return address or where AIF_REGS_HERE was. */
struct aif_memo_result aif_memo_capture(struct aif_memo *m, const struct aif_regs *regs);

/* Prefetches what a capture that follows at once is likely to read. */
void aif_memo_prefetch(const struct aif_memo *m, const struct aif_regs *regs);

/*
 * A stack means different things with different Python stacks, say. What it meant the last times
 * can be noted with it, under a key of the caller's (not 0), for a few keys; a note may be gone at
 * any time. Both are for the stack that the capture just before answered. Notes also tell what is
 * captured next, after the same stack with the same key: that is fetched from memory in the time
 * between.
 */
/* The id that was noted, or AIF_MEMO_NOT_NOTED. */
#define AIF_MEMO_NOT_NOTED UINT32_MAX
uint32_t aif_memo_noted(struct aif_memo *m, struct aif_memo_stack *stack, uint64_t key);
void aif_memo_note(struct aif_memo *m, struct aif_memo_stack *stack, uint64_t key, uint32_t id);

/* Always a fresh unwind, with pcs and frames; not remembered (`stack` is NULL), not counted. For
 * who needs the frames of a hit: the stack that the capture just before answered stays valid. */
struct aif_memo_result aif_memo_unwind(struct aif_memo *m, const struct aif_regs *regs);

/* Since the memory was zeroed. captures = predicted + found + missed + refused + passed. */
struct aif_memo_counts {
	uint64_t
		predicted; /* hits: the stack that followed the last two, or the last note, the last time */
	uint64_t found;   /* hits: by registers and the innermost return addresses */
	uint64_t missed;  /* new, remembered */
	uint64_t refused; /* must not or cannot be remembered */
	uint64_t passed;  /* plain unwinds while the memo does not pay */
	uint64_t cleared; /* times that all was forgotten */
};
void aif_memo_counts(const struct aif_memo *m, struct aif_memo_counts *ret);
