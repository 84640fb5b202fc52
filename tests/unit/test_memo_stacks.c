/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the memo on other stacks than a thread's own, after jumps between frames, and in several threads. */
#include "fixture_memo.h"
#include "signal_action.h"
#include "tiny_elf.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <ucontext.h>

/* ---- other stacks ---- */

static ucontext_t main_context, coroutine_context[2];

static void coroutine(int me)
{
	for (int i = 0;; i++) {
		plain((unsigned)(i % 3), 0);
		swapcontext(&coroutine_context[me], &main_context);
	}
}

static AIF_NOINLINE void make_coroutine(int i, char *stack, size_t size)
{
	void (*takes_int)(int) = coroutine;
	void (*start)(void);

	memcpy(&start, &takes_int, sizeof(start)); /* makecontext's own way to pass arguments */
	getcontext(&coroutine_context[i]);
	coroutine_context[i].uc_stack.ss_sp = stack;
	coroutine_context[i].uc_stack.ss_size = size;
	makecontext(&coroutine_context[i], start, 1, i);
}

static void stacks_of_coroutines_are_those_of_the_unwinder(void **state)
{
	size_t size = 128 * 1024;
	char *stacks = audit_pages(2 * size);

	(void)state;
	assert_non_null(stacks);
	for (int i = 0; i < 2; i++)
		make_coroutine(i, stacks + (size_t)i * size, size);
	for (int i = 0; i < 50; i++) {
		plain(2, 0);
		assert_non_null(audit.last.stack);
		swapcontext(&main_context, &coroutine_context[i % 2]);
		assert_null(audit.last.stack);
		assert_int_equal(audit.last.stop, AIF_STOP_BAD_STACK);
		assert_int_equal(audit.last.depth, 1);
	}
	assert_int_equal(audit.wrong, 0);
	assert_int_equal(audit.hits, 49);
	assert_int_equal(counts().refused, 50);

	/* With one's own bounds a stack is remembered; with other bounds again it is not used. */
	for (int i = 0; i < 2; i++) {
		uint64_t lo = (uint64_t)(uintptr_t)stacks + (uint64_t)i * size;

		audit.bounds = (struct aif_stack_bounds){.lo = lo, .hi = lo + size};
		aif_memo_init(audit.memo, audit.u, audit.bounds, AIF_MEMO_MAX_DEPTH);
		for (int k = 0; k < 9; k++) {
			swapcontext(&main_context, &coroutine_context[i]);
			assert_non_null(audit.last.stack);
			assert_int_equal(audit.last.hit, k >= 3);
		}
	}
	assert_int_equal(audit.wrong, 0);
	munmap(stacks, 2 * size);
}

static void on_signal(int number)
{
	(void)number;
	memo_hook();
}

static AIF_NOINLINE void raises(unsigned depth)
{
	volatile char frame[24];

	frame[depth % 24] = 1;
	if (depth)
		raises(depth - 1);
	else
		raise(SIGUSR1);
	use((void *)frame);
}

static void test_from_a_signal_handler(void **state)
{
	struct sigaction action = {.sa_handler = on_signal};

	(void)state;
	assert_int_equal(signal_action(SIGUSR1, &action), 0);
	for (int i = 0; i < 40; i++) {
		raises((unsigned)(i % 4));
		assert_int_equal(audit.last.stop, AIF_STOP_END);
		plain(2, 0);
	}
	assert_int_equal(audit.wrong, 0);
	assert_int_equal(audit.hits, 80 - 5);
	signal(SIGUSR1, SIG_DFL);
}

