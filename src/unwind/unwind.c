/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/unwind.h"

#include "unwind/cfi.h"
#include "unwind/ehframe.h"
#include "unwind/go_stack.h"
#include "unwind/guess.h"
#include "unwind/peek.h"
#include "unwind/reach.h"
#include "unwind/stub.h"
#include "unwind/unwinder.h"

#include <limits.h>

/*
 * Unwinding: who called
 * =====================
 *
 *        stack (grows down)                       a frame is known by pc, sp, bp
 *
 *     hi ...
 *        | return address into main  | <- slot
 *        +---------------------------+ <- CFA of `train` = sp of main
 *        | locals of train           |
 *        | saved rbp                 | <- CFA + 8 * bp
 *        | return address into train | <- slot = CFA of `launch` - 8
 *        +---------------------------+ <- CFA of `launch` = sp of train
 *        | locals of launch          |
 *     sp +---------------------------+
 *
 * (The picture is of x86-64; arch.h says what differs.)
 *
 * One step: find the row of pc (row.h: "CFA is rsp + 56, rbp was saved at CFA - 16"), compute the
 * CFA, load the return address below it and the caller's rbp where the row says. Then pc is the
 * return address, sp the CFA, and so on until a row says END. 80 frames take about 1 us this way,
 * where glibc's backtrace() takes 20 us, because it looks up the module, the function and its
 * program at each frame anew. (Most of that is one chain: sp, return address, row, next sp.)
 *
 * Where rows come from: the process-wide map by address (rows.h), or else the module's .eh_frame
 * (ehframe.c), 0.2 to 0.8 us; the row is then kept in the map. Not kept: rows of interrupted
 * instructions (any pc may be sampled: they would fill the map), and the answer "no module", which
 * a later dlopen makes wrong.
 *
 * A return address points after its call, which may be the last instruction of its function, so it
 * is looked up at pc - 1. An interrupted instruction is looked up at pc: the first one if the
 * caller says so (`pc_is_exact`), and the one above a signal's trampoline. Its function may keep
 * rbp in the red zone, 128 bytes below sp (x86-64); elsewhere nothing below sp is alive.
 *
 * Nothing is believed. Each stack word that is read lies in the bounds, above what is dead; the
 * return address lies at or above sp, so sp grows at each step, but for a function of aarch64 that
 * was interrupted before it had a frame, which is the first one or next to a signal's. Reads of
 * tables are bounded by ehframe.c. What the rows cannot tell ends the stack with a reason.
 *
 * Where there is no row: code in no module may be a JIT compiler's that tells debuggers of it
 * (jit.c), or a trampoline that does nothing more but return (guess.h). Else, and in a module's
 * code without tables, there is a guess (x86-64): if the frame pointer points into this stack, and
 * the word above what it points to is the address after a call in known code, then that is the
 * caller. It holds for code that keeps a frame pointer; else frames may be left out. Who called by
 * way of a guess is counted as `guessed`, never silently.
 *
 * A goroutine's frames lie on another stack than those of the C that it has called (go_stack.h). The
 * walk goes on there, once, with that stack's bounds, and says so: `switched`.
 *
 * Fibers, tasks and handlers of signals may run on stacks whose bounds nobody tells. If the caller permits it
 * (may_leave), such a stack is the page of the stack pointer, and each page above it for which a frame
 * asks, as long as the kernel says that it can be read (probe.h). Above a signal's trampoline the walk goes on where the
 * stack pointer was: on that stack, on the thread's own, or on a third one.
 *
 * Rows are facts about code, so only the unloading of a module can make them wrong: another may
 * come to lie at its addresses. aif_unwinder_refresh() then begins a new generation, which is part
 * of each row's key. Its caller must refresh after each dlclose: another thread that loads and
 * enters a library at the same place before that could still meet an old row. An unwind that began
 * before the change ends with the old rows, which were right for the frames that it can meet.
 *
 * Few functions compute their frame from rbx: the loader's, where a function is called for the first
 * time. Its value is looked for only there (bx_of_last), in the frames of the functions further in.
 *
 * One window in which no unwinder is right: while libgcc transfers control to an exception's
 * handler it overwrites, for some instructions, the return address that it is about to leave. Only
 * a signal can look at the stack then.
 *
 * What this file reads besides rows and registers are the words of aif_peek(): a memo of whole
 * stacks needs no more than these to be exact.
 */

