/* SPDX-License-Identifier: Apache-2.0 */
/* Tests who is said to have ended sleeps of a launching thread. */
#include "fixture_idle_blame.h"

enum { T, U, V }; /* threads */

static uint32_t stack_on(struct ops_fixture *f, uint32_t parent, uint32_t kind, const char *name)
{
	uint32_t frame = (uint32_t)f->made.frames_len;
	bool is_mark = kind == AIF_FRAME_MARK;

	FIXTURE_ADD(&f->made, frames, .kind = kind, .module = is_mark ? AIF_NONE : 0,
		    .address = is_mark ? ops_string(f, name) : 16 * frame);
	if (!is_mark && name)
		FIXTURE_ADD(&f->made, frame_names, .frame = frame, .inline_depth = 0,
			    .name = ops_string(f, name), .file = AIF_NONE, .line = 0);
	FIXTURE_ADD(&f->made, stacks, .parent = parent, .frame = frame,
		    .depth = parent == AIF_NONE ? 1 : f->made.stacks[parent].depth + 1);
	return (uint32_t)f->made.stacks_len - 1;
}

/* A stack of the OS kernel on another: the outer function of it, or none, and the inner one. */
static uint32_t in_os(struct ops_fixture *f, uint32_t on, const char *outer, const char *inner)
{
	uint32_t s = outer ? stack_on(f, on, AIF_FRAME_OS, outer) : on;

	return stack_on(f, s, AIF_FRAME_OS, inner);
}

static void add_sleep(struct ops_fixture *f, uint32_t thread, uint64_t from, uint64_t to,
		      uint32_t stack, uint32_t waker_thread, uint32_t waker)
{
	cpu_row(f, &(struct aif_cpu_row){.time = from,
					 .waiting = to - from,
					 .thread = thread,
					 .stack = stack,
					 .is_whole = 1,
					 .waker_thread = waker_thread + 1,
					 .waker = waker + 1});
}

/* A gap from 10 to 100 ms, which T ends. */
static void begin_gap(struct ops_fixture *f)
{
	begin(f);
	kernel(f, 0, 0, 10 * MS, LAUNCH_A);
}

/* Returns the wakes of the row of T's sleep in OFF, and asserts that there are `n`. */
static struct aif_idle_wake wake_of(struct ops_fixture *f, struct aif_idle_blame *b, size_t n)
{
	const struct aif_idle_wake *w = NULL;
	size_t found = 0;

	kernel(f, 100 * MS, 100 * MS, 110 * MS, LAUNCH_B);
	blame(f, b);
	for (size_t i = 0; i < b->len; i++)
		if (b->rows[i].cause == AIF_IDLE_CAUSE_OFF_CPU && b->rows[i].stack == OFF)
			w = aif_idle_wakes_of(b, &b->rows[i], &found);
	assert_int_equal(found, n);
	return n ? *w : (struct aif_idle_wake){0};
}

static void a_thread_and_what_it_did_meanwhile(void **state)
{
	struct aif_idle_wake w;
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	for (int with_samples = 0; with_samples <= 1; with_samples++) {
		uint32_t waker;

		begin_gap(&f);
		waker = in_os(&f, SYNC, "futex_wake", "try_to_wake_up");
		add_sleep(&f, T, 40 * MS, 70 * MS, OFF, U, waker);
		for (uint64_t i = 1; with_samples && i <= 2; i++)
			cpu(&f, U, (40 + 10 * i) * MS, PERIOD, 0, COMPUTE);
		cpu(&f, U, 20 * MS, 9 * PERIOD, 0, COMPILE); /* not meanwhile */
		w = wake_of(&f, &b, 1);
		assert_int_equal(w.kind, AIF_IDLE_WAKER_THREAD);
		assert_int_equal(w.thread, U);
		assert_int_equal(w.stack, with_samples ? COMPUTE : waker);
		assert_int_equal(w.is_wake, !with_samples);
		assert_int_equal(w.ns, 30 * MS);
		end(&f, &b);
	}
}

