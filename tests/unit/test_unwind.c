/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind_seen.h"
#include "signal_action.h"

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <ucontext.h>

#if defined(__x86_64__)
#include "unwind_traps_x86_64.h"
#else
#include "unwind_traps_aarch64.h"
#endif

/* ---- plain stacks ---- */

static AIF_NOINLINE void plain(unsigned depth)
{
	volatile char frame[40];

	frame[depth % 40] = 1;
	if (depth)
		plain(depth - 1);
	else
		capture();
	use((void *)frame);
}

static AIF_NOINLINE void with_alloca(unsigned depth)
{
	char *p = alloca(16 + depth * 8);

	p[0] = 1;
	use(p);
	if (depth)
		with_alloca(depth - 1);
	else
		capture();
	use(p);
}

static AIF_NOINLINE void over_aligned(unsigned depth)
{
	char frame[64] __attribute__((aligned(128)));

	frame[0] = 1;
	use(frame);
	if (depth)
		over_aligned(depth - 1);
	else
		capture();
	use(frame);
}

static AIF_NOINLINE void mixed(unsigned depth)
{
	char *p = alloca(100 + depth % 3);
	char frame[32] __attribute__((aligned(64)));

	frame[0] = 1;
	use(p);
	use(frame);
	if (depth % 3 == 1)
		plain(3);
	else if (depth)
		mixed(depth - 1);
	else
		over_aligned(2);
	use(p);
}

static void test_stacks_equal_glibcs(void **state)
{
	(void)state;
	for (int again = 0; again < 2; again++) { /* rows unknown, rows known */
		plain(0);
		assert_same();
		plain(100);
		assert_true(seen.result.depth > 100);
		assert_same();
		with_alloca(30);
		assert_same();
		over_aligned(30);
		assert_same();
		for (unsigned depth = 0; depth < 12; depth++) {
			mixed(depth);
			assert_same();
		}
	}
}

static int compare_and_capture(const void *a, const void *b)
{
	capture();
	return *(const int *)a - *(const int *)b;
}

/* Up through a function of libc. */
static void test_callback_from_libc(void **state)
{
	int v[] = {2, 1};

	(void)state;
	qsort(v, 2, sizeof(v[0]), compare_and_capture);
	assert_int_equal(v[0], 1);
	assert_same();
}

static void stacks_are_cut_at_the_depth_limit(void **state)
{
	unsigned full;

	(void)state;
	plain(20);
	assert_same();
	full = seen.result.depth;
	for (seen.max = 0; seen.max <= full + 1; seen.max++) {
		memset(seen.ours, 0, sizeof(seen.ours));
		plain(20);
		assert_int_equal(seen.result.depth, AIF_MIN(seen.max, full));
		assert_int_equal(seen.result.stop, seen.max < full ? AIF_STOP_DEPTH : AIF_STOP_END);
		assert_int_equal(seen.ours[seen.max], 0);
		if (seen.max > 1)
			assert_memory_equal(seen.ours + 1, seen.theirs + 1,
					    (AIF_MIN(seen.max, full) - 1) * sizeof(void *));
	}
}

/* ---- threads ---- */

static void *thread_main(void *arg)
{
	struct seen *mine = arg;

	seen.u = mine->u;
	seen.max = MAX;
	if (aif_stack_bounds_here(&seen.bounds) == 0)
		mixed(7);
	*mine = seen;
	return NULL;
}

static void stacks_of_threads_lie_in_their_bounds(void **state)
{
	struct seen *mine = calloc(1, sizeof(*mine));
	pthread_t thread;

	(void)state;
	assert_non_null(mine);
	mine->u = seen.u;
	assert_int_equal(pthread_create(&thread, NULL, thread_main, mine), 0);
	pthread_join(thread, NULL);
	assert_true(mine->bounds.hi <= seen.bounds.lo || mine->bounds.lo >= seen.bounds.hi);
	seen = *mine;
	free(mine);
	assert_same();
}

/* Many threads on a map that knows nothing yet: all learn the same rows at once. */
#define THREADS 8
#define ROUNDS  20

struct cold {
	pthread_barrier_t start;
	struct aif_unwinder *u;
	_Atomic unsigned wrong, right;
};

static void *cold_thread(void *arg)
{
	struct cold *cold = arg;

	pthread_barrier_wait(&cold->start);
	seen.u = cold->u;
	seen.max = MAX;
	if (aif_stack_bounds_here(&seen.bounds))
		return NULL;
	for (unsigned i = 0; i < 12; i++) {
		mixed(i);
		atomic_fetch_add(same() ? &cold->right : &cold->wrong, 1);
		plain(i);
		atomic_fetch_add(same() ? &cold->right : &cold->wrong, 1);
	}
	return NULL;
}