#define NO_MODULE (aif_row_make(AIF_ROW_NONE, 0, 1, 0))

/* The zero page, and what is not a user address. */
#define FIRST_ADDRESS UINT64_C(4096)
#define END_ADDRESS   (UINT64_C(1) << AIF_ROWS_ADDRESS_BITS)

/* A frame while its caller is looked for. pc, sp and bp are kept apart: side by side, gcc moves
 * them as one vector, and the loop below takes twice as long. */
struct frame {
	const struct aif_stack_bounds *own; /* of the thread's own stack */
	struct aif_reach reach;             /* of the stack that this frame is on */
	uint64_t pc;
	uint64_t sp;
	uint64_t floor; /* nothing of the frame lies below: sp, or the end of its red zone */
	uint64_t bp;
	uint64_t lr; /* aarch64: x30, if known */
	bool knows_lr;
	bool exact;                       /* pc is an instruction, not a return address */
	const struct aif_regs_more *more; /* of where it was interrupted, if they are known */
	const uint64_t *bx;               /* rbx, if it was looked for and is known */
};

/* ---- rows ---- */

static uint64_t row_from_tables(const struct aif_unwinder *u, uint64_t address)
{
	uint64_t row = aif_row_make(AIF_ROW_NONE, 0, 0, 0);
	struct aif_ehframe frames;
	struct aif_module module;
	struct aif_span code;

	if (!aif_modules_find(&u->modules, address, &module))
		return NO_MODULE;
	if (aif_module_ehframe(&module, &frames) == 0)
		row = aif_ehframe_row(&frames, address);
	if (AIF_ARCH_LINK &&
	    (aif_row_kind(row) == AIF_ROW_NONE || aif_row_kind(row) == AIF_ROW_BAD) &&
	    aif_module_code_at(&module, address, &code)) {
		uint64_t known = aif_stub_row_aarch64(code, address);

		if (aif_row_kind(known) != AIF_ROW_NONE)
			row = known;
	}
	return row;
}

static AIF_NOINLINE uint64_t find_row(struct aif_unwinder *u, uint64_t address, bool keep,
				      uint32_t generation)
{
	uint64_t key, row;

	if (address - FIRST_ADDRESS >= END_ADDRESS - FIRST_ADDRESS)
		return NO_MODULE;
	key = aif_rows_key(address, generation);
	if (aif_rows_find(&u->rows, key, &row))
		return row;
	row = row_from_tables(u, address);
	if (keep && row != NO_MODULE)
		aif_rows_insert(&u->rows, key, row);
	return row;
}

/* ---- the stack ---- */

/* True if the word at `at` is the stack's, as far as it is alive. */
static inline bool readable(struct frame *f, uint64_t at)
{
	if (aif_unlikely(at > f->reach.limit && f->reach.grows))
		f->reach.limit = aif_reach_grown(f->reach.limit, at + 8);
	return at >= f->floor && at <= f->reach.limit;
}

/* Is a return address at ra_at none of this frame's? The CFA must be above sp and in the stack,
 * too. */
static inline bool outside(uint64_t sp, uint64_t limit, uint64_t cfa, uint64_t ra_at)
{
	return cfa - 8 < sp || cfa - 8 > limit || ra_at < sp || ra_at > limit;
}

