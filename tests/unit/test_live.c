/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of a recording that goes on: what its watcher has at each commit, what it drops, and damage. */
#include "fixture_rows.h"

#include "profile/live.h"

#include <errno.h>

#define KEEP (5 * AIF_NS_PER_S)

struct stream {
	struct aif_live_writer to;
	struct aif_writer *rows;
};

static int take_nothing(void *arg, const struct aif_exec_row *rows, size_t n)
{
	(void)arg;
	(void)rows;
	(void)n;
	return 0;
}

static void on_chunk(void *arg, enum aif_chunk_kind kind, size_t n, const void *data, size_t size)
{
	struct stream *s = arg;

	assert_int_equal(aif_live_chunk(&s->to, kind, n, data, size), 0);
}

static void begin(struct stream *s, const struct aif_profile *p)
{
	*s = (struct stream){0};
	assert_int_equal(aif_writer_new_without_file(p->start_ns, &s->rows), 0);
	aif_writer_observe(s->rows, on_chunk, s);
	assert_int_equal(aif_live_tables(&s->to, p), 0);
}

static void commit(struct stream *s, const struct aif_profile *p, uint64_t now)
{
	struct aif_live_commit c = {.now_ns = now};

	assert_int_equal(aif_live_tables(&s->to, p), 0);
	assert_int_equal(aif_live_commit(&s->to, &c), 0);
}

static void finish(struct stream *s)
{
	aif_live_writer_finish(&s->to);
	assert_int_equal(aif_writer_finish(s->rows, 0, NULL), 0);
}

static void test_same_as_a_file(void **state)
{
	const struct aif_profile *got;
	struct aif_live_reader *r;
	struct aif_profile p, saved;
	struct aif_err err = {0};
	struct stream s;
	unsigned commits = 0;

	(void)state;
	fixture_profile(&p);
	begin(&s, &p);
	write_rows(s.rows, &err);
	commit(&s, &p, p.end_ns);
	assert_int_equal(aif_live_reader_new(KEEP, 1 << 30, &r), 0);
	/* A byte at a time: messages may be cut anywhere. */
	for (size_t i = 0; i < s.to.out.len; i++) {
		unsigned n;

		assert_null(aif_live_profile(r));
		assert_ok(aif_live_feed(r, s.to.out.data + i, 1, &n, &err), &err);
		commits += n;
	}
	assert_int_equal(commits, 1);
	got = aif_live_profile(r);
	assert_tables_equal(&p, got);
	assert_rows(got, AIF_CHUNK_LAUNCHES, launches, ROWS);
	assert_rows(got, AIF_CHUNK_EXECS, execs, ROWS);
	assert_rows(got, AIF_CHUNK_SAMPLES, samples, ROWS);
	assert_rows(got, AIF_CHUNK_WINDOWS, windows, WINDOWS);
	assert_ok(aif_live_save(r, "p", NULL, &err), &err);
	assert_ok(aif_profile_open("p", &saved, &err), &err);
	assert_int_equal(saved.notes, 0);
	assert_tables_equal(&p, &saved);
	assert_rows(&saved, AIF_CHUNK_LAUNCHES, launches, ROWS);
	assert_rows(&saved, AIF_CHUNK_EXECS, execs, ROWS);
	aif_profile_finish(&saved);
	aif_live_reader_free(r);
	finish(&s);
	aif_profile_finish(&p);
}

static size_t rows_of(const struct aif_live_reader *r, enum aif_chunk_kind kind)
{
	struct all_rows all = read_all(aif_live_profile(r), kind);

	free(all.rows);
	return all.len;
}

static void feed(struct aif_live_reader *r, struct stream *s)
{
	struct aif_err err = {0};
	unsigned n;

	assert_ok(aif_live_feed(r, s->to.out.data, s->to.out.len, &n, &err), &err);
	aif_buf_clear(&s->to.out);
}

