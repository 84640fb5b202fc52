/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what the recorder's looks from outside say of a device's idle time. */
#include "fixture_idle_blame.h"

#include "analysis/cpu_totals.h"
#include "analysis/run_delay.h"

/* Adds a stack that is one mark. */
static uint32_t seen(struct ops_fixture *f, const char *text)
{
	FIXTURE_ADD(&f->made, frames, .kind = AIF_FRAME_MARK, .module = AIF_NONE,
		    .address = ops_string(f, text));
	FIXTURE_ADD(&f->made, stacks, .parent = AIF_NONE, .frame = (uint32_t)f->made.frames_len - 1,
		    .depth = 1, .flags = AIF_STACK_FRAME_POINTERS);
	return (uint32_t)f->made.stacks_len - 1;
}

/* Adds a stack that ends in the mark of another one. */
static uint32_t seen_in(struct ops_fixture *f, uint32_t mark, uint32_t parent)
{
	FIXTURE_ADD(&f->made, stacks, .parent = parent, .frame = f->made.stacks[mark].frame,
		    .depth = f->made.stacks[parent].depth + 1);
	return (uint32_t)f->made.stacks_len - 1;
}

/* A gap from 10 to 50 ms, of which 30 were seen in one sleep. Returns ns of the cause at the place between the launches. */
static uint64_t of_gap(const char *text, enum aif_idle_cause cause, bool is_server)
{
	struct aif_idle_blame b;
	struct ops_fixture f;
	uint64_t ns;
	uint32_t stack;

	begin(&f);
	stack = seen(&f, text);
	kernel(&f, 0, 0, 10 * MS, LAUNCH_A);
	cpu(&f, 0, 1 * MS, MS, 0, COMPUTE);
	off(&f, 15 * MS, 30 * MS, stack);
	if (is_server)
		cpu(&f, 1, 2 * MS, 0, 90 * MS, seen(&f, "[off CPU, seen in epoll_wait]"));
	kernel(&f, 50 * MS, 50 * MS, 60 * MS, LAUNCH_B);
	blame(&f, &b);
	ns = row(&b, cause, FURTHER);
	for (size_t i = 0; ns && i < b.len; i++)
		if (b.rows[i].cause == cause && cause != AIF_IDLE_CAUSE_HOST)
			assert_int_equal(b.rows[i].seen, stack);
	end(&f, &b);
	return ns;
}

static void sleeps_are_what_they_are_in(void **state)
{
	static const struct {
		const char *text;
		bool is_demand, of_server;
	} sleeps[] = {
		{"[off CPU, seen in epoll_wait]", true, true},
		{"[off CPU, seen in accept]", true, true},
		{"[off CPU, seen in recvfrom]", false, true},
		{"[off CPU, seen in poll]", true, true},
		{"[off CPU, seen in poll of a socket]", true, true},
		{"[off CPU, seen in read of a socket]", false, true},
		{"[off CPU, seen in read of a terminal]", true, true},
		/* Workers of a data loader, and other threads, write to these. */
		{"[off CPU, seen in poll of a pipe]", false, false},
		{"[off CPU, seen in read of a pipe]", false, false},
		{"[off CPU, seen in read of an eventfd]", false, true},
		{"[off CPU, seen in futex]", false, true},
		{"[off CPU, seen in read]", false, false},
		{"[off CPU, seen in write of a socket]", false, false},
		{"[off CPU, seen in nanosleep]", false, false},
		{"[off CPU, seen in system call 999]", false, false},
		{"[off CPU, seen in ]", false, false},
		{"[off CPU, seen in", false, false},
		{"[off CPU, seen of a socket]", false, false},
	};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(sleeps); i++) {
		assert_int_equal(of_gap(sleeps[i].text, AIF_IDLE_CAUSE_DEMAND, false),
				 sleeps[i].is_demand ? 30 * MS : 0);
		assert_int_equal(of_gap(sleeps[i].text, AIF_IDLE_CAUSE_OFF_CPU, false),
				 sleeps[i].is_demand ? 0 : 30 * MS);
		assert_int_equal(of_gap(sleeps[i].text, AIF_IDLE_CAUSE_DEMAND, true),
				 sleeps[i].of_server ? 30 * MS : 0);
	}
}