static void test_alternate_signal_stack(void **state)
{
	stack_t alternate = {.ss_size = 128 * 1024}, old;
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	(void)state;
	alternate.ss_sp = audit_pages(alternate.ss_size);
	assert_non_null(alternate.ss_sp);
	assert_int_equal(sigaltstack(&alternate, &old), 0);
	assert_int_equal(signal_action(SIGUSR1, &action), 0);
	for (int i = 0; i < 10; i++) {
		raises(3);
		assert_null(audit.last.stack);
		assert_int_equal(audit.last.stop, AIF_STOP_BAD_STACK);
	}
	assert_int_equal(audit.wrong, 0);
	assert_int_equal(counts().refused, 10);
	signal(SIGUSR1, SIG_DFL);
	sigaltstack(&old, NULL);
	munmap(alternate.ss_sp, alternate.ss_size);
}

static jmp_buf jump_to;
static volatile bool jump = true;

static AIF_NOINLINE void jumps(unsigned depth, unsigned from)
{
	volatile char frame[40];

	frame[depth % 40] = 1;
	if (depth == from)
		memo_hook();
	if (depth)
		jumps(depth - 1, from);
	else if (jump)
		longjmp(jump_to, 1);
	use((void *)frame);
}

static AIF_NOINLINE void lands(unsigned depth, unsigned from)
{
	if (setjmp(jump_to) == 0)
		jumps(depth, from);
	memo_hook();
}

static void stacks_after_longjmp_are_those_of_the_unwinder(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 120; i++) {
		lands(2 + i % 6, i % 3);
		plain(i % 5, 0);
	}
	assert_int_equal(audit.wrong, 0);
	assert_true(audit.hits > 120);
}

/* ---- threads ---- */

#define THREADS 8
#define ROUNDS  300

struct team {
	pthread_barrier_t start;
	struct aif_unwinder *u;
	atomic_uint failed, captures, hits, left;
};

static void *member(void *arg)
{
	struct team *team = arg;
	struct aif_stack_bounds bounds;

	if (aif_stack_bounds_here(&bounds) ||
	    !audit_begin(&audit, team->u, bounds, AIF_MEMO_MAX_DEPTH)) {
		atomic_fetch_add(&team->failed, 1);
		pthread_barrier_wait(&team->start);
		return NULL;
	}
	pthread_barrier_wait(&team->start);
	for (unsigned i = 0; i < ROUNDS; i++) {
		plain(i % 13, 0);
		plain(i % 7, i % 3);
		memo_f(256);
		memo_h(256 - 112);
		memo_q(0);
		memo_p(0);
	}
	atomic_fetch_add(&team->failed, (unsigned)audit.wrong);
	atomic_fetch_add(&team->captures, (unsigned)audit.captures);
	atomic_fetch_add(&team->hits, (unsigned)audit.hits);
	audit_end(&audit);
	atomic_fetch_sub(&team->left, 1);
	return NULL;
}

/* All learn the same rows at once, while libraries come and go. */
static void threads_learn_rows_while_libraries_come_and_go(void **state)
{
	struct team team = {.u = audit.u, .left = THREADS};
	pthread_t threads[THREADS];
	unsigned swaps = 0;

	(void)state;
	pthread_barrier_init(&team.start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, member, &team), 0);
	while (atomic_load(&team.left) && swaps < 5000) {
		struct tiny_elf opts = {.frame = swaps % 2 ? 1048 : 2072};
		void *handle = tiny_elf_open(&opts);

		assert_non_null(handle);
		tiny_elf_entry(handle)(memo_hook);
		tiny_elf_entry(handle)(memo_hook);
		dlclose(handle);
		aif_unwinder_refresh(audit.u);
		swaps++;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&team.start);
	assert_int_equal(atomic_load(&team.failed), 0);
	assert_int_equal(audit.wrong, 0);
	assert_int_equal(atomic_load(&team.captures), THREADS * ROUNDS * 6);
	assert_true(atomic_load(&team.hits) > THREADS * ROUNDS);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(stacks_of_coroutines_are_those_of_the_unwinder),
		TEST(test_from_a_signal_handler),
		TEST(test_alternate_signal_stack),
		TEST(stacks_after_longjmp_are_those_of_the_unwinder),
		TEST(threads_learn_rows_while_libraries_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
