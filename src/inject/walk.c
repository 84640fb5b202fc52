/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/walk.h"

#include "unwind/row.h"

#include <string.h>

/* A stack that is deeper is not walked: Python's recursion ends at a thousand calls, of some 500 bytes each. */
#define FRAMES_MAX 4096
/* Bytes of the stack that are read at once; a system call for each word would take 0.5 us. */
#define WINDOW 65536

struct stack {
	const struct aif_image *im;
	uint64_t at, len;
	uint8_t bytes[WINDOW];
};

static void refill(struct stack *s, uint64_t at)
{
	s->at = at;
	s->len = aif_image_read_stack(s->im, at, s->bytes, WINDOW);
}

static bool word(struct stack *s, uint64_t at, uint64_t *ret)
{
	if (at < s->at || at - s->at + 8 > s->len)
		refill(s, at);
	if (s->len < 8)
		return false;
	memcpy(ret, s->bytes + (at - s->at), sizeof(*ret));
	return true;
}

/* The CFA by that row. False: the row does not say, or not by what is known here. */
static bool cfa_of(struct stack *s, const struct aif_regs *f, uint64_t pc, uint64_t row,
		   uint64_t *ret)
{
	const uint64_t off = (uint64_t)(int64_t)aif_row_off(row),
		       aux = (uint64_t)(int64_t)aif_row_aux(row);

	switch (aif_row_kind(row)) {
	case AIF_ROW_RSP:
		*ret = f->sp + off;
		return true;
	case AIF_ROW_RBP:
		*ret = f->bp + off;
		return true;
	case AIF_ROW_PLT:
		*ret = f->sp + 8 + ((pc & 15) >= aux ? 8 : 0);
		return true;
	case AIF_ROW_RBP_DEREF:
		return word(s, f->bp + aux, ret);
	case AIF_ROW_RSP_DEREF:
		return word(s, f->sp + aux, ret);
	default:
		return false;
	}
}

/* Goes to the caller's frame. */
static bool step(struct stack *s, struct aif_regs *f, uint64_t row)
{
	uint64_t cfa, pc, bp = f->bp;

	if (!cfa_of(s, f, f->pc, row, &cfa) || cfa <= f->sp || !word(s, cfa - 8, &pc))
		return false;
	if (aif_row_bp(row) == AIF_ROW_BP_AT_BP) {
		if (!word(s, f->bp, &bp))
			return false;
	} else if (aif_row_bp(row) && !word(s, aif_row_bp_at(row, cfa), &bp)) {
		return false;
	}
	*f = (struct aif_regs){.pc = pc, .sp = cfa, .bp = bp};
	return true;
}

static bool is_c_library(const struct aif_image_module *m)
{
	const char *file = m ? strrchr(m->path, '/') : NULL;

	return file && (!strncmp(file, "/libc.so.6", 10) || !strncmp(file, "/libc-2.", 8) ||
			!strncmp(file, "/libpthread", 11) || !strncmp(file, "/libdl", 6));
}

/* The outermost frames are the C library's: they call main() and a thread's function. */
static bool is_start(struct aif_image *im, struct stack *s, struct aif_regs f)
{
	for (unsigned i = 0; i < 4; i++) {
		uint64_t row = aif_image_row(im, f.pc - 1);

		if (aif_row_kind(row) == AIF_ROW_END)
			return true;
		if (!step(s, &f, row))
			return false;
	}
	return false;
}

/* Bytes of a thread's stack that are looked through behind a function of Go: a thread that waits for work has less than one
 * thousand, the first one its arguments and environment besides. */
#define GO_STACK_MAX 65536

/* True if a call ends at `at`. */
static bool is_behind_call(const struct aif_image *im, uint64_t at)
{
	uint8_t b[6];

	if (!aif_image_read(im, at - sizeof(b), b, sizeof(b)))
		return false;
	return b[1] == 0xe8 || (b[4] == 0xff && (b[5] & 0x38) == 0x10) ||
	       (b[3] == 0xff && (b[4] & 0x38) == 0x10) || (b[0] == 0xff && (b[1] & 0x38) == 0x10);
}