/* Sleeps of 4 ms in gaps of 8, of which only every fifth is looked at: the looks stand for all, where they were. */
static void looks_stand_for_the_time_between_them(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;
	uint32_t stack;

	(void)state;
	begin(&f);
	stack = seen(&f, "[off CPU, seen in accept]");
	kernel(&f, 0, 0, 2 * MS, LAUNCH_A);
	for (uint64_t i = 1; i <= 100; i++) {
		kernel(&f, 10 * i * MS, 10 * i * MS, (10 * i + 2) * MS, LAUNCH_A);
		if (i % 5 == 0)
			cpu(&f, 0, (10 * i - 3) * MS, 0, 20 * MS, stack);
	}
	/* While the device works, a look says nothing. */
	cpu(&f, 0, 11 * MS, 0, 20 * MS, stack);
	blame(&f, &b);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_DEMAND], 20 * 20 * MS);
	end(&f, &b);
}

/* The thread may have been on a CPU in the rest: looks are none of the times that are known one by one. */
static void the_rest_is_not_taken_for_computing(void **state)
{
	(void)state;
	assert_int_equal(of_gap("[off CPU, seen in accept]", AIF_IDLE_CAUSE_CPU, false), 0);
	assert_int_equal(of_gap("[off CPU, seen in accept]", AIF_IDLE_CAUSE_HOST, false), 10 * MS);
}

/* A gap of 100 ms, of which looks saw 10 in a sleep with a stack and 20 in one without: the line that sleeps has it all, also where
 * the thread woke up before its descriptor was read. In another call, or of another descriptor, they are two sleeps, and the rest is
 * divided. */
static void a_sleep_that_was_seen_once_has_its_line(void **state)
{
	static const struct {
		const char *call, *other;
		uint64_t with, without;
	} cases[] = {{"[off CPU, seen in nanosleep]", NULL, 100 * MS, 0},
		     {"[off CPU, seen in nanosleep]", "[off CPU, seen in fsync]", 100 * MS / 3,
		      100 * MS - 100 * MS / 3},
		     {"[off CPU, seen in poll of a pipe]", "[off CPU, seen in poll]", 100 * MS, 0},
		     {"[off CPU, seen in poll of a pipe]", "[off CPU, seen in poll of an eventfd]",
		      100 * MS / 3, 100 * MS - 100 * MS / 3}};

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(cases); i++) {
		struct aif_idle_blame b;
		struct ops_fixture f;
		uint32_t with, without;
		uint64_t at_line, before;

		begin(&f);
		without = seen(&f, cases[i].call);
		with = seen_in(&f, without, COMPUTE);
		without = cases[i].other ? seen(&f, cases[i].other) : without;
		kernel(&f, 0, 0, 10 * MS, LAUNCH_A);
		cpu(&f, 0, 1 * MS, MS, 0, LAUNCH_A);
		cpu(&f, 0, 30 * MS, 0, 10 * MS, with);
		cpu(&f, 0, 50 * MS, 0, 20 * MS, without);
		kernel(&f, 110 * MS, 110 * MS, 120 * MS, LAUNCH_B);
		blame(&f, &b);
		at_line = row(&b, AIF_IDLE_CAUSE_OFF_CPU, with);
		before = row(&b, AIF_IDLE_CAUSE_OFF_CPU, FURTHER);
		assert_in_range(at_line, cases[i].with - US, cases[i].with + US);
		assert_in_range(before, cases[i].without - AIF_MIN(cases[i].without, US),
				cases[i].without + US);
		end(&f, &b);
	}
}

/* Returns the time that is blamed on a stack of another thread, which computed in `ns` of a sleep of 30 ms. */
static uint64_t of_other(const char *text, uint64_t ns, enum aif_idle_cause cause, uint32_t place)
{
	struct aif_idle_blame b;
	struct ops_fixture f;
	uint64_t got;

	begin(&f);
	kernel(&f, 0, 0, 10 * MS, LAUNCH_A);
	off(&f, 15 * MS, 30 * MS, seen(&f, text));
	for (uint64_t at = 16 * MS; ns && at < 16 * MS + ns; at += 5 * MS)
		cpu(&f, 1, at, 5 * MS, 0, COMPUTE);
	/* A runtime's own threads do the device's work. */
	cpu(&f, 1, 20 * MS, 5 * MS, 0, CUDA);
	kernel(&f, 50 * MS, 50 * MS, 60 * MS, LAUNCH_B);
	blame(&f, &b);
	got = row(&b, cause, place);
	end(&f, &b);
	return got;
}

