/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinding on stacks that are not the thread's own: of fibers, and of handlers of signals. */
#include "signal_action.h"
#include "unwind_seen.h"
#include "emulated.h"

#include <alloca.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#define PAGE  ((size_t)4096)
#define PAGES 64

/* A stack between two pages that cannot be read. */
struct stack {
	char *area, *lo;
};

static struct stack new_stack(void)
{
	struct stack s;

	s.area = mmap(NULL, (PAGES + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(s.area, MAP_FAILED);
	s.lo = s.area + PAGE;
	assert_int_equal(mprotect(s.lo, PAGES * PAGE, PROT_READ | PROT_WRITE), 0);
	return s;
}

static void free_stack(struct stack s)
{
	munmap(s.area, (PAGES + 2) * PAGE);
}

static AIF_NOINLINE void deep(unsigned depth)
{
	char *p = alloca(300 + depth % 7 * 16);

	use(p);
	if (depth)
		deep(depth - 1);
	else
		capture();
	use(p);
}

/* ---- fibers ---- */

static ucontext_t main_context, fiber_context;
static unsigned fiber_depth;
static void (*fiber_does)(void);

static void fiber(void)
{
	fiber_does();
	use(&fiber_depth);
}

static void in_fiber(struct stack s, unsigned depth, void (*does)(void))
{
	fiber_depth = depth;
	fiber_does = does;
	assert_int_equal(getcontext(&fiber_context), 0);
	fiber_context.uc_stack.ss_sp = s.lo;
	fiber_context.uc_stack.ss_size = PAGES * PAGE;
	fiber_context.uc_link = &main_context;
	makecontext(&fiber_context, fiber, 0);
	assert_int_equal(swapcontext(&main_context, &fiber_context), 0);
}

static void goes_deep(void)
{
	deep(fiber_depth);
	use(&fiber_depth);
}

static void test_fiber(void **state)
{
	struct stack s = new_stack();

	(void)state;
	seen.bounds.may_leave = true;
	for (unsigned depth = 0; depth < 200; depth += 13) { /* up to some 80 KB */
		in_fiber(s, depth, goes_deep);
		assert_same();
		assert_in_range(seen.result.depth, depth + 4, depth + 6);
		assert_true(seen.result.switched);
	}
	/* All of it is read, and nothing of the page above. */
	in_fiber(s, 200, goes_deep);
	assert_same();
	seen.bounds.may_leave = false;
	in_fiber(s, 3, goes_deep);
	assert_int_equal(seen.result.stop, AIF_STOP_BAD_STACK);
	assert_int_equal(seen.result.depth, 1);
	free_stack(s);
}

/* ---- handlers ---- */

static struct {
	struct aif_unwind_result result;
	uint64_t pcs[MAX];
	uint64_t pc;
} interrupted;

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct aif_regs_more more;
	struct aif_regs regs;

	(void)number;
	(void)info;
	aif_regs_of_ucontext(context, &regs, &more);
	interrupted.pc = regs.pc;
	interrupted.result =
		aif_unwind_interrupted(seen.u, &regs, &more, seen.bounds, interrupted.pcs, MAX);
	capture();
	use(context);
}

static AIF_NOINLINE void raises(void)
{
	raise(SIGUSR1);
	use(&interrupted);
}

/* Asserts that a stack from the handler has its own frames, then those of the stack that was interrupted. */
static void assert_joined(void)
{
	unsigned at = 0;

	assert_same();
	while (at < seen.n_theirs && (uint64_t)(uintptr_t)seen.theirs[at] != interrupted.pc)
		at++;
	assert_in_range(at, 2, seen.n_theirs - 1);
	assert_int_equal(interrupted.result.stop, AIF_STOP_END);
	assert_int_equal(interrupted.result.depth, seen.n_theirs - at);
	assert_memory_equal(interrupted.pcs, seen.theirs + at,
			    (seen.n_theirs - at) * sizeof(void *));
}

static void handle(int flags)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};

	assert_int_equal(signal_action(SIGUSR1, &action), 0);
}

