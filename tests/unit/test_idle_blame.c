/* SPDX-License-Identifier: Apache-2.0 */
/* Tests who is blamed for a device's idle time: each gap belongs to the thread that launched what ended it. */
#include "fixture_idle_blame.h"

/* Two processes, whose gaps differ: shares are not rounded across devices. */
static void each_device_has_its_own_causes(void **state)
{
	struct aif_buf said = {0};
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	for (uint64_t i = 0; i < 20; i++) {
		kernel(&f, i * 1000, i * 1000 + 10, i * 1000 + 107 + i, LAUNCH_A);
		ops_exec(&f, 2, i * 3331, 2, i * 3331 + 100, i * 3331 + 1001 + 7 * i, "k");
	}
	blame(&f, &b);
	assert_int_equal(b.devices_len, 2);
	assert_int_not_equal(b.devices[0].idle_ns, b.devices[1].idle_ns);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(b.devices[i].of_cause[AIF_IDLE_CAUSE_LAUNCH] +
					 b.devices[i].of_cause[AIF_IDLE_CAUSE_HOST],
				 b.devices[i].idle_ns);
	/* The check sees what moves from one device to the other. */
	b.rows[0].ns--;
	b.rows[b.len - 1].ns++;
	assert_int_not_equal(b.rows[0].device, b.rows[b.len - 1].device);
	assert_false(aif_idle_blame_check(&b, &said));
	assert_non_null(strstr(aif_buf_str(&said), "on the left"));
	aif_buf_finish(&said);
	end(&f, &b);
}

static void a_gap_is_split_at_its_launch_call(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	kernel(&f, 0, 10 * US, 100 * US, LAUNCH_A);
	kernel(&f, 160 * US, 165 * US, 200 * US, LAUNCH_B); /* 60 us before the call, 5 us behind */
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_LAUNCH, LAUNCH_B), 5 * US);
	/* From the one to the other it went on in main. */
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_HOST, FURTHER), 60 * US);
	assert_int_equal(b.gaps, 1);
	assert_int_equal(b.rows[0].thread, 0);
	end(&f, &b);
}

/* Back from the second place to the first: round a loop, which may be in main or outside of it. */
static void a_loop_that_is_not_known_is_not_blamed(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	kernel(&f, 0, 10 * US, 100 * US, LAUNCH_B);
	kernel(&f, 160 * US, 160 * US, 200 * US, LAUNCH_A);
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_HOST, LAUNCH_A), 60 * US);
	assert_true(b.rows[0].is_before);
	end(&f, &b);
}

static void what_was_launched_before_is_late(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	kernel(&f, 0, 10 * US, 100 * US, LAUNCH_A);
	kernel(&f, 20 * US, 110 * US, 200 * US, LAUNCH_B); /* 10 us: what starting a kernel costs */
	kernel(&f, 30 * US, 300 * US, 400 * US, LAUNCH_A); /* 100 us: something held it up */
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_LAUNCH, LAUNCH_B), 10 * US);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_LATE, LAUNCH_A), 100 * US);
	end(&f, &b);
}

/* Loads code in a launch call for 7 ms, behind which the device is late for 1: a trace has the end of the call. */
static void a_launch_call_that_lasts_is_no_late_start(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	for (int is_imported = 0; is_imported < 2; is_imported++) {
		begin(&f);
		if (is_imported)
			FIXTURE_ADD(&f.made, meta, .key = ops_string(&f, "imported"),
				    .value = ops_string(&f, "kineto"));
		kernel(&f, 0, 0, 1 * MS, LAUNCH_A);
		ops_add_row(&f, (struct aif_op_row){.start = 2 * MS,
						    .end = 9 * MS,
						    .clock = AIF_CLOCK_MONOTONIC,
						    .name = ops_string(&f, "hipLaunchKernel"),
						    .kind = AIF_OP_RUNTIME,
						    .shapes = AIF_NONE,
						    .types = AIF_NONE,
						    .stack = AIF_NONE,
						    .sequence = -1});
		kernel(&f, 2 * MS, 10 * MS, 11 * MS, LAUNCH_B);
		blame(&f, &b);
		assert_int_equal(row(&b, AIF_IDLE_CAUSE_LAUNCH, LAUNCH_B),
				 is_imported ? 7 * MS : 0);
		assert_int_equal(row(&b, AIF_IDLE_CAUSE_LATE, LAUNCH_B),
				 is_imported ? 1 * MS : 8 * MS);
		end(&f, &b);
	}
}

