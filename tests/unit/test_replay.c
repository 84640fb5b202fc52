/* SPDX-License-Identifier: Apache-2.0 */
/* Tests replays of recorded schedules: what is gained if a part takes no time is what a program without that part takes. */
#include "analysis/replay/replay.h"

#include "analysis/idle/course.h"
#include "fixture_idle_blame.h"

enum { STEPS = 20 };

struct replayed {
	struct ops_fixture f;
	const struct aif_idle_part *part;
	struct aif_queue queue;
	struct aif_replay r;
};

static void replay(struct replayed *x)
{
	ops_read(&x->f);
	assert_int_equal(aif_idle_part_get_course(&x->f.p, NULL, &x->part), 0);
	assert_int_equal(aif_queue_make(&x->f.p, x->part->t, x->part->u, &x->queue), 0);
	assert_int_equal(aif_replay_make(&x->f.p, x->part, &x->queue, INT64_MIN, INT64_MAX, &x->r),
			 0);
	assert_true(x->r.length_ns > 0);
}

static void finish(struct replayed *x)
{
	aif_replay_finish(&x->r);
	aif_queue_finish(&x->queue);
	aif_facts_put(x->part);
	ops_end(&x->f);
}

static void assert_length(double is, uint64_t ns)
{
	if (is < 0.97 * (double)ns || is > 1.03 * (double)ns)
		fail_msg("%.0f ns, not %llu", is, (unsigned long long)ns);
}

static bool is_any(const void *arg, const struct aif_timeline_exec *x)
{
	(void)arg;
	(void)x;
	return true;
}

static bool is_computing(const void *arg, const struct aif_idle_row *row)
{
	(void)arg;
	return row->cause == AIF_IDLE_CAUSE_CPU;
}

static bool is_launching(const void *arg, const struct aif_idle_row *row)
{
	(void)arg;
	return row->cause == AIF_IDLE_CAUSE_LAUNCH;
}

/* Each step computes for 30 ms, launches 10 ms of work and waits for it. */
static void lock_step(struct replayed *x)
{
	*x = (struct replayed){0};
	begin(&x->f);
	for (uint64_t i = 0; i < STEPS; i++) {
		uint64_t at = i * 40 * MS;

		kernel(&x->f, at, at, at + 10 * MS, LAUNCH_A);
		cpu_row(&x->f,
			&(struct aif_cpu_row){
				.time = at + MS, .waiting = 9 * MS, .stack = SYNC, .is_whole = 1});
		for (uint64_t k = 1; k < 4; k++)
			cpu(&x->f, 0, at + k * PERIOD, PERIOD, 0, COMPUTE);
	}
	replay(x);
}

static void nothing_changed_takes_as_long(void **state)
{
	struct replayed x;

	(void)state;
	lock_step(&x);
	assert_length(x.r.length_ns, (STEPS * 40 - 30) * MS);
	finish(&x);
}

static void without_waits_the_host_goes_on(void **state)
{
	struct replayed x;

	(void)state;
	lock_step(&x);
	/* 30 ms of computing and 1 ms of launching a step. */
	assert_length(aif_replay_length(&x.r, &(struct aif_replay_without){.waits = true}),
		      ((STEPS - 1) * 31 + 10) * MS);
	finish(&x);
}

static void without_the_host_the_device_is_left(void **state)
{
	float host[4 * STEPS], calls[4 * STEPS];
	struct replayed x;

	(void)state;
	lock_step(&x);
	assert_true(x.r.events_len <= 4 * STEPS);
	assert_int_equal(aif_replay_host_without(&x.r, is_computing, NULL, host, calls), 0);
	assert_length(aif_replay_length(&x.r, &(struct aif_replay_without){.host = host}),
		      STEPS * 10 * MS);
	finish(&x);
}

/* Each launch call takes 90 us, and what it launches runs 10 us then: by graphs that is gone, but for the first. */
static void without_launch_calls_the_device_is_left(void **state)
{
	float host[STEPS + 1], calls[STEPS + 1];
	struct replayed x = {0};

	(void)state;
	begin(&x.f);
	for (uint64_t i = 0; i < STEPS; i++) {
		x.f.stack = LAUNCH_A;
		ops_exec(&x.f, 0, i * 100 * US, 0, i * 100 * US + 90 * US, (i + 1) * 100 * US, "k");
	}
	replay(&x);
	assert_length(x.r.length_ns, STEPS * 100 * US);
	assert_int_equal(aif_replay_host_without(&x.r, is_launching, NULL, host, calls), 0);
	assert_length(
		aif_replay_length(&x.r, &(struct aif_replay_without){.host = host, .calls = calls}),
		(90 + STEPS * 10) * US);
	finish(&x);
}