static void time_passes_and_devices_interrupt(void **state)
{
	static const struct {
		const char *outer, *inner;
		enum aif_idle_waker kind;
	} wakers[] = {
		{"asm_sysvec_apic_timer_interrupt", "hrtimer_wakeup", AIF_IDLE_WAKER_TIMER},
		{"handle_softirqs", "process_timeout", AIF_IDLE_WAKER_TIMER},
		{"asm_common_interrupt", "sock_def_readable", AIF_IDLE_WAKER_INTERRUPT},
		{"__x64_sys_futex", "try_to_wake_up", AIF_IDLE_WAKER_THREAD},
		{"__local_bh_enable_ip", "sock_def_readable", AIF_IDLE_WAKER_THREAD},
		/* Without names nobody knows whether it was an interrupt. */
		{NULL, NULL, AIF_IDLE_WAKER_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(wakers); i++) {
		struct aif_idle_wake w;
		struct aif_idle_blame b;
		struct ops_fixture f;

		begin_gap(&f);
		add_sleep(&f, T, 40 * MS, 70 * MS, OFF, U,
			  in_os(&f, SYNC, wakers[i].outer, wakers[i].inner));
		w = wake_of(&f, &b, wakers[i].kind != AIF_IDLE_WAKER_UNKNOWN);
		assert_int_equal(w.kind, wakers[i].kind);
		if (wakers[i].kind > AIF_IDLE_WAKER_THREAD)
			assert_int_equal(w.thread, AIF_NONE);
		end(&f, &b);
	}
}

static void other_processes_have_a_name(void **state)
{
	struct aif_idle_wake w;
	struct aif_idle_blame b;
	struct aif_buf text = {0};
	struct ops_fixture f;

	(void)state;
	begin_gap(&f);
	add_sleep(&f, T, 40 * MS, 70 * MS, OFF, AIF_NONE,
		  in_os(&f, stack_on(&f, AIF_NONE, AIF_FRAME_MARK, "client"), NULL,
			"try_to_wake_up"));
	w = wake_of(&f, &b, 1);
	assert_int_equal(w.kind, AIF_IDLE_WAKER_FOREIGN);
	aif_idle_waker_say(&f.p, &w, &text);
	assert_string_equal(aif_buf_str(&text), "client");
	aif_buf_finish(&text);
	end(&f, &b);
}

/* U slept for most of T's time until V woke it: T waited for V. Not so if U slept for less than half of it. */
static void who_slept_itself_waited_for_another(void **state)
{
	(void)state;
	for (uint64_t from = 42; from <= 60; from += 18) {
		struct aif_idle_wake w;
		struct aif_idle_blame b;
		struct ops_fixture f;
		uint32_t waker;

		begin_gap(&f);
		waker = in_os(&f, SYNC, "futex_wake", "try_to_wake_up");
		add_sleep(&f, T, 40 * MS, 70 * MS, OFF, U, waker);
		add_sleep(&f, U, from * MS, 69 * MS, OFF_COND, V, waker);
		cpu(&f, V, 60 * MS, PERIOD, 0, COMPUTE);
		w = wake_of(&f, &b, 1);
		assert_int_equal(w.thread, from == 42 ? V : U);
		assert_int_equal(w.stack, from == 42 ? COMPUTE : OFF_COND);
		end(&f, &b);
	}
}

/* A thread that waits for a lock for 5 ms at a time. */
static void waits_with_a_limit_are_one(void **state)
{
	struct aif_idle_wake w;
	struct aif_idle_blame b;
	struct ops_fixture f;
	uint32_t timer;

	(void)state;
	begin_gap(&f);
	timer = in_os(&f, AIF_NONE, NULL, "hrtimer_wakeup");
	for (uint64_t at = 40; at < 65; at += 5)
		add_sleep(&f, T, at * MS, (at + 5) * MS - 50 * US, OFF, AIF_NONE, timer);
	add_sleep(&f, T, 65 * MS, 69 * MS, OFF, U, in_os(&f, SYNC, "futex_wake", "try_to_wake_up"));
	cpu(&f, U, 60 * MS, PERIOD, 0, COMPUTE);
	w = wake_of(&f, &b, 1);
	assert_int_equal(w.kind, AIF_IDLE_WAKER_THREAD);
	assert_int_equal(w.thread, U);
	assert_int_equal(w.ns, 29 * MS - 5 * 50 * US);
	end(&f, &b);
}

/* Two threads that wake each other, and a thread that wakes itself, end. */
static void threads_that_wake_each_other_end_the_search(void **state)
{
	(void)state;
	for (uint32_t to = T; to <= U; to++) {
		struct aif_idle_wake w;
		struct aif_idle_blame b;
		struct ops_fixture f;
		uint32_t waker;

		begin_gap(&f);
		waker = in_os(&f, SYNC, "futex_wake", "try_to_wake_up");
		for (int i = 0; i < 100; i++) {
			add_sleep(&f, T, 40 * MS, 70 * MS, OFF, to, waker);
			add_sleep(&f, U, 40 * MS, 70 * MS, OFF, T, waker);
		}
		w = wake_of(&f, &b, 1);
		assert_int_equal(w.thread, to);
		end(&f, &b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_and_what_it_did_meanwhile),
		cmocka_unit_test(time_passes_and_devices_interrupt),
		cmocka_unit_test(other_processes_have_a_name),
		cmocka_unit_test(who_slept_itself_waited_for_another),
		cmocka_unit_test(waits_with_a_limit_are_one),
		cmocka_unit_test(threads_that_wake_each_other_end_the_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