/* 200 steps with a gap of 1 ms, in which main computes: each tenth has a sample that weighs 10 ms. */
static void samples_of_like_gaps_are_added_up(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	for (uint64_t i = 0; i < 200; i++) {
		uint64_t at = i * 2 * MS;

		kernel(&f, at + MS, at + MS, at + 2 * MS, LAUNCH_A);
		if (i % 10 == 5)
			cpu(&f, 0, at + MS / 2, PERIOD, 0, COMPUTE);
		cpu(&f, 1, at + MS / 2, PERIOD, 0,
		    COMPILE); /* another thread's, which launches nothing */
	}
	blame(&f, &b);
	assert_int_equal(b.idle_ns, 199 * MS);
	/* 20 samples say 200 ms of the 199. */
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_CPU, COMPUTE), 199 * MS);
	assert_int_equal(b.rows[0].thread, 0);
	end(&f, &b);
}

/* The same with half as many samples: the thread was on a CPU for half of the time. */
static void where_samples_are_missing_it_was_on_no_cpu(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	for (uint64_t i = 0; i < 200; i++) {
		uint64_t at = i * 2 * MS;

		kernel(&f, at + MS, at + MS, at + 2 * MS, LAUNCH_A);
		if (i % 20 == 5)
			cpu(&f, 0, at + MS / 2, PERIOD, 0, COMPUTE);
	}
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_CPU, COMPUTE), 100 * MS);
	/* The loop may be anywhere: the row is of the time before the launch. */
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_OFF_CPU, LAUNCH_A), 99 * MS);
	for (size_t i = 0; i < b.len; i++)
		assert_int_equal(b.rows[i].is_before, b.rows[i].cause == AIF_IDLE_CAUSE_OFF_CPU);
	end(&f, &b);
}

/* The recorder finds the thread after half of the time: that half is shared as the other is, and no sample of it is missing. */
static void before_the_first_sample_none_is_missing(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	for (uint64_t i = 0; i < 200; i++) {
		uint64_t at = i * 2 * MS;

		kernel(&f, at + MS, at + MS, at + 2 * MS, LAUNCH_A);
		if (i >= 100 && i % 10 == 5)
			cpu(&f, 0, at + MS / 2, PERIOD, 0, COMPUTE);
	}
	/* A sum of what was computed until then, which is of no moment. */
	cpu(&f, 0, 205 * MS + MS / 2, 100 * MS, 0, BEFORE);
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_CPU, COMPUTE), 199 * MS);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_CPU], 199 * MS);
	end(&f, &b);
}

/* The same where half of the samples are missing behind the first: that is time off CPU, and what came before is shared by what the
 * thread computed. */
static void behind_the_first_sample_they_are_missing(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	for (uint64_t i = 0; i < 200; i++) {
		uint64_t at = i * 2 * MS;

		kernel(&f, at + MS, at + MS, at + 2 * MS, LAUNCH_A);
		if (i >= 100 && i % 20 == 5)
			cpu(&f, 0, at + MS / 2, PERIOD, 0, COMPUTE);
	}
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_CPU, COMPUTE), 149 * MS + MS / 2);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_OFF_CPU, LAUNCH_A), 49 * MS + MS / 2);
	end(&f, &b);
}

static void functions_on_the_stack_name_the_cause(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	kernel(&f, 0, 0, 1 * MS, LAUNCH_A);
	cpu(&f, 0, 15 * MS, 20 * MS, 0, COMPILE);
	kernel(&f, 21 * MS, 21 * MS, 22 * MS, LAUNCH_B);
	cpu(&f, 0, 30 * MS, 10 * MS, 0, LOADER);
	kernel(&f, 32 * MS, 32 * MS, 33 * MS, LAUNCH_A);
	blame(&f, &b);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_COMPILE], 20 * MS);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_INPUT], 10 * MS);
	end(&f, &b);
}