static void who_lets_a_thread_wait_owns_that(void **state)
{
	static const char gil[] = "[off CPU, seen in futex of Python's GIL]";
	static const char futex[] = "[off CPU, seen in futex]";

	(void)state;
	/* Somebody has the lock, as few samples as there are. */
	assert_int_equal(of_other(gil, 5 * MS, AIF_IDLE_CAUSE_GIL, COMPUTE), 30 * MS);
	assert_int_equal(of_other(gil, 0, AIF_IDLE_CAUSE_GIL, FURTHER), 30 * MS);
	/* A queue between threads: the other one has as much as it computed. */
	assert_int_equal(of_other(futex, 15 * MS, AIF_IDLE_CAUSE_OFF_CPU, COMPUTE), 15 * MS);
	assert_int_equal(of_other(futex, 15 * MS, AIF_IDLE_CAUSE_OFF_CPU, FURTHER), 15 * MS);
	/* A thread that computes for most of the time has all of it. */
	assert_int_equal(of_other(futex, 20 * MS, AIF_IDLE_CAUSE_OFF_CPU, COMPUTE), 30 * MS);
	assert_int_equal(of_other(futex, 20 * MS, AIF_IDLE_CAUSE_OFF_CPU, FURTHER), 0);
	assert_int_equal(
		of_other("[off CPU, seen in nanosleep]", 15 * MS, AIF_IDLE_CAUSE_OFF_CPU, COMPUTE),
		0);
}

/* A gap of 100 ms, of which looks saw 10 in a wait for the interpreter lock: so is what they missed. */
static void waits_for_the_gil_that_were_missed_are_its_holders(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	kernel(&f, 0, 0, 10 * MS, LAUNCH_A);
	cpu(&f, 0, 1 * MS, MS, 0, LAUNCH_A);
	cpu(&f, 0, 30 * MS, 0, 10 * MS, seen(&f, "[off CPU, seen in futex of Python's GIL]"));
	cpu(&f, 1, 40 * MS, PERIOD, 0, COMPUTE);
	kernel(&f, 110 * MS, 110 * MS, 120 * MS, LAUNCH_B);
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_GIL, COMPUTE), 100 * MS);
	end(&f, &b);
}

/* Waits for a CPU are of what was seen in their gap, not of what was in others between the same launches. */
static void waits_for_a_cpu_stay_in_their_gap(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;
	uint32_t runnable, asleep;

	(void)state;
	begin(&f);
	runnable = seen(&f, AIF_OFF_CPU_SEEN_RUNNABLE);
	asleep = seen(&f, "[off CPU, seen in futex]");
	kernel(&f, 0, 0, 10 * MS, LAUNCH_A);
	/* Sampled twice, and waits. */
	cpu(&f, 0, 15 * MS, 0, 12 * MS, runnable);
	cpu(&f, 0, 30 * MS, PERIOD, 0, COMPUTE);
	cpu(&f, 0, 40 * MS, PERIOD, 0, COMPUTE);
	kernel(&f, 50 * MS, 50 * MS, 60 * MS, LAUNCH_A);
	/* Sampled once, and waits for nothing. */
	cpu(&f, 0, 75 * MS, PERIOD, 0, LAUNCH_B);
	kernel(&f, 80 * MS, 80 * MS, 90 * MS, LAUNCH_A);
	/* Not sampled: as a gap that is. */
	cpu(&f, 0, 92 * MS, 0, 3 * MS, runnable);
	kernel(&f, 96 * MS, 96 * MS, 100 * MS, LAUNCH_A);
	/* Asleep, and waits for a CPU when it is woken. */
	cpu(&f, 0, 105 * MS, 0, 4 * MS, asleep);
	cpu(&f, 0, 110 * MS, 0, 5 * MS, runnable);
	kernel(&f, 120 * MS, 120 * MS, 130 * MS, LAUNCH_A);
	blame(&f, &b);
	assert_in_range(b.of_cause[AIF_IDLE_CAUSE_NO_CPU], 20 * MS - 1, 20 * MS);
	/* Gives most of the 3 ms to the gap with one sample. */
	assert_in_range(row(&b, AIF_IDLE_CAUSE_NO_CPU, COMPUTE), 12 * MS, 13 * MS);
	assert_in_range(row(&b, AIF_IDLE_CAUSE_NO_CPU, LAUNCH_B), 2 * MS, 3 * MS);
	end(&f, &b);
}

