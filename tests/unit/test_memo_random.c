/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks that no compiler made: random words over functions with every kind of unwind row, changed a
 * little from capture to capture, from few values, so that what was there before often comes back.
 * Whatever they hold, the memo must answer what the unwinder answers.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "memo_audit.h"
#include "memo_shapes.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define WORDS     (AIF_ARCH_LINK ? 256 : 96) /* a signal takes 72 words on aarch64 */
#define OUTSIDE   16                         /* words after the stack's end */
#define SNAPSHOTS 48
#define ROUNDS    120000

struct machine {
	struct aif_unwinder *u;
	struct shapes shapes;
	uint64_t stack[WORDS + OUTSIDE];
	struct aif_stack_bounds bounds;
	uint64_t random;
	uint32_t signal_at; /* the frame of a signal that was laid out last: a word of the stack */
};

struct snapshot {
	struct aif_regs regs;
	uint64_t stack[WORDS + OUTSIDE];
};

static uint32_t below(struct machine *m, uint32_t n)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (uint32_t)((m->random >> 32) * n >> 32);
}

static uint64_t any_pc(struct machine *m)
{
	/* END would make most stacks short. */
	enum shape shape = (enum shape)below(m, below(m, 8) ? SHAPE_END : SHAPES);

#if defined(__x86_64__)
	if (shape == SHAPE_PLT)
		return shape_pc(&m->shapes, shape) + below(m, 2) * 12;
#endif
	return shape_pc(&m->shapes, shape) + below(m, 2);
}

static uint64_t any_address(struct machine *m)
{
	return m->bounds.lo + 8 * (uint64_t)below(m, WORDS + 1) + (below(m, 64) == 0 ? 4 : 0);
}

static uint64_t any_word(struct machine *m)
{
	uint32_t kind = below(m, 33);

	if (kind == 32) /* an address, but for bits that no address has */
		return any_word(m) | UINT64_C(1) << (47 + below(m, 17));
	return kind == 0 ? 0 : kind == 1 ? below(m, 100) : kind < 18 ? any_pc(m) : any_address(m);
}

static uint64_t address(const struct machine *m, uint32_t at)
{
	return m->bounds.lo + 8 * (uint64_t)at;
}

static void put(struct machine *m, uint32_t at, uint64_t word)
{
	if (at < WORDS)
		m->stack[at] = word;
}

/* Lays out a frame that can be unwound, if nothing later comes to lie in it: from sp, bp (words in the stack) to its
 * caller's. Returns where its return address lies. */
static uint32_t lay_out(struct machine *m, enum shape shape, uint64_t pc, uint32_t *sp,
			uint32_t *bp)
{
	uint32_t s = *sp, b = *bp, cfa = s + 2 + below(m, 4);

	(void)pc; /* PLT's matters */
	switch (shape) {
	case SHAPE_SMALL:
		cfa = s + 2;
		break;
	case SHAPE_LARGE:
		cfa = s + 5;
		break;
	case SHAPE_SAVES_BP:
		cfa = s + 3;
		put(m, cfa - 2, address(m, *bp = cfa + below(m, 6)));
		break;
	case SHAPE_BY_BP:
		cfa = b + 2;
		put(m, cfa - 2, address(m, *bp = cfa + below(m, 6)));
		break;
	case SHAPE_KEEPS_BP:
		cfa = b + 2;
		break;
#if defined(__x86_64__)
	case SHAPE_ALIGNED:
		put(m, b - 1, address(m, cfa = b + 2));
		put(m, b, address(m, *bp = cfa + below(m, 6)));
		break;
	case SHAPE_ALIGNED_3:
		put(m, b - 1, address(m, cfa = b + 2));
		break;
	case SHAPE_ALIGNED_2:
		put(m, b, address(m, *bp = cfa + below(m, 6)));
		/* fallthrough */
	case SHAPE_ALIGNED_SP:
		put(m, s + 1, address(m, cfa));
		break;
	case SHAPE_PLT:
		cfa = s + ((pc & 15) >= 11 ? 2 : 1);
		break;
#else
	case SHAPE_LR: /* as the signal has it */
		*sp = s + 2;
		return m->signal_at + SHAPE_SIGNAL_LR;
	case SHAPE_LR_0:
		return m->signal_at + SHAPE_SIGNAL_LR;
#endif
	case SHAPE_SIGNAL:
		m->signal_at = s;
		*sp = s + SHAPE_SIGNAL_PC + 1 + below(m, 3);
		put(m, s + SHAPE_SIGNAL_SP, address(m, *sp));
		put(m, s + SHAPE_SIGNAL_BP, address(m, *bp = *sp + below(m, 6)));
		return s + SHAPE_SIGNAL_PC;
	default:
		break;
	}
	*sp = cfa;
	return cfa - 1;
}