/* Returns the CFA of a function that has it in a register (AIF_ROW_REG). False: its value is not known. */
static bool cfa_from_register(const struct frame *f, uint64_t row, uint64_t *ret)
{
#if defined(__x86_64__)
	const uint64_t *value = NULL;

	if (aif_row_aux(row) == AIF_CFI_REG_BX)
		value = f->bx;
	else if (f->more && aif_row_aux(row) == AIF_CFI_REG_R10)
		value = &f->more->r10;
	else if (f->more && aif_row_aux(row) == AIF_CFI_REG_R11)
		value = &f->more->r11;
	else if (f->more)
		value = &f->more->r13;
	if (value) {
		*ret = *value + (uint64_t)(int64_t)aif_row_off(row);
		return true;
	}
#else
	(void)f;
	(void)row;
	(void)ret;
#endif
	return false;
}

/* Returns rbx as the function of the last frame has it, of frames that begin where *more was taken: from the nearest of
 * those further in that has saved it, else as it was there. NULL: not known. */
static AIF_NOINLINE const uint64_t *bx_of_last(const struct aif_unwinder *u, const uint64_t *pcs,
					       const struct aif_unwind_frame *frames,
					       unsigned depth, const struct aif_regs_more *more,
					       const struct aif_reach *reach, uint64_t *ret)
{
#if defined(__x86_64__)
	struct aif_ehframe tables;
	struct aif_module module;

	for (unsigned i = depth - 1; i-- > 0;) {
		uint64_t pc = pcs[i] - (i > 0);
		int64_t off;

		if (aif_row_kind(frames[i].row) > AIF_ROW_REG ||
		    !aif_modules_find(&u->modules, pc, &module) ||
		    aif_module_ehframe(&module, &tables) < 0)
			return NULL;
		off = aif_ehframe_bx(&tables, pc);
		if (off == AIF_CFI_UNKNOWN)
			return NULL;
		if (off == AIF_CFI_SAME)
			continue;
		*ret = frames[i + 1].sp + (uint64_t)off;
		if (*ret < reach->lo || *ret > reach->limit)
			return NULL;
		*ret = aif_peek(*ret);
		return ret;
	}
	return &more->rbx;
#else
	(void)u, (void)pcs, (void)frames, (void)depth, (void)more, (void)reach, (void)ret;
	return NULL;
#endif
}

static inline bool needs_bx(uint64_t row)
{
#if defined(__x86_64__)
	return aif_row_kind(row) == AIF_ROW_REG && aif_row_aux(row) == AIF_CFI_REG_BX;
#else
	(void)row;
	return false;
#endif
}

/* May pc be an address of code? What is called through a null pointer is interrupted near 0;
 * nothing returns there. */
static inline bool is_code(uint64_t pc, bool exact)
{
	return pc && pc < END_ADDRESS && (exact || pc >= FIRST_ADDRESS);
}

/* State of frames without a row. */
struct beyond {
	bool foreign;      /* the last one depends on code in no module */
	bool guessed;      /* the last one's caller is a guess */
	uint64_t at, word; /* what the guess has read; 0 */
	/* Number of addresses before the first one of which that is true. */
	unsigned foreign_from, guessed_from;
};

/* May pc be a return address? */
static bool returns_to_code(struct aif_unwinder *u, uint64_t pc, struct beyond *b)
{
	struct aif_module module;
	struct aif_span code;
	uint64_t lo;

	if (!is_code(pc, false))
		return false;
	if (!aif_modules_find(&u->modules, pc - 1, &module)) {
		b->foreign = true;
		return aif_jit_is_after_call(&u->jit, pc);
	}
	if (!aif_module_code_at(&module, pc - 1, &code))
		return false;
	lo = (uint64_t)(uintptr_t)code.lo;
	return pc - lo >= AIF_GUESS_BEFORE &&
	       aif_guess_is_after_call(code.lo + (pc - lo) - AIF_GUESS_BEFORE);
}