/* Waits for a CPU are a cause of their own, whatever the thread did when it lost it. */
static void a_thread_without_a_cpu_is_no_programs_fault(void **state)
{
	static const bool threads[2][16] = {{[0] = true}, {[1] = true}}, none[16];
	const struct aif_selection first = {.threads = threads[0]}, other = {.threads = threads[1]},
				   no_process = {.processes = none};
	struct aif_idle_blame b;
	struct aif_run_delay d;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	kernel(&f, 0, 0, 10 * MS, LAUNCH_A);
	cpu(&f, 0, 15 * MS, 0, 12 * MS, seen(&f, AIF_OFF_CPU_SEEN_RUNNABLE));
	cpu(&f, 0, 30 * MS, 0, 8 * MS, RUNNABLE_ACCEPT);
	cpu(&f, 0, 40 * MS, PERIOD, 0, COMPUTE);
	/* Another thread's time is not that of those that waited. */
	cpu(&f, 1, 40 * MS, 90 * MS, 0, COMPUTE);
	kernel(&f, 50 * MS, 50 * MS, 60 * MS, LAUNCH_B);
	blame(&f, &b);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_NO_CPU], 20 * MS);
	/* Blames the stack that computed: the thread lost its CPU there. */
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_NO_CPU, COMPUTE), 12 * MS);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_OFF_CPU], 0);
	assert_int_equal(aif_run_delay_measure(&f.p, NULL, 0, 100 * MS, &d), 0);
	assert_int_equal(d.waited_ns, 20 * MS);
	assert_int_equal(d.ran_ns, PERIOD);
	assert_int_equal(d.threads, 1);
	assert_true(aif_run_delay_is_busy(&d, 100 * MS));
	assert_true(aif_run_delay_is_busy(&d, 2000 * MS));
	assert_false(aif_run_delay_is_busy(&d, 2001 * MS));
	/* Cut to a part of the time. */
	assert_int_equal(aif_run_delay_measure(&f.p, NULL, 20 * MS, 35 * MS, &d), 0);
	assert_int_equal(d.waited_ns, 12 * MS);
	assert_int_equal(d.ran_ns, 0);
	assert_int_equal(d.threads, 1);
	assert_int_equal(aif_run_delay_measure(&f.p, NULL, 60 * MS, 100 * MS, &d), 0);
	assert_int_equal(d.waited_ns, 0);
	assert_int_equal(d.threads, 0);
	assert_false(aif_run_delay_is_busy(&d, 40 * MS));
	/* Keeps those of one thread or process. */
	assert_int_equal(aif_run_delay_measure(&f.p, &first, 0, 100 * MS, &d), 0);
	assert_int_equal(d.waited_ns, 20 * MS);
	assert_int_equal(aif_run_delay_measure(&f.p, &other, 0, 100 * MS, &d), 0);
	assert_int_equal(d.waited_ns, 0);
	assert_int_equal(d.threads, 0);
	assert_int_equal(aif_run_delay_measure(&f.p, &no_process, 0, 100 * MS, &d), 0);
	assert_int_equal(d.waited_ns, 0);
	end(&f, &b);
}

static void views_of_stacks_leave_looks_out(void **state)
{
	struct aif_cpu_totals totals;
	struct aif_err err = {0};
	struct ops_fixture f;

	(void)state;
	begin(&f);
	off(&f, 15 * MS, 30 * MS, seen(&f, "[off CPU, seen in accept]"));
	off(&f, 15 * MS, 20 * MS, OFF);
	ops_read(&f);
	assert_ok(aif_cpu_totals(&f.p, NULL, &totals, &err), &err);
	assert_int_equal(totals.off_cpu_ns, 20 * MS);
	assert_int_equal(totals.stacks_len, 1);
	aif_cpu_totals_finish(&totals);
	ops_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleeps_are_what_they_are_in),
		cmocka_unit_test(a_sleep_that_was_seen_once_has_its_line),
		cmocka_unit_test(looks_stand_for_the_time_between_them),
		cmocka_unit_test(the_rest_is_not_taken_for_computing),
		cmocka_unit_test(a_thread_without_a_cpu_is_no_programs_fault),
		cmocka_unit_test(waits_for_a_cpu_stay_in_their_gap),
		cmocka_unit_test(who_lets_a_thread_wait_owns_that),
		cmocka_unit_test(waits_for_the_gil_that_were_missed_are_its_holders),
		cmocka_unit_test(views_of_stacks_leave_looks_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