/* At least so many frames. */
static void make_snapshot(struct machine *m, struct snapshot *s, unsigned at_least)
{
	static uint64_t pcs[AIF_MEMO_MAX_DEPTH];
	struct aif_unwind_result r;

	do {
		uint32_t sp = below(m, 16), bp = sp + below(m, 6), at = 0;
		unsigned frames = at_least + below(m, 20);
		uint64_t pc = any_pc(m);

		for (unsigned i = 0; i < WORDS + OUTSIDE; i++)
			m->stack[i] = any_word(m);
		s->regs = (struct aif_regs){pc, address(m, sp), address(m, bp)};
		while (sp < WORDS && frames--) {
			enum shape shape = SHAPE_SMALL;

			while (pc - m->shapes.entry[shape] >= TINY_PAGE)
				shape++;
			at = lay_out(m, shape, pc, &sp, &bp);
			pc = any_pc(m);
#if defined(__aarch64__)
			if (shape == SHAPE_SIGNAL && below(m, 2))
				pc = shape_pc(&m->shapes, below(m, 2) ? SHAPE_LR : SHAPE_LR_0);
#endif
			put(m, at, pc);
		}
		if (below(m, 8))
			put(m, at, below(m, 2) ? 0 : shape_pc(&m->shapes, SHAPE_END));
		r = aif_unwind(m->u, &s->regs, false, m->bounds, pcs, AIF_MEMO_MAX_DEPTH);
	} while (r.depth < at_least || (r.stop == AIF_STOP_BAD_STACK && below(m, 16)));
	memcpy(s->stack, m->stack, sizeof(s->stack));
}

static void run(struct machine *m, struct audit *a, unsigned max_depth, unsigned at_least)
{
	static struct snapshot snapshots[SNAPSHOTS];
	struct snapshot *s;
	struct aif_regs regs;
	uint32_t at;

	assert_true(audit_begin(a, m->u, m->bounds, max_depth));
	for (unsigned i = 0; i < SNAPSHOTS; i++)
		make_snapshot(m, &snapshots[i], i % 3 ? at_least : 1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		/* Bursts in order are predicted, jumps are not. */
		s = &snapshots[(round % 7 ? round : below(m, SNAPSHOTS)) % SNAPSHOTS];
		memcpy(m->stack, s->stack, sizeof(m->stack));
		regs = s->regs;
		switch (below(m, 8)) {
		case 0:
			m->stack[below(m, WORDS)] = any_word(m);
			/* fallthrough */
		case 1:
			m->stack[below(m, WORDS)] = any_word(m);
			break;
		case 4:
			m->stack[below(m, WORDS)] ^= UINT64_C(1) << below(m, 64);
			break;
		case 5: /* all is as it was, but elsewhere, and perhaps not all of it in the stack */
			at = below(m, 8) ? 0 : below(m, OUTSIDE);
			memmove(m->stack + at, m->stack,
				sizeof(m->stack) - at * sizeof(m->stack[0]));
			regs.sp += 8 * (uint64_t)at;
			break;
		case 2: /* two words trade places: what was there is elsewhere now */
			m->stack[below(m, WORDS)] = s->stack[below(m, WORDS)];
			break;
		case 3:
			if (below(m, 4) == 0)
				regs.bp = any_address(m);
			else if (below(m, 3) == 0)
				regs.sp += 8 * (uint64_t)below(m, 3);
			else if (below(m, 2))
				regs.pc = any_pc(m);
			break;
		}
		if (below(m, 1024) == 0)
			make_snapshot(m, s, at_least);
		a->many_keys = round / 4096 % 2;
		if (!audit_capture(a, &regs))
			print_error("round %u: depth %u (%s), unwound %u (%s), hit %d\n", round,
				    a->last.depth, aif_unwind_stop_name(a->last.stop),
				    a->fresh_result.depth,
				    aif_unwind_stop_name(a->fresh_result.stop), a->last.hit);
		assert_int_equal(a->wrong, 0);
	}
}

static struct machine machine;