/* True if a function begins at pc, before which there is none. What returns there was called by nobody: it is the first
 * function of a stack that was made by hand, as by makecontext(). (After a call that does not return the next function may
 * follow at once, but then the caller's covers what is before pc.) */
static bool begins_function(const struct aif_unwinder *u, uint64_t pc)
{
	uint64_t row = row_from_tables(u, pc);

	return aif_row_kind(row) != AIF_ROW_NONE && aif_row_kind(row) != AIF_ROW_BAD;
}

/* The row of a frame for which there is none in a module; `row` says why: NONE or NO_MODULE. */
static AIF_NOINLINE uint64_t beyond_tables(struct aif_unwinder *u, struct frame *f, uint64_t row,
					   struct beyond *b)
{
	const bool lives = b->guessed_from == UINT_MAX;
	uint64_t found;

	b->foreign = row == NO_MODULE;
	b->guessed = false;
	b->at = b->word = 0;
	if (!f->exact && begins_function(u, f->pc))
		return aif_row_make(AIF_ROW_END, 0, 0, 0);
	if (b->foreign) {
		found = aif_jit_row(&u->jit, f->pc - !f->exact, lives);
		if (AIF_GUESSES && aif_row_kind(found) == AIF_ROW_NONE && !f->exact)
			found = aif_jit_row_of_end(&u->jit, f->pc, lives);
		if (aif_row_kind(found) != AIF_ROW_NONE)
			return found;
	}
	if (!AIF_GUESSES || f->bp % 8 || f->bp < f->sp || !readable(f, f->bp + 8))
		return row;
	b->at = f->bp + 8;
	b->word = aif_peek(b->at);
	if (!returns_to_code(u, b->word, b))
		return row;
	b->guessed = true;
	return AIF_GUESS_ROW;
}

/* Makes the step from Go's call of C to the goroutine's stack. False: the frame is none. Behind a guess nobody asks: a word of a
 * stack that only looks like that call's frame would be followed to any address. */
static AIF_NOINLINE bool to_goroutine(const struct aif_unwinder *u, struct frame *f,
				      struct aif_go_stack *ret)
{
	struct aif_go_switch at;
	struct aif_module module;
	struct aif_span code;

	if (f->exact || !aif_modules_find(&u->modules, f->pc, &module) ||
	    !aif_module_code_at(&module, f->pc, &code))
		return false;
	code.lo += f->pc - (uint64_t)(uintptr_t)code.lo;
	return aif_go_switch(code, &at) && readable(f, f->sp + at.g_at) &&
	       readable(f, f->sp + at.depth_at) &&
	       aif_go_stack(aif_peek(f->sp + at.g_at), aif_peek(f->sp + at.depth_at), ret);
}

/* True if the function at *f, of whose caller a guess has read the address `word`, is a goroutine's first. */
static AIF_NOINLINE bool is_goroutines_first(const struct aif_unwinder *u, const struct frame *f,
					     uint64_t word)
{
	struct aif_module module;
	struct aif_span code;

	return word && !aif_peek(f->bp) && aif_modules_find(&u->modules, word, &module) &&
	       aif_module_code_at(&module, word, &code) && aif_go_is_first(code, word);
}