/* Seconds of which each has its rows: memory does not grow beyond the window. */
static void memory_stays_within_the_window(void **state)
{
	struct aif_live_reader *r;
	struct aif_err err = {0};
	struct aif_profile p, saved;
	struct aif_cycle cycle;
	struct stream s;
	uint64_t bytes = 0;

	(void)state;
	fixture_profile(&p);
	begin(&s, &p);
	assert_int_equal(aif_live_reader_new(KEEP, 1 << 30, &r), 0);
	for (uint64_t second = 1; second <= 50; second++) {
		assert_ok(aif_writer_launches(s.rows, launches, ROWS, &err), &err);
		commit(&s, &p, p.start_ns + second * AIF_NS_PER_S);
		feed(r, &s);
		if (second == 10)
			bytes = aif_live_bytes(r);
		if (second >= 6)
			assert_int_equal(rows_of(r, AIF_CHUNK_LAUNCHES), 6 * ROWS);
	}
	assert_int_equal(aif_live_bytes(r), bytes);
	assert_int_equal(aif_live_dropped(r), 0);
	assert_int_equal(aif_live_profile(r)->kept_ns, p.start_ns + 44 * AIF_NS_PER_S);
	assert_int_equal(aif_live_profile(r)->dropped_launches, 44 * ROWS);
	/* The file says what it does not have. */
	assert_ok(aif_live_save(r, "p", NULL, &err), &err);
	assert_ok(aif_profile_open("p", &saved, &err), &err);
	assert_int_equal(saved.notes, AIF_NOTE_TRIMMED);
	assert_int_equal(saved.kept_ns, p.start_ns + 44 * AIF_NS_PER_S);
	aif_profile_finish(&saved);
	/* A cycle is what views of the file show; what came before it goes. */
	assert_ok(aif_live_save(r, "p",
				&(struct aif_cycle){.cycle = 2,
						    .first = 7,
						    .last = 9,
						    .from_ns = 46 * AIF_NS_PER_S,
						    .to_ns = 47 * AIF_NS_PER_S},
				&err),
		  &err);
	assert_ok(aif_profile_open("p", &saved, &err), &err);
	aif_profile_cycle(&saved, &cycle);
	assert_int_equal(cycle.cycle, 2);
	assert_int_equal(cycle.first, 7);
	assert_int_equal(cycle.last, 9);
	assert_int_equal(cycle.from_ns, 46 * AIF_NS_PER_S);
	assert_int_equal(cycle.to_ns, 47 * AIF_NS_PER_S);
	assert_string_equal(aif_profile_meta(&saved, "command"), aif_profile_meta(&p, "command"));
	aif_profile_finish(&saved);
	assert_false(cycle.is_slow);
	assert_ok(aif_live_save(r, "p",
				&(struct aif_cycle){.cycle = 1,
						    .first = 7,
						    .last = 7,
						    .from_ns = 46 * AIF_NS_PER_S,
						    .to_ns = 47 * AIF_NS_PER_S,
						    .is_slow = true,
						    .usual_ns = 12345},
				&err),
		  &err);
	assert_ok(aif_profile_open("p", &saved, &err), &err);
	aif_profile_cycle(&saved, &cycle);
	assert_int_equal(cycle.to_ns, 47 * AIF_NS_PER_S);
	assert_true(cycle.is_slow);
	assert_int_equal(cycle.usual_ns, 12345);
	aif_profile_finish(&saved);
	aif_profile_cycle(&p, &cycle);
	assert_int_equal(cycle.cycle, 0);
	aif_live_drop(r, p.start_ns + 48 * AIF_NS_PER_S);
	commit(&s, &p, p.start_ns + 50 * AIF_NS_PER_S);
	feed(r, &s);
	assert_int_equal(rows_of(r, AIF_CHUNK_LAUNCHES), 3 * ROWS);
	/* Frozen, it stays as it is. */
	aif_live_freeze(r, true);
	assert_ok(aif_writer_launches(s.rows, launches, ROWS, &err), &err);
	commit(&s, &p, p.start_ns + 60 * AIF_NS_PER_S);
	feed(r, &s);
	assert_int_equal(rows_of(r, AIF_CHUNK_LAUNCHES), 3 * ROWS);
	assert_int_equal(aif_live_profile(r)->end_ns, p.start_ns + 50 * AIF_NS_PER_S);
	aif_live_reader_free(r);
	finish(&s);
	aif_profile_finish(&p);
}

static int count_ops(void *arg, const struct aif_op_row *rows, size_t n)
{
	uint64_t *sum = arg;

	for (size_t i = 0; i < n; i++)
		*sum += rows[i].start;
	return 0;
}

