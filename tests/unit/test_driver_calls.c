/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ebpf_launches.h"
#include "record/ebpf/driver_calls.h"
#include "record/ebpf/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define HOLD AIF_DRIVER_CALLS_HOLD_NS
#define TURN AIF_DRIVER_CALLS_TURN_NS

struct world {
	struct aif_store store;
	struct aif_driver_calls calls;
	struct aif_ebpf_syscalls syscalls;
	uint32_t frames[4], stack;
	bool no_stack; /* of events */
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(aif_store_init(&w->store, 1), 0);
	for (uint32_t i = 0; i < AIF_ARRAY_LEN(w->frames); i++)
		w->frames[i] = aif_store_frame(&w->store, i ? AIF_FRAME_OS : AIF_FRAME_NATIVE,
					       AIF_NONE, 100 + i);
	w->stack = aif_store_stack(&w->store, AIF_NONE, w->frames[0], AIF_STACK_TRUNCATED);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	aif_driver_calls_finish(&w->calls);
	aif_store_finish(&w->store);
	free(w);
	return 0;
}

static void hold(struct world *w, uint64_t launch, uint32_t stack, uint64_t now)
{
	const struct aif_launch_row row = {.launch = launch, .stack = stack};

	assert_true(aif_driver_calls_hold(&w->calls, &row, now));
}

static size_t rows(const struct world *w)
{
	const struct aif_batch *b = w->store.batches.open[AIF_BATCH_LAUNCH];

	return b ? b->len : 0;
}

static const struct aif_launch_row *row(const struct world *w, size_t i)
{
	assert_true(i < rows(w));
	return &w->store.batches.open[AIF_BATCH_LAUNCH]->launches[i];
}

static void test_a_stack_goes_on(void **state)
{
	struct world *w = *state;
	const struct aif_profile *p = &w->store.p;
	uint32_t s;

	hold(w, 7, w->stack, 1000);
	hold(w, 8, w->stack, 1000);
	hold(w, 9, AIF_NONE, 1000); /* without a stack it gets none */
	aif_driver_calls_add(&w->calls, 7, &w->frames[1], 3);
	aif_driver_calls_add(&w->calls, 7, &w->frames[1], 2); /* the last of two counts */
	aif_driver_calls_add(&w->calls, 9, &w->frames[1], 2);
	aif_driver_calls_release(&w->calls, &w->store,
				 999); /* the turn began before the row came */
	aif_driver_calls_release(&w->calls, &w->store, 1000 + HOLD - 1);
	assert_int_equal(rows(w), 0);
	aif_driver_calls_release(&w->calls, &w->store, 1000 + HOLD);
	assert_int_equal(rows(w), 3);
	s = row(w, 0)->stack;
	assert_int_equal(p->stacks[s].frame, w->frames[2]);
	assert_int_equal(p->stacks[s].depth, 3);
	/* Flags hold for the whole stack. */
	assert_int_equal(p->stacks[s].flags, AIF_STACK_TRUNCATED);
	s = p->stacks[s].parent;
	assert_int_equal(p->stacks[s].frame, w->frames[1]);
	assert_int_equal(p->stacks[s].flags, 0);
	assert_int_equal(p->stacks[s].parent, w->stack);
	assert_int_equal(row(w, 1)->stack, w->stack);
	assert_int_equal(row(w, 2)->stack, AIF_NONE);
}

/* Rings are read one after the other: the event may be seen before the record. */
static void test_an_event_may_be_early(void **state)
{
	struct world *w = *state;

	aif_driver_calls_release(&w->calls, &w->store, TURN);
	aif_driver_calls_add(&w->calls, 7, &w->frames[1], 1);
	aif_driver_calls_release(&w->calls, &w->store, 2 * TURN - 1);
	aif_driver_calls_release(&w->calls, &w->store, 2 * TURN);
	hold(w, 7, w->stack, 2 * TURN);
	aif_driver_calls_release(&w->calls, &w->store, 3 * TURN - 1);
	assert_int_not_equal(row(w, 0)->stack, w->stack);
	/* Events are not kept for ever. */
	aif_driver_calls_release(&w->calls, &w->store, 3 * TURN);
	hold(w, 7, w->stack, 3 * TURN);
	aif_driver_calls_release(&w->calls, &w->store, UINT64_MAX);
	assert_int_equal(row(w, 1)->stack, w->stack);
}