/* Makes one step by any row. Returns AIF_STOP_COUNT to go on. */
static AIF_NOINLINE enum aif_unwind_stop step(struct frame *f, uint64_t row)
{
	uint64_t cfa, bp_at, sp;

	switch (aif_row_kind(row)) {
	case AIF_ROW_RSP:
		cfa = f->sp + (uint64_t)(int64_t)aif_row_off(row);
		break;
	case AIF_ROW_RBP:
		cfa = f->bp + (uint64_t)(int64_t)aif_row_off(row);
		break;
	case AIF_ROW_REG:
		if (!cfa_from_register(f, row, &cfa))
			return AIF_STOP_BAD_ROW;
		break;
	case AIF_ROW_PLT:
		cfa = f->sp + 8 + ((f->pc & 15) >= (uint64_t)aif_row_aux(row) ? 8 : 0);
		break;
	case AIF_ROW_RBP_DEREF:
	case AIF_ROW_RSP_DEREF:
		cfa = aif_row_kind(row) == AIF_ROW_RBP_DEREF ? f->bp : f->sp;
		cfa += (uint64_t)(int64_t)aif_row_aux(row);
		if (!readable(f, cfa))
			return AIF_STOP_BAD_STACK;
		cfa = aif_peek(cfa);
		break;
	case AIF_ROW_LR:
		cfa = f->sp + (uint64_t)(int64_t)aif_row_off(row);
		if (!f->knows_lr)
			return AIF_STOP_BAD_ROW;
		if (cfa < f->sp || (cfa > f->sp && !readable(f, cfa - 8)))
			return AIF_STOP_BAD_STACK;
		break;
	case AIF_ROW_SIGNAL:
		/* The words lie in the ucontext, some 100 bytes above sp. x30 follows x29. */
		bp_at = f->sp + 8 * (uint64_t)aif_row_bp(row);
		sp = f->sp + (uint64_t)aif_row_off(row);
		cfa = f->sp + (uint64_t)aif_row_aux(row);
		if (!readable(f, bp_at) || !readable(f, sp) || !readable(f, cfa))
			return AIF_STOP_BAD_STACK;
		if (AIF_ARCH_LINK) {
			if (!readable(f, bp_at + 8))
				return AIF_STOP_BAD_STACK;
			f->lr = aif_peek(bp_at + 8);
			f->knows_lr = true;
		}
		f->bp = aif_peek(bp_at);
		f->pc = aif_peek(cfa);
		sp = aif_peek(sp);
		if ((sp <= f->sp || sp > f->reach.limit) &&
		    !(f->own->may_leave && aif_reach_enter(&f->reach, f->own, sp)))
			return AIF_STOP_BAD_STACK;
		f->sp = sp;
		f->exact = true;
		return AIF_STOP_COUNT;
	case AIF_ROW_END:
		return AIF_STOP_END;
	case AIF_ROW_NONE:
		return row == NO_MODULE ? AIF_STOP_NO_MODULE : AIF_STOP_NO_FDE;
	default:
		return AIF_STOP_BAD_ROW;
	}
	if (f->reach.grows && cfa - 8 > f->reach.limit)
		f->reach.limit = aif_reach_grown(f->reach.limit, cfa);
	if (aif_row_kind(row) != AIF_ROW_LR &&
	    outside(f->sp, f->reach.limit, cfa, aif_row_ra_at(row, cfa)))
		return AIF_STOP_BAD_STACK;
	/* gcc does not say at which instruction of an epilogue rbp is restored. The function's
	 * own points into its frame; the caller's, if it is an address in this stack, above. */
	if (aif_row_bp(row) &&
	    !(aif_row_kind(row) == AIF_ROW_REG && aif_row_bp(row) == AIF_ROW_BP_AT_BP &&
	      (f->bp < f->floor || f->bp >= cfa))) {
		bp_at = aif_row_bp_at(row, cfa);
		if (aif_row_bp(row) == AIF_ROW_BP_AT_BP)
			bp_at = f->bp;
		if (!readable(f, bp_at))
			return AIF_STOP_BAD_STACK;
		f->bp = aif_peek(bp_at);
	}
	f->pc = aif_row_kind(row) == AIF_ROW_LR ? aif_arch_address(f->lr)
						: aif_peek(aif_row_ra_at(row, cfa));
	f->sp = cfa;
	f->exact = false;
	f->knows_lr = false;
	return AIF_STOP_COUNT;
}