static stack_t alternate(struct stack s)
{
	stack_t new = {.ss_sp = s.lo, .ss_size = PAGES * PAGE}, old;

	assert_int_equal(sigaltstack(&new, &old), 0);
	return old;
}

static void test_handler_on_its_own_stack(void **state)
{
	struct stack s = new_stack();
	stack_t old = alternate(s);

	(void)state;
	seen.bounds.may_leave = true;
	handle(SA_ONSTACK);
	raises();
	assert_joined();
	assert_true(seen.result.switched);
	assert_false(interrupted.result.switched);
	/* The same with bounds that are not known, those of a thread that was not met on its own stack before. */
	seen.bounds = (struct aif_stack_bounds){.may_leave = true};
	raises();
	assert_joined();
	sigaltstack(&old, NULL);
	free_stack(s);
}

/* An alternate stack within the thread's own, above the interrupted frames. */
static void test_handler_on_a_part_of_the_stack(void **state)
{
	char *part = alloca(PAGES * PAGE);
	stack_t new = {.ss_sp = part, .ss_size = PAGES * PAGE}, old;

	(void)state;
	assert_int_equal(sigaltstack(&new, &old), 0);
	seen.bounds.may_leave = true;
	handle(SA_ONSTACK);
	raises();
	assert_joined();
	sigaltstack(&old, NULL);
}

static void test_handler_of_a_fiber(void **state)
{
	struct stack s = new_stack(), t = new_stack();
	stack_t old;

	(void)state;
	if (is_emulated())
		skip();
	seen.bounds.may_leave = true;
	handle(0); /* on the fiber's stack */
	in_fiber(s, 0, raises);
	assert_joined();
	old = alternate(t);
	handle(SA_ONSTACK); /* on a third one */
	in_fiber(s, 0, raises);
	assert_joined();
	sigaltstack(&old, NULL);
	free_stack(s);
	free_stack(t);
}

/* ---- stacks that are none ---- */

static void test_frames_that_leave_their_stack(void **state)
{
	static const uint8_t program[] = {0x0e, 0x98, 0x08}; /* CFA = sp + 1048 */
	struct tiny_elf opts = {.frame = 1048, .program = program, .program_len = sizeof(program)};
	struct stack s = new_stack();
	void *handle = tiny_elf_open(&opts);
	uint64_t entry, *words = (uint64_t *)(void *)s.lo;
	const uint64_t hi = (uint64_t)(uintptr_t)s.lo + PAGES * PAGE;
	const struct aif_stack_bounds bounds = {.may_leave = true};
	struct aif_unwind_result r;
	struct aif_regs regs;

	(void)state;
	assert_non_null(handle);
	aif_unwinder_refresh(seen.u);
	entry = (uint64_t)(uintptr_t)dlsym(handle, "entry");
	for (size_t i = 0; i < PAGES * PAGE / 8; i++)
		words[i] = entry + 1;
	/* The last frame would end in the page above. */
	regs = (struct aif_regs){entry + 1, hi - 5 * 1048 - 8, 0};
	r = aif_unwind(seen.u, &regs, false, bounds, seen.ours, MAX);
	assert_int_equal(r.stop, AIF_STOP_BAD_STACK);
	assert_int_equal(r.depth, 6);
	/* Pointers to no memory, and to the end of it. */
	for (unsigned i = 0; i < 6; i++) {
		const uint64_t sp[] = {0, 8, hi, UINT64_C(1) << 47, UINT64_MAX - 7, hi - 4};

		regs.sp = sp[i];
		r = aif_unwind(seen.u, &regs, i % 2, bounds, seen.ours, MAX);
		assert_int_equal(r.stop, AIF_STOP_BAD_STACK);
		assert_int_equal(r.depth, 1);
	}
	dlclose(handle);
	aif_unwinder_refresh(seen.u);
	free_stack(s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_fiber),
		TEST(test_handler_on_its_own_stack),
		TEST(test_handler_on_a_part_of_the_stack),
		TEST(test_handler_of_a_fiber),
		TEST(test_frames_that_leave_their_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
