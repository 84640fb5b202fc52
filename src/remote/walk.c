/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/walk.h"

#include "unwind/cfi.h"
#include "unwind/guess.h"
#include "unwind/row.h"

#include <string.h>

#define FIRST_ADDRESS UINT64_C(4096)
#define END_ADDRESS   (UINT64_C(1) << AIF_ARCH_ADDRESS_BITS)

/* No frame is larger: a wrong CFA shall not lead to another stack. */
#define FRAME_MAX (UINT64_C(64) << 20)

struct frame {
	uint64_t pc, sp, bp, lr;
	bool knows_bp, knows_lr;
	bool exact; /* pc is an instruction, not a return address */
	const struct aif_regs_more *more;
};

struct walk {
	struct aif_remote_modules *m;
	const struct aif_remote_stack *stack;
	bool beyond; /* a word was asked for that the copy does not have */
	bool guessed;
};

static bool word(struct walk *w, uint64_t at, uint64_t *ret)
{
	const struct aif_remote_stack *s = w->stack;

	if (at >= s->at && s->len >= 8 && at - s->at <= s->len - 8)
		memcpy(ret, s->bytes + (at - s->at), sizeof(*ret));
	else if (!s->may_read || !aif_remote_u64(w->m->memory, at, ret)) {
		w->beyond = !s->may_read;
		return false;
	}
	*ret = aif_arch_address(*ret);
	return true;
}

static bool is_row(uint64_t row)
{
	return aif_row_kind(row) != AIF_ROW_NONE && aif_row_kind(row) != AIF_ROW_BAD;
}

/* True if pc is an address after a call. */
static bool returns_to_code(struct walk *w, uint64_t pc)
{
	uint8_t bytes[AIF_GUESS_BEFORE];

	return pc >= FIRST_ADDRESS && pc < END_ADDRESS && aif_remote_is_code(w->m, pc - 1) &&
	       aif_remote_read(w->m->memory, pc - sizeof(bytes), bytes, sizeof(bytes)) &&
	       aif_guess_is_after_call(bytes);
}

/* The row of a frame for which there is none in a module. */
static uint64_t beyond_tables(struct walk *w, const struct frame *f, uint64_t row)
{
	uint64_t ra;

	/* A function begins at pc, and none is before it: nobody called the first one of a stack made by hand. */
	if (!f->exact && is_row(aif_remote_row(w->m, f->pc)))
		return aif_row_make(AIF_ROW_END, 0, 0, 0);
	if (!AIF_GUESSES || !f->knows_bp || f->bp % 8 || f->bp < f->sp ||
	    f->bp - f->sp > FRAME_MAX || !word(w, f->bp + 8, &ra) || !returns_to_code(w, ra))
		return row;
	w->guessed = true;
	return AIF_GUESS_ROW;
}

/* A frame pointer is searched among so many words. */
#define SEARCH_WORDS 32768

/* True if the call before `pc` is one of the function that begins at `start`. */
static bool calls(struct walk *w, uint64_t pc, uint64_t start)
{
	uint8_t bytes[5];
	int32_t to;

	if (!aif_remote_read(w->m->memory, pc - sizeof(bytes), bytes, sizeof(bytes)) ||
	    bytes[0] != 0xe8)
		return false;
	memcpy(&to, bytes + 1, sizeof(to));
	return pc + (uint64_t)(int64_t)to == start;
}

/* Searches the frame pointer of a function that keeps one: a word with the caller's, which is further up, below an address after a
 * call; best of this very function. The words may be left over from other calls, so that it is a guess. */
static bool search_bp(struct walk *w, struct frame *f)
{
	const struct aif_remote_stack *s = w->stack;
	uint64_t start = 0, found = 0;

	if (!AIF_GUESSES || !s->may_search)
		return false;
	aif_remote_function(w->m, f->pc - !f->exact, &start);
	for (uint64_t i = 0, at = (f->sp + 7) & ~UINT64_C(7); i < SEARCH_WORDS; i++, at += 8) {
		uint64_t bp, pc;

		if (at < s->at || at - s->at + 16 > s->len || !word(w, at, &bp) ||
		    !word(w, at + 8, &pc))
			break;
		if ((bp && (bp <= at || bp - s->at > s->len)) || !returns_to_code(w, pc))
			continue;
		if (start && calls(w, pc, start)) {
			found = at;
			break;
		}
		if (!found && bp)
			found = at;
	}
	if (!found)
		return false;
	f->bp = found;
	f->knows_bp = w->guessed = true;
	return true;
}

static bool from_register(const struct frame *f, uint64_t row, uint64_t *ret)
{
#if defined(__x86_64__)
	if (!f->more)
		return false;
	switch (aif_row_aux(row)) {
	case AIF_CFI_REG_BX:
		*ret = f->more->rbx;
		break;
	case AIF_CFI_REG_R10:
		*ret = f->more->r10;
		break;
	case AIF_CFI_REG_R11:
		*ret = f->more->r11;
		break;
	default:
		*ret = f->more->r13;
	}
	*ret += (uint64_t)(int64_t)aif_row_off(row);
	return true;
#else
	(void)f, (void)row, (void)ret;
	return false;
#endif
}

/* Makes the step over a signal's trampoline to what it interrupted. */
static enum aif_remote_end step_signal(struct walk *w, struct frame *f, uint64_t row)
{
	uint64_t bp_at = f->sp + 8 * (uint64_t)aif_row_bp(row);
	struct frame next = {.exact = true, .knows_bp = true};