static void test_threads_on_a_cold_map(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct cold cold = {.u = new_unwinder()};
		pthread_t threads[THREADS];

		pthread_barrier_init(&cold.start, NULL, THREADS);
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, cold_thread, &cold), 0);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		pthread_barrier_destroy(&cold.start);
		free_unwinder(cold.u);
		assert_int_equal(atomic_load(&cold.wrong), 0);
		assert_int_equal(atomic_load(&cold.right), THREADS * 24);
	}
}

/* ---- signals ---- */

static struct {
	uint64_t pc;
	struct aif_unwind_result result;
	uint64_t ours[MAX];
	struct aif_unwind_frame frames[MAX + 1];
} interrupted;

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct aif_regs_more more;
	struct aif_regs regs;

	aif_regs_of_ucontext(context, &regs, &more);
	(void)number;
	(void)info;
	interrupted.pc = regs.pc;
	interrupted.result = aif_unwind_interrupted_frames(
		seen.u, &regs, &more, seen.bounds, interrupted.ours, MAX, interrupted.frames);
	capture();
	use(context);
}

static void handle(int flags)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};

	assert_int_equal(signal_action(SIGUSR1, &action), 0);
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

/* The interrupted stack as glibc sees it from the handler: from its exact pc on. */
static void assert_interrupted_same(void)
{
	unsigned at = 0;

	while (at < seen.n_theirs && (uint64_t)(uintptr_t)seen.theirs[at] != interrupted.pc)
		at++;
	assert_in_range(at, 2, seen.n_theirs - 1);
	assert_int_equal(interrupted.result.stop, AIF_STOP_END);
	assert_int_equal(interrupted.result.depth, seen.n_theirs - at);
	assert_memory_equal(interrupted.ours, seen.theirs + at,
			    (seen.n_theirs - at) * sizeof(void *));
}

static void test_through_a_signal_frame(void **state)
{
	(void)state;
	handle(0);
	raises(5);
	assert_same(); /* from within the handler */
	assert_interrupted_same();
}

static void skip_trap(int number, siginfo_t *info, void *context)
{
	on_signal(number, info, context);
	trap_skip(context);
}

static AIF_NOINLINE void traps(void (*f)(void))
{
	char *p = alloca(64 + (size_t)(f == trap_functions[1])); /* so that rbp is needed here */

	use(p);
	f();
	use(p);
}

static void test_interrupted_instruction_is_exact(void **state)
{
	struct sigaction action = {.sa_sigaction = skip_trap, .sa_flags = SA_SIGINFO};

	(void)state;
	assert_int_equal(signal_action(SIGILL, &action), 0);
	for (volatile size_t i = 0; i < AIF_ARRAY_LEN(trap_functions); i++) {
		traps(trap_functions[i]);
		assert_same();
		assert_interrupted_same();
	}
	signal(SIGILL, SIG_DFL);
}

#if defined(__x86_64__)
static void test_interrupted_with_the_cfa_in_a_register(void **state)
{
	struct sigaction action = {.sa_sigaction = skip_trap, .sa_flags = SA_SIGINFO};
	uint64_t first[MAX];

	(void)state;
	assert_int_equal(signal_action(SIGILL, &action), 0);
	/* one place that calls */
	for (volatile size_t i = 0; i < AIF_ARRAY_LEN(trap_functions_by_register); i++) {
		seen.ours_only = trap_functions_by_register[i].ours_only;
		traps(trap_functions_by_register[i].f);
		if (!seen.ours_only)
			assert_interrupted_same();
		if (i == 0)
			memcpy(first, interrupted.ours, sizeof(first));
		/* All were called from the same place. */
		assert_int_equal(interrupted.result.stop, AIF_STOP_END);
		assert_memory_equal(interrupted.ours + 1, first + 1,
				    (interrupted.result.depth - 1) * sizeof(first[0]));
		/* From the handler these registers are not known. */
		assert_int_equal(seen.result.stop, AIF_STOP_BAD_ROW);
	}
	signal(SIGILL, SIG_DFL);
}

static void test_interrupted_above_a_cfa_in_rbx(void **state)
{
	struct sigaction action = {.sa_sigaction = skip_trap, .sa_flags = SA_SIGINFO};

	(void)state;
	assert_int_equal(signal_action(SIGILL, &action), 0);
	for (volatile size_t i = 0; i < AIF_ARRAY_LEN(trap_functions_by_rbx); i++) {
		traps(trap_functions_by_rbx[i]);
		assert_interrupted_same();
		/* From the handler rbx is not known. */
		assert_int_equal(seen.result.stop, AIF_STOP_BAD_ROW);
	}
	signal(SIGILL, SIG_DFL);
}
#endif

