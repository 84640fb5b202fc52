/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what times off CPU that are known exactly say of a device's idle time. */
#include "fixture_idle_blame.h"

static void times_off_cpu_are_known_exactly(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	kernel(&f, 0, 0, 40 * MS, LAUNCH_A);
	cpu(&f, 0, 50 * MS, 0, 30 * MS, OFF);
	kernel(&f, 100 * MS, 100 * MS, 110 * MS, LAUNCH_B);
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_OFF_CPU, OFF), 30 * MS);
	end(&f, &b);
}

/* A loop that computes 8 ms and sleeps 2 in each other gap. Samples that weigh more than there is room for do not touch what is
 * exact, and where there are too few the thread computed: it was nowhere else. */
static void whole_times_off_cpu_leave_the_rest_to_the_cpu(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	for (uint64_t samples = 0; samples <= 20; samples += 20) {
		begin(&f);
		for (uint64_t i = 0; i < 20; i++) {
			kernel(&f, 10 * i * MS, 10 * i * MS, (10 * i + 2) * MS, LAUNCH_A);
			off(&f, (10 * i + 4) * MS, 2 * MS, OFF);
			if (i < samples)
				cpu(&f, 0, (10 * i + 8) * MS, PERIOD, 0, COMPUTE);
		}
		kernel(&f, 200 * MS, 200 * MS, 201 * MS, LAUNCH_A);
		blame(&f, &b);
		assert_int_equal(row(&b, AIF_IDLE_CAUSE_OFF_CPU, OFF), 20 * 2 * MS);
		assert_int_equal(row(&b, AIF_IDLE_CAUSE_CPU, samples ? COMPUTE : LAUNCH_A),
				 20 * 6 * MS);
		end(&f, &b);
	}
}

/* The thread may have slept in the rest, where the recorder lost times off CPU. */
static void lost_times_off_cpu_leave_the_rest_unknown(void **state)
{
	static const uint32_t reasons[] = {AIF_REASON_EBPF_OFF_CPU, AIF_REASON_WRITER_BEHIND};
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	for (size_t i = 0; i < AIF_ARRAY_LEN(reasons); i++) {
		begin(&f);
		FIXTURE_ADD(&f.made, losses, .reason = reasons[i], .process = AIF_NONE,
			    .thread = AIF_NONE, .detail = AIF_NONE, .count = 1);
		kernel(&f, 0, 0, 2 * MS, LAUNCH_A);
		off(&f, 4 * MS, 2 * MS, OFF);
		kernel(&f, 10 * MS, 10 * MS, 11 * MS, LAUNCH_A);
		blame(&f, &b);
		assert_int_equal(row(&b, AIF_IDLE_CAUSE_OFF_CPU, OFF), 2 * MS);
		assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_CPU], 0);
		assert_int_equal(b.of_cause[AIF_IDLE_CAUSE_HOST], 6 * MS);
		end(&f, &b);
	}
}

/* A damaged file's overlap: they are scaled. */
static void whole_times_that_overlap_are_bounded(void **state)
{
	struct aif_idle_blame b;
	struct ops_fixture f;

	(void)state;
	begin(&f);
	kernel(&f, 0, 0, 40 * MS, LAUNCH_A);
	for (int i = 0; i < 3; i++)
		off(&f, 50 * MS, 40 * MS, OFF);
	cpu(&f, 0, 45 * MS, PERIOD, 0, COMPUTE);
	kernel(&f, 100 * MS, 100 * MS, 110 * MS, LAUNCH_B);
	blame(&f, &b);
	assert_int_equal(row(&b, AIF_IDLE_CAUSE_OFF_CPU, OFF), 60 * MS);
	end(&f, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_off_cpu_are_known_exactly),
		cmocka_unit_test(whole_times_off_cpu_leave_the_rest_to_the_cpu),
		cmocka_unit_test(lost_times_off_cpu_leave_the_rest_unknown),
		cmocka_unit_test(whole_times_that_overlap_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