/* `frames` is constant where this is inlined: without frames nothing is kept of them. */
static inline __attribute__((always_inline)) struct aif_unwind_result
walk(struct aif_unwinder *u, const struct aif_regs *regs, const struct aif_regs_more *more,
     bool pc_is_exact, struct aif_stack_bounds bounds, uint64_t *pcs, unsigned max,
     struct aif_unwind_frame *frames)
{
	const uint32_t generation = aif_unwinder_generation(u);
	const uint64_t red_zone = AIF_ARCH_RED_ZONE;
	/* The members of struct aif_reach, apart for the same reason as struct frame's. `careful`: steps are
	 * step()'s. */
	uint64_t lo = bounds.lo, limit = bounds.hi - 8;
	bool grows = false, careful = pc_is_exact;
	uint64_t pc = regs->pc, sp = regs->sp, bp = regs->bp;
	enum aif_unwind_stop stop;
	/* Both constant on x86-64. */
	uint64_t lr = AIF_ARCH_LINK && more ? aif_regs_link(more) : 0;
	bool knows_lr = AIF_ARCH_LINK && more;
	bool exact = pc_is_exact, switched = false, goroutine = false;
	struct beyond beyond = {.foreign_from = UINT_MAX, .guessed_from = UINT_MAX};
	struct aif_go_stack go;
	unsigned depth = 0;
	uint64_t bx;

	if (max == 0)
		return (struct aif_unwind_result){.stop = AIF_STOP_DEPTH};
	pcs[depth++] = pc;
	if (frames) {
		frames[0] = (struct aif_unwind_frame){sp, bp, NO_MODULE};
		frames[1] = frames[0];
	}
	if (aif_unlikely(bounds.hi < 8 || sp < bounds.lo || sp > limit)) {
		struct aif_reach other;

		if (!bounds.may_leave || !aif_reach_enter(&other, &bounds, sp))
			return (struct aif_unwind_result){.depth = depth,
							  .stop = AIF_STOP_BAD_STACK};
		lo = other.lo;
		limit = other.limit;
		grows = careful = true;
		switched = true;
	}