static void test_alternate_signal_stack(void **state)
{
	stack_t alternate = {.ss_size = 256 * 1024}, old;
	uint64_t lo, hi;

	(void)state;
	alternate.ss_sp = malloc(alternate.ss_size);
	assert_non_null(alternate.ss_sp);
	assert_int_equal(sigaltstack(&alternate, &old), 0);
	handle(SA_ONSTACK);
	raises(5);
	sigaltstack(&old, NULL);
	/* The interrupted stack is the thread's; the handler's own lies outside the bounds. */
	assert_interrupted_same();
	assert_int_equal(seen.result.stop, AIF_STOP_BAD_STACK);
	assert_int_equal(seen.result.depth, 1);
	lo = (uint64_t)(uintptr_t)alternate.ss_sp;
	hi = lo + alternate.ss_size;
	assert_true(lo >= seen.bounds.hi || hi <= seen.bounds.lo);
	free(alternate.ss_sp);
}

/* ---- other stacks, other code ---- */

static ucontext_t main_context, coroutine_context;

static void coroutine(void)
{
	plain(3);
	swapcontext(&coroutine_context, &main_context);
}

static void a_stack_out_of_bounds_is_cut(void **state)
{
	size_t size = 256 * 1024;
	char *stack = malloc(size);

	(void)state;
	assert_non_null(stack);
	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = size;
	makecontext(&coroutine_context, coroutine, 0);
	swapcontext(&main_context, &coroutine_context);
	assert_int_equal(seen.result.stop, AIF_STOP_BAD_STACK);
	assert_int_equal(seen.result.depth, 1);

	/* with the bounds of its own stack it is there */
	seen.bounds.lo = (uint64_t)(uintptr_t)stack;
	seen.bounds.hi = seen.bounds.lo + size;
	makecontext(&coroutine_context, coroutine, 0);
	swapcontext(&main_context, &coroutine_context);
	/* glibc's __start_context is "returned" to at its first byte, before which nothing is covered: nobody called */
	assert_int_equal(seen.result.stop, AIF_STOP_END);
	assert_int_equal(seen.result.depth, seen.n_theirs);
	assert_memory_equal(seen.ours + 1, seen.theirs + 1, (seen.n_theirs - 1) * sizeof(void *));
	aif_stack_bounds_here(&seen.bounds);
	free(stack);
}