static void test_rows_keep_their_order(void **state)
{
	struct world *w = *state;

	for (uint64_t i = 0; i < 5000; i++) {
		hold(w, i, w->stack, i);
		if (i % 3 == 0 && i > 700) /* the ring wraps as it grows */
			aif_driver_calls_release(&w->calls, &w->store, i + HOLD - 700);
	}
	aif_driver_calls_release(&w->calls, &w->store, UINT64_MAX);
	assert_int_equal(rows(w), 5000);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(row(w, i)->launch, i);
}

static void test_too_many_ways_are_refused(void **state)
{
	struct world *w = *state;

	for (uint32_t i = 0; i < AIF_DRIVER_CALLS_PATHS; i++)
		assert_true(aif_driver_calls_add(&w->calls, i, &i, 1));
	assert_false(aif_driver_calls_add(&w->calls, 1, (uint32_t[]){1, 2}, 2));
	/* A way that is known is still noted. */
	assert_true(aif_driver_calls_add(&w->calls, 2, (uint32_t[]){1}, 1));
}

static void test_too_many_rows_do_not_wait(void **state)
{
	struct world *w = *state;

	for (uint64_t i = 0; i <= AIF_DRIVER_CALLS_HELD; i++)
		hold(w, i, w->stack, 0);
	aif_driver_calls_release(&w->calls, &w->store, 1);
	assert_int_equal(w->calls.len, AIF_DRIVER_CALLS_HELD);
	assert_int_equal(rows(w), 1);
}

/* An event of the process's, with the BPF program's own frames on top. */
static uint32_t entered(struct world *w, uint32_t kind, uint64_t probed, uint64_t function)
{
	static const uint64_t kernel[] = {0xffffffffc0000010, 0xffffffffc0000110,
					  0xffffffff81ab0009, 0xffffffff816f0040,
					  0xffffffff81200050};
	const uint64_t user[] = {0x1234};
	uint32_t libc = aif_store_module(&w->store, AIF_MODULE_ELF, "/libc.so.6", 10, NULL, 0);
	const struct aif_address_range range = {
		.lo = 0x1000, .hi = 0x2000, .base = 0x1000, .module = libc};
	struct aif_shm shm = {.magic = 0};
	struct aif_target t = {.pid = 5000001, .shm = &shm, .process = 3};
	struct aif_drainer d = {.store = &w->store, .targets = &t};
	const struct aif_ebpf_read r = {
		.e = {.kind = kind,
		      .pid = 5000001,
		      .launch = 7,
		      .probed = probed,
		      .caller = function,
		      .user_len = 1,
		      .kernel_len = w->no_stack ? 0 : AIF_ARRAY_LEN(kernel)},
		.user = user,
		.kernel = kernel};
	uint64_t launch = aif_target_launch(&t, 7);

	aif_address_map_add(&t.ranges, &range);
	aif_ebpf_row_driver(&d, &w->calls, &w->syscalls, &r);
	free(t.ranges.at);
	hold(w, launch, w->stack, 0);
	aif_driver_calls_release(&w->calls, &w->store, UINT64_MAX);
	return row(w, rows(w) - 1)->stack;
}

