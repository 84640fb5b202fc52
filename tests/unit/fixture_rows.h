/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Rows for a file in a directory of its own, and what is read back. */

#include "fixture_profile.h"

#include "profile/file_writer.h"

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
	char *dir = strdup("/tmp/aiflame-test-XXXXXX");

	*state = dir;
	if (!dir || !mkdtemp(dir) || chdir(dir) < 0)
		return -1;
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

static inline struct all_rows read_all(const struct aif_profile *p, enum aif_chunk_kind kind)
{
	struct all_rows all = {.row_size = aif_chunk_row_size(kind)};
	uint64_t bad = 1;
	int r = kind == AIF_CHUNK_LAUNCHES   ? aif_profile_launches(p, take_launches, &all, &bad)
		: kind == AIF_CHUNK_EXECS    ? aif_profile_execs(p, take_execs, &all, &bad)
		: kind == AIF_CHUNK_SAMPLES  ? aif_profile_samples(p, take_samples, &all, &bad)
		: kind == AIF_CHUNK_OPS      ? aif_profile_ops(p, take_ops, &all, &bad)
		: kind == AIF_CHUNK_COUNTERS ? aif_profile_counters(p, take_counters, &all, &bad)
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