/* Imported traces have operators in place of samples: the outermost that has a rule. */
static void operators_name_the_cause(void **state)
{
	static const char next[] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	ops_add(&f, 0, 2 * MS, 8 * MS, AIF_OP_STEP, "ProfilerStep#3");
	ops_add(&f, 0, 3 * MS, 7 * MS, AIF_OP_OPERATOR, next);
	ops_add(&f, 0, 4 * MS, 5 * MS, AIF_OP_RUNTIME, "cudaMalloc");
	ops_add(&f, 0, 21 * MS, 23 * MS, AIF_OP_RUNTIME, "cudaMalloc");
	ops_add(&f, 1, 31 * MS, 38 * MS, AIF_OP_OPERATOR, next); /* another thread's */
	kernel(&f, 0, 0, 1 * MS, LAUNCH_A);
	kernel(&f, 10 * MS, 10 * MS, 20 * MS, LAUNCH_B);
	kernel(&f, 25 * MS, 25 * MS, 30 * MS, LAUNCH_A);
	kernel(&f, 40 * MS, 40 * MS, 41 * MS, LAUNCH_B);
	blame(&f, &b);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_INPUT], 4 * MS);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_ALLOCATE], 2 * MS);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_HOST], (9 - 4 + 5 - 2 + 10) * MS);
	end(&f, &b);
}

/* A wait that ends in the gap: until then it waited, then it was in no sample; and all of it follows a wait. */
static void waits_are_a_part_of_the_gap(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	kernel(&f, 0, 0, 40 * MS, LAUNCH_A);
	cpu(&f, 0, 1 * MS, 0, 41 * MS, SYNC); /* until 42 ms */
	kernel(&f, 45 * MS, 45 * MS, 50 * MS, LAUNCH_B);
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_WAIT, SYNC), 2 * MS);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_HOST, FURTHER), 3 * MS);
	for (size_t i = 0; i < b.len; i++) {
		assert_int_equal(b.rows[i].drained_ns, b.rows[i].ns);
		assert_int_equal(b.rows[i].drain, SYNC);
	}
	end(&f, &b);
}

/* A request from 10 to 50 ms in which thread 0 sleeps in `stack` for `ns`. */
static void sleep_once(struct ops_fixture *f, uint64_t ns, uint32_t stack)
{
	begin(f);
	kernel(f, 0, 0, 10 * MS, LAUNCH_A);
	cpu(f, 0, 12 * MS, 0, ns, stack);
	kernel(f, 50 * MS, 50 * MS, 60 * MS, LAUNCH_B);
}

static void a_wait_for_requests_is_no_demand(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	sleep_once(&f, 30 * MS, OFF_ACCEPT);
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_DEMAND, OFF_ACCEPT), 30 * MS);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_HOST], 10 * MS);
	end(&f, &b);
	/* A thread that has its request, and gets no CPU. */
	sleep_once(&f, 30 * MS, RUNNABLE_ACCEPT);
	blame(&f, &b);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_DEMAND], 0);
	end(&f, &b);
}

/* Sleep of a thread in a second, of however many gaps; main was passed over, so the places between the launches are blamed. */
static void stacks_that_lack_the_program_are_not_blamed(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	f.made.stacks[OFF_ACCEPT].flags = AIF_STACK_FRAME_POINTERS;
	f.made.stacks[ACCEPT].parent = AIF_NONE;
	kernel(&f, 0, 0, 1 * MS, LAUNCH_A);
	cpu(&f, 0, 1 * MS, 0, 999 * MS, OFF_ACCEPT);
	for (uint64_t i = 1; i <= 200; i++)
		kernel(&f, 5 * i * MS, 5 * i * MS, (5 * i + 1) * MS, i % 2 ? LAUNCH_B : LAUNCH_A);
	blame(&f, &b);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_DEMAND], 200 * 4 * MS);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_DEMAND, FURTHER), 100 * 4 * MS);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_DEMAND, LAUNCH_A), 100 * 4 * MS);
	end(&f, &b);
}

/* The thread may wait for another one: as much as that computes meanwhile. */
static void a_wait_while_others_compute_is_not(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	sleep_once(&f, 30 * MS, OFF_ACCEPT);
	cpu(&f, 1, 20 * MS, PERIOD, 0, COMPUTE);
	cpu(&f, 1, 5 * MS, PERIOD, 0, COMPUTE); /* while the device worked */
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_DEMAND, OFF_ACCEPT), 20 * MS);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_OFF_CPU, OFF_ACCEPT), 10 * MS);
	end(&f, &b);
}

