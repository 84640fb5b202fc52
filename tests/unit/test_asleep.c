/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the stack of a thread that sleeps, read from its process's memory. */
#include "fixture_ingest.h"

#include "record/asleep/asleep.h"

#include "base/proc.h"

#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static int pipes[2];
static _Atomic uint32_t sleeper;
static volatile int woken;

/* Each function that sleeps has a section of its own, whose bounds the linker knows. */
#define IN_SECTION(name) __attribute__((noinline, section(#name)))
extern const char __start_of_wait[], __stop_of_wait[], __start_of_thread[], __stop_of_thread[];
extern const char __start_of_others[], __stop_of_others[];

static IN_SECTION(of_wait) void wait_for_byte(void)
{
	char byte;

	woken = syscall(SYS_read, pipes[0], &byte, 1) ==
		1; /* sanitizers have a read() of their own */
}

static IN_SECTION(of_thread) void *sleep_in_read(void *arg)
{
	sleeper = (uint32_t)syscall(SYS_gettid);
	wait_for_byte();
	return arg;
}

/* Waits until the thread sleeps in its read. */
static IN_SECTION(of_others) void read_call(struct aif_sleep_call *ret)
{
	char path[64], text[256];

	for (;;) {
		snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", sleeper);
		if (sleeper && aif_proc_read(path, text, sizeof(text)) > 0 &&
		    aif_sleep_call_parse(text, ret) && ret->number == SYS_read)
			return;
		poll(NULL, 0, 1);
	}
}

static bool is_asleep(void *arg)
{
	++*(unsigned *)arg;
	return true;
}

static bool has_woken(void *arg)
{
	++*(unsigned *)arg;
	return false;
}

/* Returns true if a stack has a frame in a section of this program. */
static bool has_code(const struct world *w, uint32_t stack, const char *start, const char *stop)
{
	const struct aif_address_range *range =
		aif_address_map_find(&w->t->ranges, (uintptr_t)start);

	assert_non_null(range);
	for (; stack != AIF_NONE; stack = w->store.p.stacks[stack].parent) {
		const struct aif_frame *f = &w->store.p.frames[w->store.p.stacks[stack].frame];

		if (f->module == range->module && f->address >= (uintptr_t)start - range->base &&
		    f->address < (uintptr_t)stop - range->base)
			return true;
	}
	return false;
}

static void the_function_that_sleeps_is_on_the_stack(void **state)
{
	struct aif_asleep *a = aif_asleep_new(getpid(), true);
	struct aif_sleep_call call;
	struct aif_asleep_thread thread = {.call = &call};
	unsigned asked = 0;
	pthread_t other;
	uint32_t stack;
	struct world *w = *state;
	char byte = 1, copy = 0;
	struct iovec from = {&byte, 1}, to = {&copy, 1};

	/* Under qemu-user, which cannot read memory of processes, the kernel knows its threads' calls and not the program's. */
	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1)
		skip();
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(pthread_create(&other, NULL, sleep_in_read, NULL), 0);
	read_call(&call);
	assert_true(call.sp && call.pc);
	thread.tid = sleeper;
	if (!a) { /* such a machine */
		assert_int_equal(write(pipes[1], "x", 1), 1);
		pthread_join(other, NULL);
		skip();
	}
	/* Stacks of threads that run again are not kept. */
	stack = aif_asleep_stack(a, &w->d, w->t, &thread, &thread.tid, 1, has_woken, &asked);
	assert_int_equal(stack, AIF_NONE);
	assert_int_equal(asked, 1);
	stack = aif_asleep_stack(a, &w->d, w->t, &thread, &thread.tid, 1, is_asleep, &asked);
	assert_int_not_equal(stack, AIF_NONE);
	assert_int_equal(asked, 2);
	assert_true(has_code(w, stack, __start_of_wait, __stop_of_wait));
	assert_true(has_code(w, stack, __start_of_thread, __stop_of_thread));
	assert_false(has_code(w, stack, __start_of_others, __stop_of_others));
	/* The same sleep has the same stack. */
	assert_int_equal(
		aif_asleep_stack(a, &w->d, w->t, &thread, &thread.tid, 1, is_asleep, &asked),
		stack);
	/* A stack pointer may lead anywhere. */
	call.sp = 4096;
	call.pc = 1;
	(void)aif_asleep_stack(a, &w->d, w->t, &thread, &thread.tid, 1, is_asleep, &asked);
	call.sp = UINT64_MAX - 64;
	(void)aif_asleep_stack(a, &w->d, w->t, &thread, &thread.tid, 1, is_asleep, &asked);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	pthread_join(other, NULL);
	assert_true(woken);
	aif_asleep_free(a);
	close(pipes[0]);
	close(pipes[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_function_that_sleeps_is_on_the_stack, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
