/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind_seen.h"

/* Registers, stacks and rules that no compiler makes. */

static void test_wild_registers(void **state)
{
	static const uint64_t wild[] = {0,
					1,
					2,
					4095,
					UINT64_MAX,
					UINT64_MAX - 7,
					UINT64_C(1) << 47,
					UINT64_C(1) << 63,
					UINT64_C(0xffffffffff600000)};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(wild); i++) {
		for (int exact = 0; exact < 2; exact++) {
			struct aif_regs regs;
			struct aif_unwind_result r;

			AIF_REGS_HERE(&regs);
			regs.pc = wild[i];
			regs.bp = 0; /* nor is there a frame pointer to go on by */
			r = aif_unwind(seen.u, &regs, exact, seen.bounds, seen.ours, MAX);
			assert_int_equal(r.depth, 1);
			assert_int_equal(r.stop, AIF_STOP_NO_MODULE);
			AIF_REGS_HERE(&regs);
			regs.sp = wild[i];
			r = aif_unwind(seen.u, &regs, exact, seen.bounds, seen.ours, MAX);
			assert_int_equal(r.depth, 1);
			assert_int_equal(r.stop, AIF_STOP_BAD_STACK);
		}
		struct aif_regs regs;
		struct aif_stack_bounds bounds[] = {{.lo = wild[i], .hi = wild[i]},
						    {.lo = seen.bounds.hi, .hi = wild[i]},
						    {.lo = 0, .hi = wild[i] & 7}};

		AIF_REGS_HERE(&regs);
		for (size_t k = 0; k < AIF_ARRAY_LEN(bounds); k++) {
			if (bounds[k].lo <= regs.sp && bounds[k].hi > regs.sp)
				continue;
			struct aif_unwind_result r =
				aif_unwind(seen.u, &regs, false, bounds[k], seen.ours, MAX);
			assert_int_equal(r.stop, AIF_STOP_BAD_STACK);
			assert_int_equal(r.depth, 1);
		}
	}
}