/* A thread that another one hands its work: only a server's waits for a request. */
static void a_thread_that_is_handed_work_needs_a_server(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	sleep_once(&f, 30 * MS, OFF_COND);
	cpu(&f, 0, 1 * MS, MS, 0, COMPUTE);
	blame(&f, &b);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_DEMAND], 0);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_OFF_CPU, OFF_COND), 30 * MS);
	end(&f, &b);
	sleep_once(&f, 30 * MS, OFF_COND);
	cpu(&f, 0, 1 * MS, MS, 0, COMPUTE);
	cpu(&f, 1, 2 * MS, 0, 90 * MS, OFF_ACCEPT);
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_DEMAND, OFF_COND), 30 * MS);
	end(&f, &b);
}

/* The driver's poll() is a wait for the device, the data loader's one for its workers. */
static void other_waits_are_what_they_are_for(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	sleep_once(&f, 30 * MS, OFF_POLL);
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_OFF_CPU, OFF_POLL), 30 * MS);
	end(&f, &b);
	sleep_once(&f, 30 * MS, OFF_PIPE);
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_INPUT, OFF_PIPE), 30 * MS);
	end(&f, &b);
}

/* A forked process has its parent's stacks: the time of each is its own. */
static void processes_are_told_apart(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;
	uint64_t ns[2] = {0};

	(void)state;
	begin(&f);
	f.stack = LAUNCH_A;
	for (uint32_t i = 0; i < 2; i++) { /* thread 2 and stream 2 are of the second process */
		ops_exec(&f, 2 * i, 0, 2 * i, 0, 10 * US, "k");
		ops_exec(&f, 2 * i, 40 * US, 2 * i, 40 * US, 50 * US, "k");
	}
	ops_exec(&f, 2, 90 * US, 2, 90 * US, 95 * US, "k");
	blame(&f, &b);
	for (size_t i = 0; i < b.len; i++)
		ns[b.rows[i].process] += b.rows[i].ns;
	assert_int_equal(ns[0], 30 * US);
	assert_int_equal(ns[1], 70 * US);
	end(&f, &b);
}

/* A stack may be the function in which the thread went on, and that of a launch before which it was elsewhere: two rows. */
static void before_a_launch_is_not_in_it(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;
	uint64_t ns[2] = {0};

	(void)state;
	begin(&f);
	kernel(&f, 0, 0, 100 * US, LAUNCH_A);
	kernel(&f, 160 * US, 160 * US, 200 * US, LAUNCH_B);
	kernel(&f, 200 * US, 200 * US, 210 * US, FURTHER);
	kernel(&f, 250 * US, 250 * US, 260 * US, FURTHER);
	cpu(&f, 1, 0, PERIOD, 0, COMPUTE);
	blame(&f, &b);
	for (size_t i = 0; i < b.len; i++)
		if (b.rows[i].stack == FURTHER)
			ns[b.rows[i].is_before] += b.rows[i].ns;
	assert_int_equal(ns[false], 60 * US);
	assert_int_equal(ns[true], 40 * US);
	end(&f, &b);
}

/* Without any sample, samples may have been refused: nobody is known to have been off CPU. */
static void without_samples_nobody_was_off_cpu(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	for (uint64_t i = 0; i < 20; i++)
		kernel(&f, i * 100 * MS, i * 100 * MS, i * 100 * MS + MS, LAUNCH_A);
	blame(&f, &b);
	assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_HOST], 19 * 99 * MS);
	end(&f, &b);
}

/* A sampler that took no sample of a process saw it on no CPU, unless it was refused. */
static void sampled_threads_without_samples_were_off_cpu(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	for (int refused = 0; refused < 2; refused++) {
		begin(&f);
		FIXTURE_ADD(&f.made, meta, .key = ops_string(&f, "cpu_sampling"),
			    .value = ops_string(&f, "cpu"));
		if (refused)
			FIXTURE_ADD(&f.made, losses, .reason = AIF_REASON_CPU_NO_PERF, .process = 0,
				    .thread = AIF_NONE, .detail = AIF_NONE, .count = 1);
		for (uint64_t i = 0; i < 20; i++)
			kernel(&f, i * 100 * MS, i * 100 * MS, i * 100 * MS + MS, LAUNCH_A);
		blame(&f, &b);
		assert_int_equal(b.of_cause[refused ? AIF_IDLE_CAUSE_HOST : AIF_IDLE_CAUSE_OFF_CPU],
				 19 * 99 * MS);
		end(&f, &b);
	}
}