static void ops_are_given_once(void **state)
{
	struct aif_live_reader *r;
	struct aif_err err = {0};
	struct aif_profile p;
	struct aif_op_row row = {.clock = AIF_CLOCK_MONOTONIC,
				 .thread = 0,
				 .name = AIF_NONE,
				 .kind = AIF_OP_RANGE,
				 .shapes = AIF_NONE,
				 .types = AIF_NONE,
				 .stack = AIF_NONE,
				 .sequence = -1};
	struct stream s;
	uint64_t sum = 0, wanted = 0;

	(void)state;
	fixture_profile(&p);
	begin(&s, &p);
	assert_int_equal(aif_live_reader_new(KEEP, 1 << 30, &r), 0);
	for (uint64_t second = 1; second <= 4; second++) {
		for (uint64_t i = 0; i < 3; i++) {
			row.start = p.start_ns + second * 1000 + i;
			row.end = row.start + 1;
			wanted += row.start;
			assert_ok(aif_writer_ops(s.rows, &row, 1, &err), &err);
		}
		commit(&s, &p, p.start_ns + second * AIF_NS_PER_S);
		feed(r, &s);
		if (second == 2)
			continue; /* two commits at once */
		assert_int_equal(aif_live_new_ops(r, count_ops, &sum), 0);
		assert_int_equal(sum, wanted);
		assert_int_equal(aif_live_new_ops(r, count_ops, &sum), 0);
		assert_int_equal(sum, wanted);
	}
	aif_live_reader_free(r);
	finish(&s);
	aif_profile_finish(&p);
}

static void test_bound_on_bytes(void **state)
{
	struct aif_live_reader *r;
	struct aif_err err = {0};
	struct aif_profile p;
	struct stream s;

	(void)state;
	fixture_profile(&p);
	begin(&s, &p);
	assert_int_equal(aif_live_reader_new(KEEP, 1, &r), 0);
	for (uint64_t second = 1; second <= 3; second++) {
		assert_ok(aif_writer_launches(s.rows, launches, ROWS, &err), &err);
		commit(&s, &p, p.start_ns + second * AIF_NS_PER_S);
		feed(r, &s);
		/* The last second stays, whatever its size. */
		assert_int_equal(rows_of(r, AIF_CHUNK_LAUNCHES), ROWS);
		assert_int_equal(aif_live_dropped(r), second - 1);
	}
	aif_live_reader_free(r);
	finish(&s);
	aif_profile_finish(&p);
}

/* Each byte changed, one at a time, and each length: an error or a profile, nothing worse. */
static void damaged_streams_are_survived(void **state)
{
	struct aif_err err = {0};
	struct aif_profile p;
	struct stream s;
	size_t refused = 0;

	(void)state;
	fixture_profile(&p);
	begin(&s, &p);
	assert_ok(aif_writer_execs(s.rows, execs, 10, &err), &err);
	commit(&s, &p, p.end_ns);
	for (size_t i = 0; i < s.to.out.len; i++) {
		struct aif_live_reader *r;
		unsigned n;

		s.to.out.data[i] ^= 0x81;
		assert_int_equal(aif_live_reader_new(KEEP, 1 << 20, &r), 0);
		refused += aif_live_feed(r, s.to.out.data, s.to.out.len, &n, &err) < 0;
		if (aif_live_profile(r))
			(void)aif_profile_execs(aif_live_profile(r), take_nothing, NULL, NULL);
		aif_live_reader_free(r);
		s.to.out.data[i] ^= 0x81;
	}
	assert_true(refused > 100);
	finish(&s);
	aif_profile_finish(&p);
}

static void streams_of_other_versions_are_refused(void **state)
{
	struct aif_live_reader *r;
	struct aif_err err = {0};
	struct aif_profile p;
	struct stream s;
	unsigned n;

	(void)state;
	fixture_profile(&p);
	begin(&s, &p);
	/* The size of the first table's rows. */
	s.to.out.data[sizeof(struct aif_live_head) + offsetof(struct aif_live_begin, row_sizes)]++;
	assert_int_equal(aif_live_reader_new(KEEP, 1 << 20, &r), 0);
	assert_int_equal(aif_live_feed(r, s.to.out.data, s.to.out.len, &n, &err), -EPROTO);
	assert_non_null(strstr(err.text, "another version of aiflame"));
	aif_live_reader_free(r);
	finish(&s);
	aif_profile_finish(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_as_a_file, enter_directory,
						leave_directory),
		cmocka_unit_test_setup_teardown(memory_stays_within_the_window, enter_directory,
						leave_directory),
		cmocka_unit_test_setup_teardown(ops_are_given_once, enter_directory,
						leave_directory),
		cmocka_unit_test_setup_teardown(test_bound_on_bytes, enter_directory,
						leave_directory),
		cmocka_unit_test_setup_teardown(damaged_streams_are_survived, enter_directory,
						leave_directory),
		cmocka_unit_test_setup_teardown(streams_of_other_versions_are_refused,
						enter_directory, leave_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