/* Looks for return addresses into functions in which nothing may be called, from a frame of Go's on. */
static enum aif_walk_answer look_behind_go(struct aif_image *im, struct stack *s,
					   struct aif_regs *f, uint64_t tls)
{
	uint64_t end = tls, at;

	if (f->sp < im->stack_hi && im->stack_hi - f->sp <= GO_STACK_MAX)
		end = im->stack_hi;
	if (f->sp >= end || end - f->sp > GO_STACK_MAX)
		return AIF_WALK_UNKNOWN;
	for (at = f->sp & ~UINT64_C(7); at + 8 <= end; at += 8) {
		const struct aif_image_module *m;
		uint64_t pc;

		if (!word(s, at, &pc))
			return AIF_WALK_UNKNOWN;
		m = aif_image_find(im, pc);
		if (!m || pc == m->lo || !is_behind_call(im, pc))
			continue;
		if (!aif_image_is_read(im, pc - 1)) {
			*f = (struct aif_regs){.pc = pc - 1, .sp = f->sp, .bp = f->bp};
			return AIF_WALK_TABLES;
		}
		if (aif_row_kind(aif_image_row(im, pc - 1)) == AIF_ROW_SIGNAL)
			return AIF_WALK_HANDLER;
		if (aif_image_is_unsafe(im, pc - 1))
			return AIF_WALK_UNSAFE;
	}
	return AIF_WALK_SAFE;
}

/* True of a frame in an allocator that is not the C library's, if it is the innermost of a file's: its functions without a name, which a
 * jump leads to, too, may hold its locks. A program with one of its own is at rest only within a library. */
static bool is_in_allocator(const struct aif_image_module *m)
{
	return m && m->has_malloc && !is_c_library(m);
}

/* True of code that is no library's of the program: the C library's, which any function calls, the kernel's, or made code. */
static bool is_outside_of_files(const struct aif_image_module *m)
{
	return !m || *m->path != '/' || is_c_library(m);
}

enum aif_walk_answer aif_walk(struct aif_image *im, struct aif_regs *regs, uint64_t tls,
			      bool is_running)
{
	static struct stack s; /* 64 KB; the injector has one thread */
	struct aif_regs f = *regs;
	bool is_innermost = true;

	s = (struct stack){.im = im};
	for (unsigned i = 0; i < FRAMES_MAX; i++) {
		/* A return address may be the first of the next function. */
		const uint64_t pc = i ? f.pc - 1 : f.pc;
		uint64_t row;

		if (!aif_image_is_read(im, pc)) {
			*regs = (struct aif_regs){.pc = pc, .sp = f.sp, .bp = f.bp};
			return AIF_WALK_TABLES;
		}
		row = aif_image_row(im, pc);
		if (aif_row_kind(row) == AIF_ROW_SIGNAL)
			return AIF_WALK_HANDLER;
		if (aif_image_is_unsafe(im, pc) && aif_row_kind(row) != AIF_ROW_END)
			return AIF_WALK_UNSAFE;
		if (is_innermost && is_in_allocator(aif_image_find(im, pc)))
			return AIF_WALK_UNSAFE;
		is_innermost &= is_outside_of_files(aif_image_find(im, pc));
		if (aif_row_kind(row) == AIF_ROW_END)
			return AIF_WALK_SAFE;
		if (aif_row_kind(row) == AIF_ROW_NONE && aif_image_is_go(im, pc)) {
			enum aif_walk_answer answer = look_behind_go(im, &s, &f, tls);

			*regs = f;
			return answer;
		}
		if (is_running && is_c_library(aif_image_find(im, pc)) &&
		    !(i && is_start(im, &s, f)))
			return AIF_WALK_LIBRARY;
		if (!step(&s, &f, row))
			return AIF_WALK_UNKNOWN;
	}
	return AIF_WALK_UNKNOWN;
}