/* Gaps are cut at the ends of a part of the run, and all parts sum to the whole. */
/* A process whose samples ended computed, slept, or waited: nothing says which. */
static void behind_the_end_of_samples_nobody_was_off_cpu(void **state)
{
	static const enum aif_reason ends[] = {AIF_REASON_CPU_SIGNAL_TAKEN,
					       AIF_REASON_CPU_FILTER_CODE, AIF_REASON_SECCOMP};
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	for (size_t k = 0; k < AIF_ARRAY_LEN(ends); k++) {
		begin(&f);
		FIXTURE_ADD(&f.made, losses, .reason = ends[k], .process = 0, .thread = AIF_NONE,
			    .detail = AIF_NONE, .count = 1);
		for (uint64_t i = 0; i < 20; i++)
			kernel(&f, i * 100 * MS, i * 100 * MS, i * 100 * MS + MS, LAUNCH_A);
		for (uint64_t at = 0; at < 100 * MS; at += PERIOD)
			cpu(&f, 0, at, PERIOD, 0, COMPUTE);
		blame(&f, &b);
		assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_OFF_CPU], 0);
		assert_true(b.of_cause[AIF_IDLE_CAUSE_HOST] >= 18 * 99 * MS);
		end(&f, &b);
	}
}

static void gaps_are_cut_at_a_part(void **state)
{
	uint64_t host = 0, launch = 0;
	const struct aif_exec_timeline *t;
	const struct aif_utilization *u = aif_facts_none();
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	kernel(&f, 0, 10 * US, 100 * US, LAUNCH_A);
	kernel(&f, 160 * US, 165 * US, 200 * US, LAUNCH_B);
	ops_read(&f);
	assert_int_equal(aif_exec_timeline_get(&f.p, NULL, &t), 0);
	assert_int_equal(aif_utilization_get(&f.p, t, &u), 0);
	for (int64_t from = 0; from < 200 * US; from += 20 * US) {
		assert_int_equal(aif_idle_blame_within(&f.p, t, u, from, from + 20 * US, NULL, &b),
				 0);
		host += b.of_cause[AIF_IDLE_CAUSE_HOST];
		launch += b.of_cause[AIF_IDLE_CAUSE_LAUNCH];
		aif_idle_blame_finish(&b);
	}
	assert_int_equal(host, 60 * US);
	assert_int_equal(launch, (10 + 5) * US); /* that of the first, too, from its call on */
	aif_facts_put(u);
	aif_facts_put(t);
	ops_end(&f);
}

static void a_lost_launch_is_nobodys(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	kernel(&f, 0, 0, 10 * US, LAUNCH_A);
	ops_exec(&f, AIF_NONE, 0, 0, 60 * US, 70 * US, "k");
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_UNKNOWN, AIF_NONE), 50 * US);
	end(&f, &b);
}

static void launches_without_stacks_have_causes(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	kernel(&f, 0, 0, 10 * US, AIF_NONE);
	kernel(&f, 50 * US, 60 * US, 70 * US, AIF_NONE);
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_HOST, AIF_NONE), 40 * US);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_LAUNCH, AIF_NONE), 10 * US);
	end(&f, &b);
}

/* Rows that no recorder writes: waits of centuries, over thousands of launches, times before the start. */
static void hostile_rows_are_bounded(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	for (uint64_t i = 0; i < 3000; i++) {
		kernel(&f, i * 10 * US, i * 10 * US, i * 10 * US + 5 * US, LAUNCH_A);
		cpu(&f, 0, i * 10 * US, 0, UINT64_MAX, SYNC);
		cpu(&f, 0, (uint64_t)0 - i, UINT64_MAX, 0, COMPUTE);
	}
	blame(&f, &b);
	assert_int_equal(b.idle_ns, 2999 * 5 * US);
	end(&f, &b);
}