	for (;;) {
		const uint64_t address = pc - 1;
		uint64_t row;

		if (aif_unlikely(exact || address - FIRST_ADDRESS >= END_ADDRESS - FIRST_ADDRESS ||
				 !aif_rows_read(&u->rows.nodes[aif_rows_first(address)],
						aif_rows_key(address, generation), &row)))
			row = find_row(u, pc - !exact, !exact, generation);
		if (frames)
			frames[depth - 1] = frames[depth] = (struct aif_unwind_frame){sp, bp, row};

		if (aif_likely(aif_row_kind(row) <= AIF_ROW_RBP && !careful)) {
			uint64_t cfa = aif_row_kind(row) == AIF_ROW_RSP ? sp : bp;

			cfa += (uint64_t)(int64_t)aif_row_off(row);
			stop = AIF_STOP_BAD_STACK;
			if (aif_unlikely(outside(sp, limit, cfa, aif_row_ra_at(row, cfa))))
				break;
			if (aif_row_bp(row)) {
				uint64_t at = aif_row_bp_at(row, cfa);

				if (aif_unlikely(at < sp || at > limit))
					break;
				bp = aif_peek(at);
			}
			pc = aif_peek(aif_row_ra_at(row, cfa));
			sp = cfa;
		} else {
			struct frame f = {.own = &bounds,
					  .reach = {lo, limit, grows},
					  .pc = pc,
					  .sp = sp,
					  .bp = bp,
					  .lr = lr,
					  .knows_lr = knows_lr,
					  .exact = exact,
					  .more = depth == 1 ? more : NULL};

			f.floor = exact ? sp - AIF_MIN(sp - lo, red_zone) : sp;
			if (more && frames && needs_bx(row))
				f.bx = bx_of_last(u, pcs, frames, depth, more, &f.reach, &bx);
			if (AIF_GUESSES && aif_row_kind(row) == AIF_ROW_NONE && !goroutine &&
			    beyond.guessed_from == UINT_MAX && to_goroutine(u, &f, &go)) {
				switched = goroutine = true;
				lo = go.lo;
				limit = go.hi - 8;
				grows = careful = false;
				pc = aif_peek(go.sp);
				sp = go.sp + 8;
				goto called;
			}
			if (aif_row_kind(row) == AIF_ROW_NONE) {
				row = beyond_tables(u, &f, row, &beyond);
				if (beyond.foreign)
					beyond.foreign_from =
						AIF_MIN(beyond.foreign_from, depth - 1);
				if (beyond.guessed)
					beyond.guessed_from = AIF_MIN(beyond.guessed_from, depth);
				if (frames)
					frames[depth - 1] = (struct aif_unwind_frame){sp, bp, row};
				if (frames && aif_row_kind(row) == AIF_ROW_NONE)
					frames[depth] = (struct aif_unwind_frame){sp, beyond.at,
										  beyond.word};
			}
			stop = step(&f, row);
			if (goroutine && stop == AIF_STOP_NO_FDE &&
			    is_goroutines_first(u, &f, beyond.word))
				stop = AIF_STOP_END;
			if (stop != AIF_STOP_COUNT)
				break;
			switched |= f.reach.lo != lo;
			lo = f.reach.lo;
			limit = f.reach.limit;
			grows = f.reach.grows;
			pc = f.pc;
			sp = f.sp;
			bp = f.bp;
			exact = f.exact;
			careful = exact || grows;
			if (AIF_ARCH_LINK) {
				lr = f.lr;
				knows_lr = f.knows_lr;
			}
		}
	called:
		if (frames)
			frames[depth] = (struct aif_unwind_frame){sp, bp, row};
		if (aif_unlikely(pc - FIRST_ADDRESS >= END_ADDRESS - FIRST_ADDRESS) &&
		    !is_code(pc, exact)) {
			/* Hand-made stacks (coroutines) end with a zero, or with what others
			 * have left there. */
			stop = pc == 0 ? AIF_STOP_END : AIF_STOP_BAD_STACK;
			break;
		}
		stop = AIF_STOP_DEPTH;
		if (aif_unlikely(depth == max))
			break;
		pcs[depth++] = pc;
	}
	return (struct aif_unwind_result){
		.depth = depth,
		.stop = stop,
		.guessed = depth - AIF_MIN(depth, beyond.guessed_from),
		.foreign = depth - AIF_MIN(depth, beyond.foreign_from),
		.switched = switched,
	};
}

struct aif_unwind_result aif_unwind(struct aif_unwinder *u, const struct aif_regs *regs,
				    bool pc_is_exact, struct aif_stack_bounds bounds, uint64_t *pcs,
				    unsigned max)
{
	return walk(u, regs, NULL, pc_is_exact, bounds, pcs, max, NULL);
}

struct aif_unwind_result aif_unwind_frames(struct aif_unwinder *u, const struct aif_regs *regs,
					   bool pc_is_exact, struct aif_stack_bounds bounds,
					   uint64_t *pcs, unsigned max,
					   struct aif_unwind_frame *frames)
{
	return walk(u, regs, NULL, pc_is_exact, bounds, pcs, max, frames);
}

struct aif_unwind_result aif_unwind_interrupted(struct aif_unwinder *u, const struct aif_regs *regs,
						const struct aif_regs_more *more,
						struct aif_stack_bounds bounds, uint64_t *pcs,
						unsigned max)
{
	return walk(u, regs, more, true, bounds, pcs, max, NULL);
}

struct aif_unwind_result
aif_unwind_interrupted_frames(struct aif_unwinder *u, const struct aif_regs *regs,
			      const struct aif_regs_more *more, struct aif_stack_bounds bounds,
			      uint64_t *pcs, unsigned max, struct aif_unwind_frame *frames)
{
	return walk(u, regs, more, true, bounds, pcs, max, frames);
}