/* Code that no module holds: the stack ends there, with all frames up to it. */
static void test_code_without_module(void **state)
{
	static uint8_t image[5 * TINY_PAGE];
	struct tiny_elf opts = {.frame = 1048};
	tiny_entry *entry;
	void *code = mmap(NULL, TINY_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(code, MAP_FAILED);
	tiny_elf_make(image, &opts);
	memcpy(code, image + TINY_CODE, TINY_CODE_LEN);
	memcpy(&entry, &code, sizeof(entry));
	tiny_call(entry, capture, 1);
	assert_int_equal(seen.result.stop, AIF_STOP_NO_MODULE);
	assert_int_equal(seen.result.depth, 2);
	assert_int_equal(seen.result.foreign, 1);
	assert_int_equal(seen.ours[1], (uint64_t)(uintptr_t)code + TINY_RETURN);
	munmap(code, TINY_PAGE);
}

static void test_modules_that_cannot_be_unwound(void **state)
{
	static const uint8_t cfa_in_r11[] = {0x0d, 11};
	const struct {
		struct tiny_elf opts;
		enum aif_unwind_stop stop;
	} cases[] = {
		{{.frame = 1048}, AIF_STOP_END},
		{{.frame = 1048, .no_index = true}, AIF_STOP_END},
		{{.frame = 1048, .no_tables = true}, AIF_STOP_NO_FDE},
		{{.frame = 1048, .program = cfa_in_r11, .program_len = sizeof(cfa_in_r11)},
		 AIF_STOP_BAD_ROW},
		{{.frame = 1048, .bad_pointer = true}, AIF_STOP_BAD_ROW},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		void *handle = tiny_elf_open(&cases[i].opts);

		assert_non_null(handle);
		aif_unwinder_refresh(seen.u);
		seen.ours_only = cases[i].stop != AIF_STOP_END;
		if (cases[i].stop == AIF_STOP_NO_FDE)
			tiny_call(tiny_elf_entry(handle), capture, 1);
		else
			tiny_elf_entry(handle)(capture);
		assert_int_equal(seen.result.stop, cases[i].stop);
		assert_int_equal(seen.result.guessed, 0);
		assert_int_equal(seen.result.foreign, 0);
		if (cases[i].stop == AIF_STOP_END)
			assert_same();
		else
			assert_int_equal(seen.result.depth, 2);
		dlclose(handle);
		aif_unwinder_refresh(seen.u);
	}
}

/* A library goes, another one with a different frame comes to lie at its address. Without a new
 * generation the old row would be used: a wrong stack. */
static void test_library_replaced_at_its_address(void **state)
{
	unsigned at_same_address = 0;
	void *last = NULL;

	(void)state;
	if (!tiny_addresses_come_back())
		skip();
	for (unsigned i = 0; i < 40; i++) {
		struct tiny_elf opts = {.frame = i % 2 ? 1048 : 2072};
		uint32_t generation = aif_unwinder_generation(seen.u);
		void *handle = tiny_elf_open(&opts), *entry;

		assert_non_null(handle);
		entry = dlsym(handle, "entry");
		at_same_address += entry == last;
		last = entry;
		tiny_elf_entry(handle)(capture);
		/* An unknown module asks for a refresh, where the loader does not answer by itself. */
		if (seen.result.stop == AIF_STOP_NO_MODULE) {
			assert_true(aif_unwinder_stale(seen.u, seen.ours[seen.result.depth - 1]));
			aif_unwinder_refresh(seen.u);
			tiny_elf_entry(handle)(capture);
		}
		assert_same();
		assert_int_equal(aif_unwinder_generation(seen.u), generation);
		dlclose(handle);
		aif_unwinder_refresh(seen.u);
		assert_int_not_equal(aif_unwinder_generation(seen.u), generation);
	}
	assert_true(at_same_address > 10); /* else this test shows nothing */
}

/* A pc in no module is not remembered: a library may be loaded there later. */
static void test_unknown_is_not_remembered(void **state)
{
	struct tiny_elf opts = {.frame = 1048};
	struct aif_regs regs;
	void *handle = tiny_elf_open(&opts), *entry, *again;

	(void)state;
	if (!tiny_addresses_come_back())
		skip();
	assert_non_null(handle);
	entry = dlsym(handle, "entry");
	dlclose(handle);
	aif_unwinder_refresh(seen.u);

	AIF_REGS_HERE(&regs);
	regs.pc = (uint64_t)(uintptr_t)entry + TINY_RETURN; /* as a return address */
	regs.bp = 1;
	seen.result = aif_unwind(seen.u, &regs, false, seen.bounds, seen.ours, MAX);
	assert_int_equal(seen.result.stop, AIF_STOP_NO_MODULE);
	handle = tiny_elf_open(&opts);
	assert_non_null(handle);
	again = dlsym(handle, "entry");
	assert_ptr_equal(again, entry);
	aif_unwinder_refresh(seen.u);
	tiny_elf_entry(handle)(capture);
	assert_same();
	dlclose(handle);
	aif_unwinder_refresh(seen.u);
}

static void test_module_of_an_address(void **state)
{
	struct aif_unwind_module module;
	uint64_t here = (uint64_t)(uintptr_t)capture,
		 libc = (uint64_t)(uintptr_t)dlsym(libc_handle, "qsort");
	Dl_info info;

	(void)state;
	assert_true(aif_unwinder_module(seen.u, here, &module));
	assert_string_equal(module.path, "");
	assert_in_range(here, module.lo, module.hi - 1);
	assert_true(module.phnum > 3);
	assert_true(dladdr((void *)(uintptr_t)libc, &info));
	assert_true(aif_unwinder_module(seen.u, libc, &module));
	assert_string_equal(module.path, info.dli_fname);
	assert_int_equal(module.base, (uintptr_t)info.dli_fbase);
	assert_false(aif_unwinder_module(seen.u, (uint64_t)(uintptr_t)&module, &module));
	assert_false(aif_unwinder_module(seen.u, 0, &module));
}

static void reasons_to_stop_have_different_names(void **state)
{
	(void)state;
	for (int i = 0; i < AIF_STOP_COUNT; i++) {
		assert_non_null(aif_unwind_stop_name(i));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(aif_unwind_stop_name(i), aif_unwind_stop_name(k));
	}
	assert_string_equal(aif_unwind_stop_name(AIF_STOP_COUNT), "unknown");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_stacks_equal_glibcs),
		TEST(test_callback_from_libc),
		TEST(stacks_are_cut_at_the_depth_limit),
		TEST(stacks_of_threads_lie_in_their_bounds),
		TEST(test_threads_on_a_cold_map),
		TEST(test_through_a_signal_frame),
		TEST(test_interrupted_instruction_is_exact),
#if defined(__x86_64__)
		TEST(test_interrupted_with_the_cfa_in_a_register),
		TEST(test_interrupted_above_a_cfa_in_rbx),
#endif
		TEST(test_alternate_signal_stack),
		TEST(a_stack_out_of_bounds_is_cut),
		TEST(test_code_without_module),
		TEST(test_modules_that_cannot_be_unwound),
		TEST(test_library_replaced_at_its_address),
		TEST(test_unknown_is_not_remembered),
		TEST(test_module_of_an_address),
		TEST(reasons_to_stop_have_different_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
