/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a profile and reading it back. Kills and full disks are in test_file_system.c, hostile files in
 * test_file_hostile.c and test_file_damaged.c, what is dropped in test_trim.c. */
#include "profile/code_pack.h"
#include "fixture_rows.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <time.h>

static void a_profile_comes_back_whole(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct stat st;

	(void)state;
	fixture_profile(&p);
	write_profile("p", &p);
	assert_int_equal(stat("p", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_not_equal(access("p-journal", F_OK), 0);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(got.notes, 0);
	assert_int_equal(got.start_ns, p.start_ns);
	assert_int_equal(got.end_ns, p.end_ns);
	assert_tables_equal(&p, &got);
	assert_string_equal(aif_profile_meta(&got, "host"), "h\xc3\xa4l");
	assert_string_equal(aif_profile_meta(&got, "none"), "");
	assert_rows(&got, AIF_CHUNK_LAUNCHES, launches, ROWS);
	assert_rows(&got, AIF_CHUNK_EXECS, execs, ROWS);
	assert_rows(&got, AIF_CHUNK_SAMPLES, samples, ROWS);
	assert_rows(&got, AIF_CHUNK_WINDOWS, windows, WINDOWS);
	assert_rows(&got, AIF_CHUNK_OPS, NULL, 0);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

/* Ops come in any order, and are sorted: by clock, then by time, and of the same time in their
 * order. */
static void operators_are_sorted_by_time(void **state)
{
	static struct aif_op_row ops[ROWS], given[ROWS];
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_writer *w;

	(void)state;
	for (uint64_t i = 0; i < ROWS; i++)
		ops[i] = fixture_op(i, ROWS);
	for (size_t i = 0; i < ROWS; i += 2)
		memcpy(&given[i], &ops[ROWS - 2 - i], 2 * sizeof(*ops));
	fixture_profile(&p);
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_ops(w, given, ROWS, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	assert_int_equal(sql_number("SELECT count(*) FROM chunk WHERE kind = 6"), 2);
	assert_int_equal(sql_number("SELECT sum(rows) FROM chunk WHERE clock = 2"), ROWS / 2);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_rows(&got, AIF_CHUNK_OPS, ops, ROWS);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

/* In the order of their times; whose device or name is not there is of none. */
static void counters_are_sorted_by_time(void **state)
{
	static struct aif_counter_row counters[ROWS], given[ROWS];
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_writer *w;

	(void)state;
	for (uint64_t i = 0; i < ROWS; i++)
		counters[i] = fixture_counter(i);
	counters[ROWS - 1].value = -0.0;
	counters[ROWS - 2].value = 1e308;
	for (size_t i = 0; i < ROWS; i += 2)
		memcpy(&given[i], &counters[ROWS - 2 - i], 2 * sizeof(*counters));
	fixture_profile(&p);
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_counters(w, given, ROWS, &err), &err);
	given[0] = counters[ROWS - 1];
	given[0].time++;
	given[0].device = given[0].name = given[0].unit = given[0].process = 1000000;
	assert_ok(aif_writer_counters(w, given, 1, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	assert_int_equal(sql_number("SELECT sum(total) FROM chunk WHERE kind = 7"), ROWS + 1);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	{
		struct all_rows all = read_all(&got, AIF_CHUNK_COUNTERS);
		const struct aif_counter_row *last = (const void *)(all.rows + ROWS * all.row_size);

		assert_int_equal(all.len, ROWS + 1);
		assert_memory_equal(all.rows, counters, sizeof(counters));
		assert_int_equal(last->device, AIF_NONE);
		assert_int_equal(last->name, AIF_NONE);
		assert_int_equal(last->unit, AIF_NONE);
		assert_int_equal(last->process, AIF_NONE);
		free(all.rows);
	}
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

/* Each as it was, in the order of threads and times; equal times keep their order. */
static void memory_rows_keep_their_order(void **state)
{
	static struct aif_memory_row rows[ROWS];
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_writer *w;

	(void)state;
	for (uint64_t i = 0; i < ROWS; i++)
		rows[i] = (struct aif_memory_row){
			.time = FIXTURE_START + i / 3 * 1000,
			.block = i % 11 ? 0x7f0000000000 + i % 17 * 512 : 0,
			.bytes = 512 * (i % 7),
			.allocated = i % 13 ? i * 512 : AIF_MEMORY_UNKNOWN,
			.reserved = i % 2 ? UINT64_C(1) << 33 : AIF_MEMORY_UNKNOWN,
			.thread = 0,
			.stack = i % 5 ? AIF_NONE : 1,
			.device = i % 3 ? 0 : AIF_NONE,
			.kind = i % 2 ? AIF_MEMORY_RELEASE : AIF_MEMORY_ALLOCATE};
	fixture_profile(&p);
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_memory(w, rows, ROWS, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	assert_int_equal(sql_number("SELECT sum(rows) FROM chunk WHERE kind = 8"), ROWS);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_rows(&got, AIF_CHUNK_MEMORY, rows, ROWS);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

static void an_empty_profile_opens(void **state)
{
	struct aif_profile p = {.start_ns = 7, .end_ns = 9}, got;
	struct aif_err err = {0};
	struct aif_writer *w;

	(void)state;
	assert_ok(aif_writer_new("p", 7, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_launches(w, NULL, 0, &err), &err);
	assert_ok(aif_writer_finish(w, 9, &err), &err);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(got.strings.len, 0);
	assert_int_equal(got.end_ns, 9);
	assert_rows(&got, AIF_CHUNK_LAUNCHES, NULL, 0);
	aif_profile_finish(&got);
}

/* Rows of several threads and clocks, mixed, more than a chunk holds. */
static void test_sorted_and_cut(void **state)
{
	enum { N = 3 * 30000 };
	struct aif_launch_row *l = calloc(N, sizeof(*l));
	struct aif_exec_row *x = calloc(N, sizeof(*x));
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_writer *w;
	struct all_rows all;

	(void)state;
	assert_non_null(l);
	assert_non_null(x);
	fixture_profile(&p);
	for (uint64_t i = 0; i < N; i++) {
		l[i] = fixture_launch(i);
		x[i] = fixture_exec(i);
		l[i].launch = x[i].launch = (i % 3) << 40 | (i / 3);
		x[i].clock = i % 2 ? AIF_CLOCK_DEVICE : AIF_CLOCK_MONOTONIC;
	}
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_launches(w, l, N, &err), &err);
	assert_ok(aif_writer_execs(w, x, N, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	/* 3 counters: 3 chunks of launches; of 2 clocks each for executions. */
	assert_int_equal(got.file->kinds[AIF_CHUNK_LAUNCHES].len, 3);
	assert_int_equal(got.file->kinds[AIF_CHUNK_EXECS].len, 6);
	all = read_all(&got, AIF_CHUNK_LAUNCHES);
	assert_int_equal(all.len, N);
	for (size_t i = 0; i < N; i++) {
		const struct aif_launch_row *row = (const void *)(all.rows + i * sizeof(*l));
		uint64_t was = (row->launch & 0xffffffff) * 3 + (row->launch >> 40);

		assert_true(i == 0 || row->launch > row[-1].launch);
		assert_memory_equal(row, &l[was], sizeof(*row));
	}
	free(all.rows);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
	free(l);
	free(x);
}

/* Rows that change after they were written, and tables that grow from commit to commit. */
static void rows_that_change_and_tables_that_grow_are_written(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_writer *w;

	(void)state;
	fixture_profile(&p);
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	for (int i = 0; i < 3; i++) {
		p.processes[0].end_ns = FIXTURE_START + (uint64_t)i;
		p.losses[0].count += 5;
		FIXTURE_ADD(&p, threads, .process = 0, .tid = (uint32_t)i, .name = 0);
		aif_strset_puts(&p.strings, i == 0 ? "first" : i == 1 ? "second" : "third");
		assert_ok(aif_writer_tables(w, &p, &err), &err);
		assert_ok(aif_writer_commit(w, &err), &err);
	}
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_tables_equal(&p, &got);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

static void test_names_are_sorted(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};

	(void)state;
	fixture_profile(&p);
	FIXTURE_ADD(&p, frame_names, .frame = 0, .inline_depth = 1, .name = 0, .file = 0,
		    .line = 1);
	write_profile("p", &p);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	for (size_t i = 1; i < got.frame_names_len; i++) {
		const struct aif_frame_name *a = &got.frame_names[i - 1], *b = a + 1;

		assert_true(a->frame < b->frame ||
			    (a->frame == b->frame && a->inline_depth < b->inline_depth));
	}
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

/* The outermost of a frame's names are kept, however many there are, and all of the others'. */
static void the_outermost_names_of_a_frame_are_kept(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_writer *w;
	char name[32];

	(void)state;
	fixture_profile(&p);
	p.frame_names_len = 0;
	for (uint32_t i = AIF_FRAME_NAMES_MAX + 10; i--;) /* in any order */
		for (uint32_t frame = 0; frame < 3; frame++) {
			snprintf(name, sizeof(name), "name %u.%u", frame, i);
			FIXTURE_ADD(&p, frame_names, .frame = frame, .inline_depth = i,
				    .name = aif_strset_puts(&p.strings, name), .file = AIF_NONE);
		}
	unlink("p");
	assert_ok(aif_writer_new("p", p.start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, &p, &err), &err);
	assert_ok(aif_writer_finish(w, p.end_ns, &err), &err);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(got.notes, AIF_NOTE_DEEP_NAMES);
	assert_int_equal(got.frame_names_len, 3 * AIF_FRAME_NAMES_MAX);
	for (uint32_t i = 0; i < got.frame_names_len; i++) {
		assert_int_equal(got.frame_names[i].frame, i / AIF_FRAME_NAMES_MAX);
		assert_int_equal(got.frame_names[i].inline_depth, i % AIF_FRAME_NAMES_MAX);
	}
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

static void the_cache_keeps_values_of_the_same_file(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_buf b = {0};

	(void)state;
	fixture_profile(&p);
	assert_int_equal(aif_profile_cache_get(&p, "a", &b), -ENOENT);
	assert_int_equal(aif_profile_cache_put(&p, "a", "x", 1), -ENOENT);
	write_profile("p", &p);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(aif_profile_cache_get(&got, "a", &b), -ENOENT);
	assert_int_equal(aif_profile_cache_put(&got, "a", "xyz", 3), 0);
	assert_int_equal(aif_profile_cache_put(&got, "a", "uv", 2), 0);
	aif_profile_finish(&got);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(aif_profile_cache_get(&got, "a", &b), 0);
	assert_int_equal(b.len, 2);
	assert_memory_equal(b.data, "uv", 2);
	aif_buf_finish(&b);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

/* Code in an earlier file is as its maker wrote it; in this one it is packed, and reads the same. Binaries stay packed, for
 * megabytes of zeros are in them. */
static void packed_code_reads_as_its_bytes(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};
	uint8_t *code = calloc(10000, 1), *binary = calloc(10000, 1), *copy;
	struct aif_code kept[2];

	(void)state;
	assert_true(code && binary);
	code[77] = binary[78] = 1;
	fixture_profile(&p);
	kept[0] = p.codes[0];
	kept[1] = p.codes[1];
	p.codes[0] = (struct aif_code){.module = 1,
				       .name = AIF_NONE,
				       .arch = AIF_NONE,
				       .size = 10000,
				       .bytes = code,
				       .file_offset = 4096};
	p.codes[1] = p.codes[0];
	p.codes[1].arch = aif_strset_puts(&p.strings, AIF_BINARY_ARCH);
	p.codes[1].bytes = binary;
	aif_code_pack(&p.codes[0]);
	aif_code_pack(&p.codes[1]);
	assert_true(!p.codes[0].bytes && p.codes[0].packed && p.codes[0].packed_size < 100);
	write_profile("p", &p);
	assert_int_equal(
		sql_number(
			"SELECT count(*) FROM code WHERE bytes IS NULL AND length(packed) < 100"),
		2);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(got.codes[0].size, 10000);
	assert_int_equal(got.codes[0].file_offset, 4096);
	assert_true(got.codes[0].bytes[76] == 0 && got.codes[0].bytes[77] == 1);
	assert_null(got.codes[1].bytes);
	assert_int_equal(aif_code_unpack(&got.codes[1], &copy), 0);
	assert_true(copy[78] == 1 && copy[9999] == 0);
	free(copy);
	/* A profile that was read is written packed, as by `top`. */
	write_profile("q", &got);
	assert_int_equal(
		sql_number(
			"SELECT count(*) FROM code WHERE bytes IS NULL AND length(packed) < 100"),
		2);
	aif_profile_finish(&got);
	free((void *)(uintptr_t)p.codes[0].packed);
	free((void *)(uintptr_t)p.codes[1].packed);
	p.codes[0] = kept[0];
	p.codes[1] = kept[1];
	aif_profile_finish(&p);
}

/* Noise is stored as it is. */
static void code_that_does_not_shrink_is_not_packed(void **state)
{
	uint8_t *bytes = malloc(64);
	struct aif_code c = {.size = 64, .bytes = bytes};

	(void)state;
	assert_non_null(bytes);
	for (uint64_t i = 0; i < 8; i++)
		((uint64_t *)(void *)bytes)[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	aif_code_pack(&c);
	assert_true(c.bytes == bytes && !c.packed);
	free(bytes);
}

static int stop_at_once(void *arg, const struct aif_exec_row *rows, size_t n)
{
	(void)arg;
	(void)rows;
	return (int)n;
}

static void test_stop_and_ids(void **state)
{
	struct aif_profile p, got;
	struct aif_err err = {0};

	(void)state;
	fixture_profile(&p);
	p.kernels_len = 1; /* rows use three */
	p.modules_len = 2;
	p.frames_len = 3;
	p.stacks_len = 1;
	p.frame_names_len = 1;
	p.codes_len = 1;
	write_profile("p", &p);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	assert_int_equal(aif_profile_execs(&got, stop_at_once, NULL, NULL), ROWS);
	for (enum aif_chunk_kind kind = 1; kind < AIF_CHUNK_KIND_COUNT; kind++) {
		struct all_rows all = read_all(&got, kind);

		for (size_t i = 0; i < all.len && kind == AIF_CHUNK_LAUNCHES; i++) {
			const struct aif_launch_row *row =
				(const void *)(all.rows + i * all.row_size);

			assert_int_equal(row->kernel,
					 launches[i].kernel ? AIF_NONE : launches[i].kernel);
			assert_int_equal(row->stack, AIF_NONE);
		}
		free(all.rows);
	}
	aif_profile_finish(&got);
	p.codes_len = 2;
	aif_profile_finish(&p);
}

/* ---- two views at a time ------------------------------------------------------------------------- */

struct other_view {
	sqlite3 *db;
	sem_t has_file;
};

/* Holds the file for a moment, as a view does that writes its cache. */
static void *hold_the_file(void *arg)
{
	struct other_view *o = arg;

	if (sqlite3_exec(o->db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) != SQLITE_OK)
		abort();
	sem_post(&o->has_file);
	nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
	if (sqlite3_exec(o->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		abort();
	return NULL;
}

static void a_view_waits_for_another_ones_cache(void **state)
{
	struct other_view o = {0};
	struct aif_profile p, got;
	struct aif_err err = {0};
	struct aif_buf cached = {0};
	pthread_t thread;

	(void)state;
	fixture_profile(&p);
	write_profile("p", &p);
	assert_ok(aif_profile_open("p", &got, &err), &err);
	sem_init(&o.has_file, 0, 0);
	assert_int_equal(sqlite3_open("p", &o.db), SQLITE_OK);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&thread, NULL, hold_the_file, &o), 0);
		while (sem_wait(&o.has_file) < 0)
			continue;
		if (i)
			assert_int_equal(aif_profile_cache_put(&got, "name", "data", 4), 0);
		else
			assert_rows(&got, AIF_CHUNK_LAUNCHES, launches, ROWS);
		pthread_join(thread, NULL);
	}
	assert_int_equal(aif_profile_cache_get(&got, "name", &cached), 0);
	aif_buf_finish(&cached);
	sqlite3_close(o.db);
	sem_destroy(&o.has_file);
	aif_profile_finish(&got);
	aif_profile_finish(&p);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, enter_directory, leave_directory)
	const struct CMUnitTest tests[] = {
		TEST(a_profile_comes_back_whole),
		TEST(packed_code_reads_as_its_bytes),
		TEST(code_that_does_not_shrink_is_not_packed),
		TEST(operators_are_sorted_by_time),
		TEST(counters_are_sorted_by_time),
		TEST(memory_rows_keep_their_order),
		TEST(an_empty_profile_opens),
		TEST(a_view_waits_for_another_ones_cache),
		TEST(test_sorted_and_cut),
		TEST(rows_that_change_and_tables_that_grow_are_written),
		TEST(test_names_are_sorted),
		TEST(the_outermost_names_of_a_frame_are_kept),
		TEST(the_cache_keeps_values_of_the_same_file),
		TEST(test_stop_and_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
