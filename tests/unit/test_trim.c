/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what --keep and --max-size drop, and what they do not. */
#include "fixture_rows.h"

static void test_trim(void **state)
{
	enum { SECONDS = 40, PER_SECOND = ROWS / SECONDS };
	uint64_t durations = 0, kept = 0, latest = 0;
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_writer *w;
	struct all_rows all;

	(void)state;
	fixture_profile(&p);
	p.losses_len = 0;
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	for (size_t i = 0; i < SECONDS; i++) {
		latest = launches[i * PER_SECOND + PER_SECOND - 1].time;
		assert_ok(aif_writer_launches(w, launches + i * PER_SECOND, PER_SECOND, &err),
			  &err);
		assert_ok(aif_writer_execs(w, execs + i * PER_SECOND, PER_SECOND, &err), &err);
		/* 20 "seconds" of launches; then a limit on bytes, which is stricter. */
		assert_ok(aif_writer_trim(w, i < SECONDS - 1 ? 0 : 6000,
					  20 * PER_SECOND * UINT64_C(100000), latest, &err),
			  &err);
		assert_ok(aif_writer_commit(w, &err), &err);
		if (i == SECONDS - 2)
			kept = w->chunks_len - w->chunks_first;
	}
	assert_in_range(kept, 40, 44);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	assert_true(sql_number("SELECT sum(length(data)) FROM chunk") <= 6000);
	assert_true(sql_number("SELECT sum(length(data)) FROM chunk") > 4000);
	for (size_t i = 0; i < ROWS; i++)
		durations += execs[i].end - execs[i].start;
	assert_int_equal(sql_number("SELECT (SELECT sum(total) FROM chunk WHERE kind=2) + "
				    "(SELECT total FROM dropped WHERE id=2)"),
			 durations);
	assert_int_equal(sql_number("SELECT (SELECT sum(rows) FROM chunk WHERE kind=1) + "
				    "(SELECT rows FROM dropped WHERE id=1)"),
			 ROWS);

	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(got.notes, AIF_NOTE_TRIMMED);
	all = read_all(&got, AIF_CHUNK_LAUNCHES);
	kept = all.len;
	assert_memory_equal(all.rows, launches + ROWS - kept, kept * sizeof(*launches));
	free(all.rows);
	all = read_all(&got, AIF_CHUNK_EXECS);
	kept += all.len;
	free(all.rows);
	assert_int_equal(got.losses_len, 1);
	assert_int_equal(got.losses[0].reason, AIF_REASON_MAX_SIZE);
	assert_int_equal(got.losses[0].count, 2 * ROWS - kept);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

static size_t kept_rows(enum aif_chunk_kind kind)
{
	struct aif_err err = {0};
	struct aif_profile got;
	struct all_rows all;

	assert_ok(aif_profile_open("p", &got, &err), &err);
	all = read_all(&got, kind);
	free(all.rows);
	aif_profile_finish(&got);
	return all.len;
}

/* A launch is kept as long as an execution of it: else that would have no stack. */
static void test_trim_holds_launches(void **state)
{
	static const struct {
		uint64_t now, exec_of, launches, execs;
	} seconds[] = {
		{1, 0, 1, 0},  {2, 0, 2, 0},
		{30, 1, 3, 1},                /* the first ends after half a minute */
		{35, 2, 4, 2}, {41, 0, 3, 1}, /* its execution is too old */
		{46, 0, 2, 0},                /* two are in flight, and held */
	};
	struct aif_profile p;
	struct aif_err err = {0};

	(void)state;
	for (size_t stop = 0; stop < AIF_ARRAY_LEN(seconds); stop++) {
		struct aif_writer *w;

		fixture_profile(&p);
		assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
		assert_ok(aif_writer_tables(w, &p, &err), &err);
		for (size_t i = 0; i <= stop; i++) {
			uint64_t now = p.start_ns + seconds[i].now * AIF_NS_PER_S;
			struct aif_launch_row l = launches[0];
			struct aif_exec_row e = execs[0];

			l.launch = i + 1;
			l.time = now;
			e.launch = seconds[i].exec_of;
			e.start = now - 10;
			e.end = now;
			e.clock = AIF_CLOCK_MONOTONIC;
			assert_ok(aif_writer_launches(w, &l, i < 4, &err), &err);
			assert_ok(aif_writer_execs(w, &e, e.launch != 0, &err), &err);
			assert_ok(aif_writer_trim(w, 0, 10 * AIF_NS_PER_S, now, &err), &err);
		}
		assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
		assert_int_equal(kept_rows(AIF_CHUNK_EXECS), seconds[stop].execs);
		assert_int_equal(kept_rows(AIF_CHUNK_LAUNCHES), seconds[stop].launches);
		aif_profile_finish(&p);
	}
}

/* Launches that never end are not held for ever. */
static void test_trim_holds_few(void **state)
{
	struct aif_profile p;
	struct aif_err err = {0};
	struct aif_writer *w;

	(void)state;
	fixture_profile(&p);
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	for (uint64_t i = 0; i < 1000; i++) {
		struct aif_launch_row l = launches[0];

		l.launch = i;
		l.time = p.start_ns + i * AIF_NS_PER_S;
		assert_ok(aif_writer_launches(w, &l, 1, &err), &err);
		assert_ok(aif_writer_trim(w, 0, 10 * AIF_NS_PER_S, l.time, &err), &err);
		assert_true(w->chunks_len - w->chunks_first <= 64 + 11);
	}
	assert_ok(aif_writer_trim(w, 1000, 0, 0, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	assert_true(sql_number("SELECT sum(length(data)) FROM chunk") <= 1000);
	assert_true(sql_number("SELECT count(*) FROM chunk") > 2);
	aif_profile_finish(&p);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, enter_directory, leave_directory)
	const struct CMUnitTest tests[] = {
		TEST(test_trim),
		TEST(test_trim_holds_launches),
		TEST(test_trim_holds_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