static int setup(void **state)
{
	*state = NULL;
	machine.random = 88172645463325252u;
	machine.u = audit_pages(aif_unwinder_size());
	if (!machine.u || aif_unwinder_init(machine.u) || !shapes_open(&machine.shapes))
		return -1;
	aif_unwinder_refresh(machine.u);
	machine.bounds.lo = (uint64_t)(uintptr_t)machine.stack;
	machine.bounds.hi = (uint64_t)(uintptr_t)(machine.stack + WORDS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shapes_close(&machine.shapes);
	munmap(machine.u, aif_unwinder_size());
	return 0;
}

static void test_answers_are_the_unwinders(void **state)
{
	static const struct {
		unsigned max_depth, at_least;
	} cases[] = {{AIF_MEMO_MAX_DEPTH, 5}, {4, 3}, {1, 1}, {AIF_MEMO_MAX_DEPTH, 12}};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		static struct audit a;
		struct aif_memo_counts c;

		run(&machine, &a, cases[i].max_depth, cases[i].at_least);
		aif_memo_counts(a.memo, &c);
		print_message(
			"%u captures: %u predicted, %u found, %u missed, %u refused, %u passed\n",
			(unsigned)a.captures, (unsigned)c.predicted, (unsigned)c.found,
			(unsigned)c.missed, (unsigned)c.refused, (unsigned)c.passed);
		assert_int_equal(a.captures,
				 c.predicted + c.found + c.missed + c.refused + c.passed);
		assert_int_equal(a.hits, c.predicted + c.found);
		assert_true(c.predicted > ROUNDS / 10 && c.found > ROUNDS / 100 && c.missed > 1000);
		audit_end(&a);
	}
}

/* The word after the place where a stack is cut matters, if it is 0 or no address of code: all of its bits that are an
 * address. */
static void test_word_beyond_the_cut(void **state)
{
	enum { DEPTH = 10 };
	static struct audit a;
	const uint64_t pc = shape_pc(&machine.shapes, SHAPE_SMALL);
	struct aif_regs regs = {pc, machine.bounds.lo, 0};

	(void)state;
	assert_true(audit_begin(&a, machine.u, machine.bounds, DEPTH));
	for (unsigned i = 1; i < DEPTH; i++)
		machine.stack[2 * i - 1] = pc;
	for (unsigned i = 0; i < 64; i++) {
		const uint64_t address = aif_arch_address(UINT64_C(1) << i);
		const bool is_code = address >= 4096 && !(address >> AIF_ARCH_ADDRESS_BITS);

		machine.stack[2 * DEPTH - 1] = UINT64_C(1) << i;
		audit_capture(&a, &regs);
		assert_int_equal(a.last.stop, !address  ? AIF_STOP_END
					      : is_code ? AIF_STOP_DEPTH
							: AIF_STOP_BAD_STACK);
		machine.stack[2 * DEPTH - 1] = 0;
		audit_capture(&a, &regs);
		assert_int_equal(a.last.stop, AIF_STOP_END);
		assert_int_equal(a.wrong, 0);
	}
	audit_end(&a);
}

#if defined(__x86_64__)
/* Frames that need three words each: more of them than a record has room for. */
static void test_read_sets_that_are_too_long(void **state)
{
	enum { MANY = AIF_MEMO_MAX_DEPTH + 10 };
	static uint64_t stack[4 * MANY + 8];
	const uint64_t lo = (uint64_t)(uintptr_t)stack;
	const struct aif_stack_bounds bounds = {.lo = lo, .hi = lo + sizeof(stack)};
	const uint64_t pc = shape_pc(&machine.shapes, SHAPE_ALIGNED);
	const struct aif_regs regs = {pc, lo, lo + 8};
	static const unsigned depths[] = {600, 700, 1000, MANY};
	static struct audit a;

	(void)state;
	for (size_t d = 0; d < AIF_ARRAY_LEN(depths); d++) {
		const bool remembered = depths[d] * 3 < 2048;

		assert_true(audit_begin(&a, machine.u, bounds, AIF_MEMO_MAX_DEPTH));
		for (unsigned i = 0; i < depths[d]; i++) {
			stack[4 * i] = lo + 8 * (4 * i + 3);     /* the CFA */
			stack[4 * i + 1] = lo + 8 * (4 * i + 5); /* the caller's rbp */
			stack[4 * i + 2] = i + 1 < depths[d] ? pc : 0;
		}
		for (unsigned i = 0; i < 4; i++) {
			audit_capture(&a, &regs);
			assert_int_equal(a.last.depth, AIF_MIN(depths[d], AIF_MEMO_MAX_DEPTH));
			assert_int_equal(a.last.stop, depths[d] > AIF_MEMO_MAX_DEPTH
							      ? AIF_STOP_DEPTH
							      : AIF_STOP_END);
			assert_int_equal(a.last.stack != NULL, remembered);
			assert_int_equal(a.last.hit, remembered && i > 0);
		}
		assert_int_equal(a.wrong, 0);
		audit_end(&a);
	}
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers_are_the_unwinders, setup, teardown),
		cmocka_unit_test_setup_teardown(test_word_beyond_the_cut, setup, teardown),
#if defined(__x86_64__)
		cmocka_unit_test_setup_teardown(test_read_sets_that_are_too_long, setup, teardown),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