static void without_executions_nothing_is_idle(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	blame(&f, &b);
	assert_int_equal(b.idle_ns, 0);
	assert_int_equal(b.len, 0);
	end(&f, &b);
}

static void times_are_read_as_they_were_added(void **state)
{
	/* In any order, of any length, with weights that change and come back. */
	static const struct aif_idle_time times[] = {
		{7, 0, 1, 0},
		{7, 100, 1000, 0.1},
		{UINT64_MAX - 1, -5, INT64_MAX, 0.1},
		{3, INT64_MIN, INT64_MAX, 1},
		{7, INT64_MIN, INT64_MIN + 1, 1e300},
		{3, INT64_MAX - 1, INT64_MAX, 0.1},
	};
	struct aif_idle_course c = {0};
	struct aif_idle_course_reader r = {0};
	struct aif_idle_time t;

	(void)state;
	/* Reads before anything was added: there is no memory to point into. */
	assert_false(aif_idle_course_next(&c, &r, &t));
	for (size_t i = 0; i < AIF_ARRAY_LEN(times); i++)
		assert_int_equal(aif_idle_course_time(&c, times[i].course, times[i].from,
						      times[i].to, times[i].weight),
				 0);
	/* No time at all is none. */
	assert_int_equal(aif_idle_course_time(&c, 7, 5, 5, 1), 0);
	assert_int_equal(c.times_len, AIF_ARRAY_LEN(times));
	for (size_t i = 0; i < AIF_ARRAY_LEN(times); i++) {
		assert_true(aif_idle_course_next(&c, &r, &t));
		assert_int_equal(t.course, times[i].course);
		assert_int_equal(c.courses[r.place], times[i].course);
		assert_int_equal(t.from, times[i].from);
		assert_int_equal(t.to, times[i].to);
		assert_true(t.weight == times[i].weight);
	}
	assert_false(aif_idle_course_next(&c, &r, &t));
	/* Times of a row alone are one part of it. */
	assert_int_equal(aif_idle_course_own(&c, 9, 0, 10, 2), 0);
	assert_int_equal(aif_idle_course_own(&c, 9, 20, 25, 1), 0);
	assert_int_equal(c.parts_len, 1);
	assert_true(c.parts[0].ns == 25);
	aif_idle_course_finish(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_read_as_they_were_added),
		cmocka_unit_test(each_device_has_its_own_causes),
		cmocka_unit_test(a_gap_is_split_at_its_launch_call),
		cmocka_unit_test(a_loop_that_is_not_known_is_not_blamed),
		cmocka_unit_test(what_was_launched_before_is_late),
		cmocka_unit_test(a_launch_call_that_lasts_is_no_late_start),
		cmocka_unit_test(samples_of_like_gaps_are_added_up),
		cmocka_unit_test(where_samples_are_missing_it_was_on_no_cpu),
		cmocka_unit_test(before_the_first_sample_none_is_missing),
		cmocka_unit_test(behind_the_first_sample_they_are_missing),
		cmocka_unit_test(functions_on_the_stack_name_the_cause),
		cmocka_unit_test(operators_name_the_cause),
		cmocka_unit_test(waits_are_a_part_of_the_gap),
		cmocka_unit_test(stacks_that_lack_the_program_are_not_blamed),
		cmocka_unit_test(a_wait_for_requests_is_no_demand),
		cmocka_unit_test(a_wait_while_others_compute_is_not),
		cmocka_unit_test(a_thread_that_is_handed_work_needs_a_server),
		cmocka_unit_test(other_waits_are_what_they_are_for),
		cmocka_unit_test(processes_are_told_apart),
		cmocka_unit_test(before_a_launch_is_not_in_it),
		cmocka_unit_test(without_samples_nobody_was_off_cpu),
		cmocka_unit_test(sampled_threads_without_samples_were_off_cpu),
		cmocka_unit_test(behind_the_end_of_samples_nobody_was_off_cpu),
		cmocka_unit_test(gaps_are_cut_at_a_part),
		cmocka_unit_test(a_lost_launch_is_nobodys),
		cmocka_unit_test(launches_without_stacks_have_causes),
		cmocka_unit_test(hostile_rows_are_bounded),
		cmocka_unit_test(without_executions_nothing_is_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
