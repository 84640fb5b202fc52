/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Rows for a file in a directory of its own, and what is read back. */

#include "fixture_profile.h"

#include "profile/file_writer.h"
#include "temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 5000, WINDOWS = 4 };

static struct aif_launch_row launches[ROWS];
static struct aif_exec_row execs[ROWS];
static struct aif_sample_row samples[ROWS];
static struct aif_window_row windows[WINDOWS];

static inline int enter_directory(void **state)
{
	char *dir = NULL;

	if (asprintf(&dir, "%s/aiflame-test-XXXXXX", temp_dir()) < 0 || !mkdtemp(dir) ||
	    chdir(dir) < 0)
		return -1;
	*state = dir;
	for (uint64_t i = 0; i < ROWS; i++) {
		launches[i] = fixture_launch(i);
		execs[i] = fixture_exec(i);
		samples[i] = fixture_sample(i);
	}
	for (uint64_t i = 0; i < WINDOWS; i++)
		windows[i] = fixture_window(i);
	return 0;
}

static inline int leave_directory(void **state)
{
	static const char *const names[] = {"p", "p-journal", "p.old", "p.old-journal",
					    "q", "q-journal"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		unlink(names[i]);
	if (chdir("/") < 0 || rmdir(*state) < 0)
		return -1;
	free(*state);
	return 0;
}

struct all_rows {
	uint8_t *rows;
	size_t row_size, len, cap;
};

static inline int take_rows(struct all_rows *all, const void *rows, size_t n)
{
	assert_int_equal(aif_grow(&all->rows, &all->cap, all->len + n, all->row_size), 0);
	memcpy(all->rows + all->len * all->row_size, rows, n * all->row_size);
	all->len += n;
	return 0;
}

static inline int take_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	return take_rows(arg, rows, n);
}
static inline int take_execs(void *arg, const struct aif_exec_row *rows, size_t n)
{
	return take_rows(arg, rows, n);
}
static inline int take_samples(void *arg, const struct aif_sample_row *rows, size_t n)
{
	return take_rows(arg, rows, n);
}
static inline int take_windows(void *arg, const struct aif_window_row *rows, size_t n)
{
	return take_rows(arg, rows, n);
}
static inline int take_ops(void *arg, const struct aif_op_row *rows, size_t n)
{
	return take_rows(arg, rows, n);
}

static inline int take_counters(void *arg, const struct aif_counter_row *rows, size_t n)
{
	return take_rows(arg, rows, n);
}

static inline int take_memory(void *arg, const struct aif_memory_row *rows, size_t n)
{
	return take_rows(arg, rows, n);
}

static inline int take_cpu_rows(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	return take_rows(arg, rows, n);
}

static inline int take_step_sums(void *arg, const struct aif_step_sum_row *rows, size_t n)
{
	return take_rows(arg, rows, n);
}

static inline struct all_rows read_all(const struct aif_profile *p, enum aif_chunk_kind kind)
{
	struct all_rows all = {.row_size = aif_chunk_row_size(kind)};
	uint64_t bad = 1;
	int r = kind == AIF_CHUNK_LAUNCHES    ? aif_profile_launches(p, take_launches, &all, &bad)
		: kind == AIF_CHUNK_EXECS     ? aif_profile_execs(p, take_execs, &all, &bad)
		: kind == AIF_CHUNK_SAMPLES   ? aif_profile_samples(p, take_samples, &all, &bad)
		: kind == AIF_CHUNK_OPS       ? aif_profile_ops(p, take_ops, &all, &bad)
		: kind == AIF_CHUNK_MEMORY    ? aif_profile_memory(p, take_memory, &all, &bad)
		: kind == AIF_CHUNK_COUNTERS  ? aif_profile_counters(p, take_counters, &all, &bad)
		: kind == AIF_CHUNK_CPU       ? aif_profile_cpu(p, take_cpu_rows, &all, &bad)
		: kind == AIF_CHUNK_STEP_SUMS ? aif_profile_step_sums(p, take_step_sums, &all, &bad)
					      : aif_profile_windows(p, take_windows, &all, &bad);

	assert_int_equal(r, 0);
	assert_int_equal(bad, 0);
	return all;
}

/* The answer of a query of the file itself. */
static inline uint64_t sql_number(const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *s;
	uint64_t v;

	assert_int_equal(sqlite3_open_v2("p", &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	v = (uint64_t)sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return v;
}

static inline void assert_rows(const struct aif_profile *p, enum aif_chunk_kind kind,
			       const void *want, size_t n)
{
	struct all_rows all = read_all(p, kind);

	assert_int_equal(all.len, n);
	if (n)
		assert_memory_equal(all.rows, want, n * all.row_size);
	free(all.rows);
}

static inline void write_rows(struct aif_writer *w, struct aif_err *err)
{
	assert_ok(aif_writer_launches(w, launches, ROWS, err), err);
	assert_ok(aif_writer_execs(w, execs, ROWS, err), err);
	assert_ok(aif_writer_samples(w, samples, ROWS, err), err);
	assert_ok(aif_writer_windows(w, windows, WINDOWS, err), err);
}

static inline void write_profile(const char *path, const struct aif_profile *p)
{
	struct aif_err err = {0};
	struct aif_writer *w;

	assert_ok(aif_writer_new(path, p->start_ns, &w, &err), &err);
	assert_ok(aif_writer_tables(w, p, &err), &err);
	write_rows(w, &err);
	assert_ok(aif_writer_commit(w, &err), &err);
	assert_true(aif_writer_size(w) > 4096);
	assert_ok(aif_writer_finish(w, p->end_ns, &err), &err);
}

/* Every field of every table, found through the schema; the bytes of code apart. */
static inline void assert_tables_equal(const struct aif_profile *a, const struct aif_profile *b)
{
	assert_int_equal(a->strings.len, b->strings.len);
	for (uint32_t i = 0; i < a->strings.len; i++) {
		size_t n, m;
		const char *s = aif_strset_get(&a->strings, i, &n);
		const char *t = aif_strset_get(&b->strings, i, &m);

		assert_int_equal(n, m);
		assert_memory_equal(s, t, n);
	}
	for (size_t i = 0; i < AIF_TABLE_COUNT; i++) {
		const struct aif_schema_table *t = &aif_schema_tables[i];
		size_t n = *aif_schema_len(a, t);

		if (n == 0)
			fail_msg("the fixture has no row in %s", t->name);
		assert_int_equal(n, *aif_schema_len(b, t));
		for (size_t row = 0; row < n; row++)
			for (size_t c = 0; c < t->columns_len; c++) {
				size_t at = row * t->row_size + t->columns[c].offset;
				size_t size = t->columns[c].type == AIF_TYPE_U64 ? 8 : 4;

				if (t->columns[c].type == AIF_TYPE_BYTES ||
				    t->columns[c].type == AIF_TYPE_PACKED)
					continue;
				assert_memory_equal((uint8_t *)aif_schema_rows(a, t) + at,
						    (uint8_t *)aif_schema_rows(b, t) + at, size);
			}
	}
	for (size_t i = 0; i < a->codes_len; i++) {
		assert_int_equal(!a->codes[i].bytes, !b->codes[i].bytes);
		if (a->codes[i].bytes)
			assert_memory_equal(a->codes[i].bytes, b->codes[i].bytes, a->codes[i].size);
	}
	for (size_t i = 0; i < a->stacks_len; i++)
		assert_int_equal(a->stacks[i].depth, b->stacks[i].depth);
}