static void test_frames_of_a_driver(void **state)
{
	struct world *w = *state;
	const struct aif_profile *p = &w->store.p;
	/* Innermost first; callers are points inside of the call. */
	static const uint64_t instead[] = {0xffff81d80000, 0xffff816f003f, 0xffff8120004f, 0x234},
			      below[] = {0xffff81d80000, 0xffff81ab0008, 0xffff816f003f,
					 0xffff8120004f, 0x234};
	uint32_t s = entered(w, AIF_EBPF_DRIVER_INSTEAD, 0xffffffff81ab0000, 0xffffffff81d80000);

	for (size_t i = 0; i < AIF_ARRAY_LEN(instead); i++, s = p->stacks[s].parent)
		assert_int_equal(p->frames[p->stacks[s].frame].address, instead[i]);
	assert_int_equal(s, w->stack);
	s = entered(w, AIF_EBPF_DRIVER_BELOW, 0xffffffff81ab0000, 0xffffffff81d80000);
	for (size_t i = 0; i < AIF_ARRAY_LEN(below); i++, s = p->stacks[s].parent)
		assert_int_equal(p->frames[p->stacks[s].frame].address, below[i]);
	assert_int_equal(s, w->stack);
}

static void test_frames_of_a_system_call(void **state)
{
	static const char *const lines[] = {
		"ffffffff81200000 T do_syscall_64", "ffffffff81200100 T after",
		"ffffffff81ab0000 T syscall_trace_enter", "ffffffff816f0000 T __x64_sys_ioctl",
		"ffffffff82000000 T _etext"};
	static const uint64_t wanted[] = {0xffff81d80000, 0xffff816f0000, 0xffff8120004f, 0x234};
	struct world *w = *state;
	const struct aif_profile *p = &w->store.p;
	struct aif_kallsyms k = {0};
	uint32_t s, whole;

	/* Not known. */
	assert_int_equal(entered(w, AIF_EBPF_DRIVER_SYSCALL, 0, 0xffffffff81d80000), w->stack);
	for (size_t i = 0; i < AIF_ARRAY_LEN(lines); i++)
		aif_kallsyms_line(&k, lines[i]);
	aif_kallsyms_seal(&k);
	aif_ebpf_syscalls_find(&k, &w->syscalls);
	aif_kallsyms_finish(&k);
	assert_int_equal(w->syscalls.len, 1);
	whole = s = entered(w, AIF_EBPF_DRIVER_SYSCALL, 0, 0xffffffff81d80000);
	/* Loops and blame compare the rest. */
	assert_int_equal(aif_stack_of_call(p, whole), w->stack);
	assert_int_equal(aif_stack_of_call(p, w->stack), w->stack);
	assert_int_equal(aif_stack_of_call(p, AIF_NONE), AIF_NONE);
	for (size_t i = 0; i < AIF_ARRAY_LEN(wanted); i++, s = p->stacks[s].parent)
		assert_int_equal(p->frames[p->stacks[s].frame].address, wanted[i]);
	assert_int_equal(s, w->stack);
	/* An event without a stack: that of the others. */
	w->no_stack = true;
	assert_int_equal(entered(w, AIF_EBPF_DRIVER_SYSCALL, 0, 0xffffffff81d80000), whole);
}

static void test_frames_that_cannot_be_told(void **state)
{
	struct world *w = *state;

	assert_int_equal(entered(w, AIF_EBPF_DRIVER_BELOW, 0xffffffff81ab1000, 0xffffffff81d80000),
			 w->stack);
	assert_int_equal(entered(w, AIF_EBPF_DRIVER_BELOW, 0xffffffff81ab0000, 0), w->stack);
}

int main(void)
{
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		IN_WORLD(test_a_stack_goes_on),           IN_WORLD(test_an_event_may_be_early),
		IN_WORLD(test_rows_keep_their_order),     IN_WORLD(test_too_many_ways_are_refused),
		IN_WORLD(test_too_many_rows_do_not_wait), IN_WORLD(test_frames_of_a_driver),
		IN_WORLD(test_frames_of_a_system_call),   IN_WORLD(test_frames_that_cannot_be_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