static uint64_t xorshift(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Stacks full of code addresses, stack addresses and small numbers, between two pages that cannot be
 * read: any row may meet any content. */
static void test_garbage_stacks_never_fault(void **state)
{
	const size_t page = 4096, words = page / 8;
	uint8_t *area = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *stack = (uint64_t *)(void *)(area + page), x = 88172645463325252u;
	struct aif_stack_bounds bounds = {.lo = (uint64_t)(uintptr_t)stack,
					  .hi = (uint64_t)(uintptr_t)(stack + words)};
	const struct aif_stack_bounds unknown = {.may_leave = true};
	unsigned stops[AIF_STOP_COUNT] = {0};
	struct aif_unwind_module libc, here;

	(void)state;
	assert_ptr_not_equal(area, MAP_FAILED);
	assert_int_equal(mprotect(stack, page, PROT_READ | PROT_WRITE), 0);
	assert_true(aif_unwinder_module(seen.u, (uint64_t)(uintptr_t)dlsym(libc_handle, "qsort"),
					&libc));
	assert_true(aif_unwinder_module(seen.u, (uint64_t)(uintptr_t)capture, &here));
	for (unsigned round = 0; round < 3000; round++) {
		for (size_t i = 0; i < words; i++) {
			uint64_t r = xorshift(&x);

			switch (r % 8) {
			case 0:
				stack[i] = here.lo + (r >> 8) % (here.hi - here.lo);
				break;
			case 1:
				stack[i] = bounds.lo + ((r >> 8) % (page + 64)) - 32;
				break;
			case 2:
				stack[i] = r >> 56;
				break;
			default:
				stack[i] = libc.lo + (r >> 8) % (libc.hi - libc.lo);
			}
		}
		/* Twice: the thread's own stack, and one whose bounds are to be found. */
		for (unsigned k = 0; k < 60; k++) {
			struct aif_regs regs = {libc.lo + xorshift(&x) % (libc.hi - libc.lo),
						bounds.lo + xorshift(&x) % (page - 8),
						bounds.lo + xorshift(&x) % (page + 64) - 32};
			struct aif_unwind_result r = aif_unwind(
				seen.u, &regs, k % 2, k % 4 < 2 ? bounds : unknown, seen.ours, MAX);

			assert_in_range(r.depth, 1, MAX);
			assert_int_equal(seen.ours[0], regs.pc);
			stops[r.stop]++;
		}
	}
	assert_true(stops[AIF_STOP_BAD_STACK] && stops[AIF_STOP_NO_FDE] &&
		    stops[AIF_STOP_BAD_ROW] && stops[AIF_STOP_END]);
	munmap(area, 3 * page);
}

/* A function with a rule of our choice, and a page of stack between two that cannot be read. */
struct made {
	void *handle;
	uint64_t entry;
	uint8_t *area;
	uint64_t *stack;
	struct aif_stack_bounds bounds;
};

#define WORDS 512

static void make(struct made *m, const uint8_t *program, size_t len, bool signal_frame)
{
	struct tiny_elf opts = {.frame = 1048,
				.program = program,
				.program_len = len,
				.signal_frame = signal_frame};

	m->handle = tiny_elf_open(&opts);
	assert_non_null(m->handle);
	aif_unwinder_refresh(seen.u);
	m->entry = (uint64_t)(uintptr_t)dlsym(m->handle, "entry");
	m->area = mmap(NULL, 3 * TINY_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(m->area, MAP_FAILED);
	assert_int_equal(mprotect(m->area + TINY_PAGE, TINY_PAGE, PROT_READ | PROT_WRITE), 0);
	m->stack = (uint64_t *)(void *)(m->area + TINY_PAGE);
	m->bounds = (struct aif_stack_bounds){.lo = (uint64_t)(uintptr_t)m->stack,
					      .hi = (uint64_t)(uintptr_t)(m->stack + WORDS)};
}

static void unmake(struct made *m)
{
	munmap(m->area, 3 * TINY_PAGE);
	dlclose(m->handle);
	aif_unwinder_refresh(seen.u);
}

/* From the function's first byte (exact) or second (as if returned to), sp and bp at these words. */
static struct aif_unwind_result from(const struct made *m, bool exact, int64_t sp, int64_t bp)
{
	struct aif_regs regs = {m->entry + !exact, m->bounds.lo + 8 * (uint64_t)sp,
				m->bounds.lo + 8 * (uint64_t)bp};

	return aif_unwind(seen.u, &regs, exact, m->bounds, seen.ours, MAX);
}

static void assert_stops(struct aif_unwind_result r, enum aif_unwind_stop stop, unsigned depth)
{
	assert_int_equal(r.stop, stop);
	assert_int_equal(r.depth, depth);
}

#define MAKE(m, signal, ...)                                     \
	do {                                                     \
		static const uint8_t program_[] = {__VA_ARGS__}; \
		make((m), program_, sizeof(program_), (signal)); \
	} while (0)

static void test_frames_must_grow_and_stay_inside(void **state)
{
	struct made m;

	(void)state;
	for (int exact = 0; exact < 2; exact++) {
		MAKE(&m, false, 0x0e, 0); /* CFA = rsp: the return address would be below sp */
		assert_stops(from(&m, exact, 100, 0), AIF_STOP_BAD_STACK, 1);
		unmake(&m);

		MAKE(&m, false, 0x0c, TINY_BP, 16); /* CFA = rbp + 16 */
		m.stack[101] = 0;
		assert_stops(from(&m, exact, 101, 100), AIF_STOP_END, 1);
		assert_stops(from(&m, exact, 102, 100), AIF_STOP_BAD_STACK, 1);
		assert_stops(from(&m, exact, 10, WORDS - 2), AIF_STOP_END, 1);
		assert_stops(from(&m, exact, 10, WORDS - 1), AIF_STOP_BAD_STACK, 1);
		assert_stops(from(&m, exact, 10, INT32_MIN), AIF_STOP_BAD_STACK, 1);
		unmake(&m);

		MAKE(&m, false, 0x2f, TINY_BP, 10); /* rbp saved at CFA + 80 */
		assert_stops(from(&m, exact, WORDS - 12, 0), AIF_STOP_END, 1);
		assert_stops(from(&m, exact, WORDS - 11, 0), AIF_STOP_BAD_STACK, 1);
		unmake(&m);

		MAKE(&m, false, 0x80 | TINY_BP,
		     20); /* rbp saved at CFA - 160: in the red zone of 128, or not */
		assert_stops(from(&m, exact, 100, 0), AIF_STOP_BAD_STACK, 1);
		unmake(&m);
		MAKE(&m, false, 0x80 | TINY_BP, 16);
		assert_stops(from(&m, exact, 100, 0),
			     exact && AIF_ARCH_RED_ZONE ? AIF_STOP_END : AIF_STOP_BAD_STACK, 1);
		assert_stops(from(&m, exact, 3, 0), AIF_STOP_BAD_STACK, 1);
		unmake(&m);

#if defined(__x86_64__)
		MAKE(&m, false, 0x0f, 3, 0x76, 0x08, 0x06); /* CFA = *(rbp + 8) */
		m.stack[200] = m.bounds.lo + 300 * 8;
		assert_stops(from(&m, exact, 100, 199), AIF_STOP_END, 1);
		assert_stops(from(&m, exact, 100, WORDS - 1), AIF_STOP_BAD_STACK, 1);
		m.stack[200] = m.bounds.lo + 100 * 8; /* not above sp */
		assert_stops(from(&m, exact, 100, 199), AIF_STOP_BAD_STACK, 1);
		m.stack[200] = m.bounds.hi + 8;
		assert_stops(from(&m, exact, 100, 199), AIF_STOP_BAD_STACK, 1);
		unmake(&m);

#endif
		MAKE(&m, false, 0x07,
		     TINY_RA); /* nobody called: even so the stack must be this one */
		assert_stops(from(&m, exact, WORDS - 1, 0), AIF_STOP_END, 1);
		assert_stops(from(&m, exact, WORDS, 0), AIF_STOP_BAD_STACK, 1);
		assert_stops(from(&m, exact, -1, 0), AIF_STOP_BAD_STACK, 1);
		unmake(&m);
	}
}

#if defined(__x86_64__)
static void test_hand_made_signal_frame(void **state)
{
	struct made m;

	(void)state;
	MAKE(&m, true, 0x0f, 4, 0x77, 0xa0, 0x01, 0x06, /* CFA = *(rsp + 160) */
	     0x10, 6, 3, 0x77, 0xf8, 0x00,              /* rbp at rsp + 120 */
	     0x10, 16, 3, 0x77, 0xa8, 0x01);            /* rip at rsp + 168 */
	m.stack[100 + 21] = 0;
	m.stack[100 + 20] = m.bounds.lo + 8 * 101; /* sp of the interrupted */
	assert_stops(from(&m, true, 100, 0), AIF_STOP_END, 1);
	m.stack[100 + 20] = m.bounds.lo + 8 * 100;
	assert_stops(from(&m, true, 100, 0), AIF_STOP_BAD_STACK, 1);
	m.stack[100 + 20] = m.bounds.hi - 8;
	assert_stops(from(&m, true, 100, 0), AIF_STOP_END, 1);
	m.stack[100 + 20] = m.bounds.hi;
	assert_stops(from(&m, true, 100, 0), AIF_STOP_BAD_STACK, 1);
	assert_stops(from(&m, true, WORDS - 22, 0), AIF_STOP_BAD_STACK, 1);
	assert_stops(from(&m, true, WORDS - 21, 0), AIF_STOP_BAD_STACK, 1);
	unmake(&m);
}
#endif

/* Words left beyond a coroutine's first frame are no caller. With bit 63, as CPython's counts of arguments have it, one
 * would be read as a Python function (AIF_WIRE_PYTHON). */
static void test_return_address_that_is_none(void **state)
{
	static const uint64_t none[] = {
		1,
		4095,
		UINT64_C(1) << 63 | 2,
#if defined(__x86_64__) /* elsewhere the upper bits are a signature */
		UINT64_C(1) << AIF_ARCH_ADDRESS_BITS,
		UINT64_MAX,
#endif
	};
	const uint64_t no_module = 4096;
	struct aif_unwind_frame frames[MAX + 1];
	struct aif_regs regs;
	struct made m;

	(void)state;
	MAKE(&m, false, 0); /* CFA = rsp + 8 throughout */
	for (size_t i = 0; i < AIF_ARRAY_LEN(none); i++) {
		m.stack[100] = m.entry + 1;
		m.stack[101] = none[i];
		for (int exact = 0; exact < 2; exact++) {
			struct aif_unwind_result r = from(&m, exact, 100, 103);

			assert_stops(r, AIF_STOP_BAD_STACK, 2);
			assert_int_equal(r.foreign + r.guessed, 0);
		}
		regs = (struct aif_regs){m.entry + 1, m.bounds.lo + 800, 0};
		assert_stops(
			aif_unwind_frames(seen.u, &regs, false, m.bounds, seen.ours, MAX, frames),
			AIF_STOP_BAD_STACK, 2);
		assert_int_equal(frames[1].sp, m.bounds.lo + 808);
		assert_int_equal(frames[2].sp, m.bounds.lo + 816);
	}
	m.stack[101] = no_module;
	assert_stops(from(&m, false, 100, 0), AIF_STOP_NO_MODULE, 3);
	unmake(&m);
}

/* The first frame is exact, its caller is not: a call may be its function's last instruction. */
static void test_return_address_after_the_function(void **state)
{
	struct made m;

	(void)state;
	MAKE(&m, false, 0); /* CFA = rsp + 8 throughout */
	m.stack[100] = m.entry + TINY_CODE_LEN;
	m.stack[101] = m.entry + TINY_CODE_LEN;
	m.stack[102] = 0;
	assert_stops(from(&m, true, 100, 0), AIF_STOP_END, 3);
	assert_stops(from(&m, false, 100, 0), AIF_STOP_END, 3);
	m.stack[101] = m.entry; /* before it: a stack that was made by hand begins so */
	assert_stops(from(&m, true, 100, 0), AIF_STOP_END, 3);
	m.stack[101] = m.entry - 1; /* of nothing that is known */
	assert_stops(from(&m, true, 100, 0), AIF_STOP_NO_FDE, 3);
	unmake(&m);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_wild_registers),
		TEST(test_garbage_stacks_never_fault),
		TEST(test_frames_must_grow_and_stay_inside),
#if defined(__x86_64__)
		TEST(test_hand_made_signal_frame),
#endif
		TEST(test_return_address_that_is_none),
		TEST(test_return_address_after_the_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