static void without_the_device_the_host_is_left(void **state)
{
	struct replayed x;

	(void)state;
	lock_step(&x);
	assert_length(aif_replay_length(&x.r, &(struct aif_replay_without){.is_zero = is_any}),
		      (STEPS - 1) * 31 * MS);
	finish(&x);
}

/* Copies of 9 ms run beside kernels of 10 ms that wait for the copy before: without kernels the copies are left, whatever share of the
 * time kernels have. */
static void what_runs_beside_it_is_left(void **state)
{
	struct replayed x = {0};

	(void)state;
	begin(&x.f);
	for (uint64_t i = 0; i < STEPS; i++) {
		uint64_t at = i * 10 * MS;

		x.f.stack = LAUNCH_A;
		ops_exec(&x.f, 0, i * MS, 0, at + 1 * US, at + 10 * MS, "k");
		ops_exec(&x.f, 0, i * MS + 10 * US, 1, at + 20 * US, at + 9 * MS, NULL);
	}
	replay(&x);
	assert_length(aif_replay_length(&x.r, &(struct aif_replay_without){.is_zero = is_any}),
		      (STEPS - 1) * MS);
	finish(&x);
}

/* The host goes on when a copy behind each kernel is done, without a wait that was recorded. */
static void a_copy_may_hold_the_host_up(void **state)
{
	struct replayed x = {0};

	(void)state;
	begin(&x.f);
	for (uint64_t i = 0; i < STEPS; i++) {
		uint64_t at = i * 12 * MS;

		x.f.stack = LAUNCH_A;
		ops_exec(&x.f, 0, at, 0, at + 1 * US, at + 9 * MS, "k");
		ops_exec(&x.f, 0, at + 10 * US, 0, at + 9 * MS, at + 10 * MS, NULL);
	}
	replay(&x);
	assert_length(x.r.length_ns, (STEPS * 12 - 2) * MS);
	assert_length(aif_replay_length(&x.r, &(struct aif_replay_without){.is_zero = is_any}),
		      (STEPS - 1) * 2 * MS);
	finish(&x);
}

#define S (1000 * (uint64_t)MS)

/* Each call comes 20 s behind the one before, starts its kernel after 1 s and lets it run for 6 s: no number is cut short, whose packed
 * place is smaller. */
static void seconds_are_replayed(void **state)
{
	struct replayed x = {0};

	(void)state;
	begin(&x.f);
	for (uint64_t i = 0; i < STEPS; i++)
		kernel(&x.f, i * 20 * S, i * 20 * S + S, i * 20 * S + 7 * S, LAUNCH_A);
	replay(&x);
	assert_true(x.r.length_ns == (double)((STEPS - 1) * 20 * S + 7 * S));
	assert_true(aif_replay_length(&x.r, &(struct aif_replay_without){.is_zero = is_any}) ==
		    (double)((STEPS - 1) * 20 * S + S));
	finish(&x);
}

/* True of the kernel of that name. */
static bool is_kernel(const void *arg, const struct aif_timeline_exec *e)
{
	const struct replayed *x = arg;
	uint32_t kernel = aif_timeline_work_of(x->part->t, e)->kernel;

	return !strcmp(aif_profile_str(&x->f.p, x->f.p.kernels[kernel].name), "k70000");
}

/* One kernel of 70,001, each launched once and waited for: it takes its time, and without it the rest is left. */
static void any_kernel_of_many_is_left_out(void **state)
{
	enum { KERNELS = 70001 };
	struct replayed x = {0};
	char name[16];

	(void)state;
	begin(&x.f);
	x.f.stack = LAUNCH_A;
	for (uint64_t i = 0; i < KERNELS; i++) {
		snprintf(name, sizeof(name), "k%llu", (unsigned long long)i);
		ops_exec(&x.f, 0, i * US, 0, i * US, i * US + (i + 1 < KERNELS ? US : 100 * MS),
			 name);
	}
	replay(&x);
	assert_length(x.r.length_ns, KERNELS * (uint64_t)US + 100 * MS);
	assert_length(aif_replay_length(
			      &x.r, &(struct aif_replay_without){.is_zero = is_kernel, .arg = &x}),
		      KERNELS * (uint64_t)US);
	finish(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_changed_takes_as_long),
		cmocka_unit_test(without_waits_the_host_goes_on),
		cmocka_unit_test(without_the_host_the_device_is_left),
		cmocka_unit_test(without_launch_calls_the_device_is_left),
		cmocka_unit_test(without_the_device_the_host_is_left),
		cmocka_unit_test(what_runs_beside_it_is_left),
		cmocka_unit_test(a_copy_may_hold_the_host_up),
		cmocka_unit_test(seconds_are_replayed),
		cmocka_unit_test(any_kernel_of_many_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