	if (!word(w, bp_at, &next.bp) || !word(w, f->sp + (uint64_t)aif_row_off(row), &next.sp) ||
	    !word(w, f->sp + (uint64_t)aif_row_aux(row), &next.pc))
		return AIF_REMOTE_TRUNCATED;
	if (AIF_ARCH_LINK)
		next.knows_lr = word(w, bp_at + 8, &next.lr);
	*f = next;
	return AIF_REMOTE_DEEP;
}

/* Makes one step. Returns AIF_REMOTE_DEEP to go on. */
static enum aif_remote_end step(struct walk *w, struct frame *f, uint64_t row)
{
	uint64_t cfa, at, bp = f->bp;
	bool knows_bp = f->knows_bp;

	switch (aif_row_kind(row)) {
	case AIF_ROW_RSP:
	case AIF_ROW_LR:
		cfa = f->sp + (uint64_t)(int64_t)aif_row_off(row);
		break;
	case AIF_ROW_RBP:
		if (!f->knows_bp && !search_bp(w, f))
			return AIF_REMOTE_REGISTERS;
		bp = f->bp;
		knows_bp = f->knows_bp;
		cfa = f->bp + (uint64_t)(int64_t)aif_row_off(row);
		break;
	case AIF_ROW_REG:
		if (!from_register(f, row, &cfa))
			return f->exact ? AIF_REMOTE_REGISTERS : AIF_REMOTE_TRUNCATED;
		break;
	case AIF_ROW_PLT:
		cfa = f->sp + 8 + ((f->pc & 15) >= (uint64_t)aif_row_aux(row) ? 8 : 0);
		break;
	case AIF_ROW_RBP_DEREF:
	case AIF_ROW_RSP_DEREF:
		if (aif_row_kind(row) == AIF_ROW_RBP_DEREF && !f->knows_bp)
			return AIF_REMOTE_REGISTERS;
		at = aif_row_kind(row) == AIF_ROW_RBP_DEREF ? f->bp : f->sp;
		if (!word(w, at + (uint64_t)(int64_t)aif_row_aux(row), &cfa))
			return AIF_REMOTE_TRUNCATED;
		break;
	case AIF_ROW_SIGNAL:
		return step_signal(w, f, row);
	case AIF_ROW_END:
		return AIF_REMOTE_END;
	default:
		return AIF_REMOTE_TRUNCATED;
	}
	if (aif_row_kind(row) == AIF_ROW_LR) {
		if (!f->knows_lr)
			return AIF_REMOTE_REGISTERS;
		if (cfa < f->sp || cfa - f->sp > FRAME_MAX)
			return AIF_REMOTE_TRUNCATED;
	} else if (cfa <= f->sp || cfa - f->sp > FRAME_MAX) {
		return AIF_REMOTE_TRUNCATED;
	}
	/* gcc does not say at which instruction of an epilogue rbp is restored. The function's own points into its frame. */
	if (aif_row_bp(row) == AIF_ROW_BP_AT_BP) {
		if (!f->knows_bp)
			return AIF_REMOTE_REGISTERS;
		if ((aif_row_kind(row) != AIF_ROW_REG ||
		     (f->bp >= f->sp - AIF_ARCH_RED_ZONE && f->bp < cfa)) &&
		    !word(w, f->bp, &bp))
			return AIF_REMOTE_TRUNCATED;
	} else if (aif_row_bp(row)) {
		if (!word(w, aif_row_bp_at(row, cfa), &bp))
			return AIF_REMOTE_TRUNCATED;
		knows_bp = true;
	}
	if (aif_row_kind(row) == AIF_ROW_LR)
		f->pc = aif_arch_address(f->lr);
	else if (!word(w, aif_row_ra_at(row, cfa), &f->pc))
		return AIF_REMOTE_TRUNCATED;
	f->sp = cfa;
	f->bp = bp;
	f->knows_bp = knows_bp;
	f->knows_lr = f->exact = false;
	f->more = NULL;
	return AIF_REMOTE_DEEP;
}

struct aif_remote_walk aif_remote_unwind(struct aif_remote_modules *m,
					 const struct aif_remote_regs *regs,
					 const struct aif_remote_stack *stack, uint64_t *pcs,
					 uint64_t *sps, unsigned max)
{
	struct walk w = {.m = m, .stack = stack};
	struct frame f = {
		.pc = regs->regs.pc,
		.sp = regs->regs.sp,
		.bp = regs->regs.bp,
		.lr = regs->knows_more ? aif_regs_link(&regs->more) : 0,
		.knows_bp = regs->knows_more,
		.knows_lr = AIF_ARCH_LINK && regs->knows_more,
		.exact = true,
		.more = regs->knows_more ? &regs->more : NULL,
	};
	struct aif_remote_walk ret = {.end = AIF_REMOTE_DEEP};

	while (ret.depth < max) {
		uint64_t row;

		if (f.pc < FIRST_ADDRESS || f.pc >= END_ADDRESS) {
			/* Stacks made by hand end with a zero; a call of a null pointer is interrupted near it. */
			ret.end = f.pc || !ret.depth ? AIF_REMOTE_TRUNCATED : AIF_REMOTE_END;
			if (!ret.depth) {
				pcs[0] = f.pc;
				sps[0] = f.sp;
				ret.depth = 1;
			}
			break;
		}
		pcs[ret.depth] = f.pc;
		sps[ret.depth++] = f.sp;
		row = aif_remote_row(m, f.pc - !f.exact);
		if (aif_row_kind(row) == AIF_ROW_NONE)
			row = beyond_tables(&w, &f, row);
		ret.end = step(&w, &f, row);
		if (ret.end != AIF_REMOTE_DEEP)
			break;
	}
	ret.guessed = w.guessed;
	if (ret.end == AIF_REMOTE_TRUNCATED && w.beyond)
		ret.end = AIF_REMOTE_DEEP;
	return ret;
}
