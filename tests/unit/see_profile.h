/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Files as databases and as bytes; and reading everything of an opened profile, which fails the test if an id in it
 * points nowhere. After cmocka.h. */

#include "base/map.h"
#include "analysis/attribution.h"
#include "analysis/memory.h"
#include "analysis/step_changes.h"
#include "profile/file.h"
#include "profile/schema.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Runs SQL as an attacker would, without SQLite's defensive mode. */
static inline void run_sql(const char *path, const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	sqlite3_close(db);
}

static inline int64_t ask_sql(const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *s;
	int64_t v;

	assert_int_equal(sqlite3_open("p", &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	v = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return v;
}

static inline void write_file(const char *path, const void *data, size_t n)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), n);
	close(fd);
}

struct image {
	uint8_t *bytes;
	size_t len;
};

static inline struct image read_image(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	struct image m;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	m.len = (size_t)st.st_size;
	m.bytes = malloc(m.len);
	assert_non_null(m.bytes);
	assert_int_equal(read(fd, m.bytes, m.len), m.len);
	close(fd);
	return m;
}

/* ---- reading all of it ----------------------------------------------------------------------- */

struct seen {
	const struct aif_profile *p;
	size_t rows;
};

static void assert_id(uint32_t id, size_t len)
{
	if (id >= len && id != AIF_NONE)
		fail_msg("an id of %u in a table of %zu", id, len);
}

static int see_launches(void *arg, const struct aif_launch_row *l, size_t n)
{
	struct seen *s = arg;

	for (size_t i = 0; i < n; i++) {
		assert_id(l[i].thread, s->p->threads_len);
		assert_id(l[i].kernel, s->p->kernels_len);
		assert_id(l[i].device, s->p->devices_len);
		assert_id(l[i].stream, s->p->streams_len);
		assert_id(l[i].stack, s->p->stacks_len);
		assert_id(l[i].shape, s->p->shapes_len);
	}
	s->rows += n;
	return 0;
}

static int see_execs(void *arg, const struct aif_exec_row *x, size_t n)
{
	struct seen *s = arg;

	for (size_t i = 0; i < n; i++) {
		assert_id(x[i].process, s->p->processes_len);
		assert_id(x[i].kernel, s->p->kernels_len);
		assert_id(x[i].device, s->p->devices_len);
		assert_id(x[i].stream, s->p->streams_len);
	}
	s->rows += n;
	return 0;
}

static int see_samples(void *arg, const struct aif_sample_row *x, size_t n)
{
	struct seen *s = arg;

	for (size_t i = 0; i < n; i++) {
		assert_id(x[i].thread, s->p->threads_len);
		assert_id(x[i].process, s->p->processes_len);
		assert_id(x[i].device, s->p->devices_len);
		assert_id(x[i].frame, s->p->frames_len);
		assert_id(x[i].reason, s->p->strings.len);
	}
	s->rows += n;
	return 0;
}

static int see_windows(void *arg, const struct aif_window_row *x, size_t n)
{
	struct seen *s = arg;

	for (size_t i = 0; i < n; i++) {
		assert_id(x[i].process, s->p->processes_len);
		assert_id(x[i].device, s->p->devices_len);
		assert_id(x[i].thread, s->p->threads_len);
	}
	s->rows += n;
	return 0;
}

static int see_cpu(void *arg, const struct aif_cpu_row *x, size_t n)
{
	struct seen *s = arg;

	for (size_t i = 0; i < n; i++) {
		assert_id(x[i].thread, s->p->threads_len);
		assert_id(x[i].stack, s->p->stacks_len);
	}
	s->rows += n;
	return 0;
}

static int see_ops(void *arg, const struct aif_op_row *x, size_t n)
{
	struct seen *s = arg;

	for (size_t i = 0; i < n; i++) {
		assert_id(x[i].thread, s->p->threads_len);
		assert_id(x[i].name, s->p->strings.len);
		assert_id(x[i].shapes, s->p->strings.len);
		assert_id(x[i].stack, s->p->stacks_len);
	}
	s->rows += n;
	return 0;
}

static int see_counters(void *arg, const struct aif_counter_row *x, size_t n)
{
	struct seen *s = arg;

	for (size_t i = 0; i < n; i++) {
		assert_id(x[i].device, s->p->devices_len);
		assert_id(x[i].name, s->p->strings.len);
		assert_id(x[i].unit, s->p->strings.len);
		assert_id(x[i].process, s->p->processes_len);
	}
	s->rows += n;
	return 0;
}

static int see_memory(void *arg, const struct aif_memory_row *x, size_t n)
{
	struct seen *s = arg;

	for (size_t i = 0; i < n; i++) {
		assert_id(x[i].thread, s->p->threads_len);
		assert_id(x[i].stack, s->p->stacks_len);
		assert_id(x[i].device, s->p->devices_len);
	}
	s->rows += n;
	return 0;
}

static int see_step_sums(void *arg, const struct aif_step_sum_row *x, size_t n)
{
	struct seen *s = arg;

	for (size_t i = 0; i < n; i++) {
		assert_id(x[i].thread, s->p->threads_len);
		assert_id(x[i].stack, s->p->stacks_len);
		assert_id(x[i].device, s->p->devices_len);
		assert_id(x[i].kernel, s->p->kernels_len);
	}
	s->rows += n;
	return 0;
}

/* Changes of whatever rows are of processes, and of steps that have numbers. */
static void see_changes(const struct aif_profile *p)
{
	struct aif_step_changes c;

	assert_int_equal(aif_step_changes_find(p, NULL, &c), 0);
	for (size_t i = 0; i < c.len; i++) {
		assert_true(c.at[i].process < p->processes_len);
		assert_true(c.at[i].first && c.at[i].first <= c.at[i].last);
	}
	aif_step_changes_worst(&c);
	aif_step_changes_finish(&c);
}

/* Computed of whatever rows; a block that is not there at the peak is of no device's. */
static void see_blocks(const struct aif_profile *p)
{
	struct aif_memory m;

	assert_int_equal(aif_memory_read(p, NULL, &m), 0);
	for (size_t i = 0; i < m.blocks_len; i++)
		assert_true(m.blocks[i].first < m.events_len);
	for (size_t i = 0; i < m.devices_len; i++) {
		const struct aif_memory_device *d = &m.devices[i];
		uint64_t sum = d->before;

		for (size_t k = 0; k < m.blocks_len; k++)
			if (m.blocks[k].device == d->device &&
			    aif_memory_is_at_peak(&m, &m.blocks[k]))
				sum += m.blocks[k].bytes;
		assert_int_equal(d->peak ? sum : 0, d->peak);
	}
	aif_memory_finish(&m);
}

static void see_tables(const struct aif_profile *p)
{
	for (size_t i = 0; i < AIF_TABLE_COUNT; i++) {
		const struct aif_schema_table *t = &aif_schema_tables[i];

		for (size_t c = 0; c < t->columns_len; c++) {
			const struct aif_schema_column *col = &t->columns[c];

			for (size_t row = 0; row < *aif_schema_len(p, t); row++) {
				uint8_t *at = (uint8_t *)aif_schema_rows(p, t) + row * t->row_size;
				uint32_t id;

				memcpy(&id, at + col->offset, sizeof(id));
				if (col->type != AIF_TYPE_REF)
					continue;
				if (col->ref == AIF_TABLE_STRING)
					assert_id(id, p->strings.len);
				else
					assert_id(id,
						  *aif_schema_len(p, &aif_schema_tables[col->ref]));
			}
		}
	}
	for (uint32_t i = 0; i < p->stacks_len; i++)
		assert_true(p->stacks[i].parent == AIF_NONE ? p->stacks[i].depth == 1
							    : p->stacks[i].parent < i);
	for (size_t i = 0; i < p->codes_len; i++)
		if (p->codes[i].bytes)
			aif_hash_bytes(p->codes[i].bytes, p->codes[i].size);
	for (uint32_t i = 0; i < p->strings.len; i++) {
		size_t n;
		const char *s = aif_strset_get(&p->strings, i, &n);

		assert_int_equal(s[n], 0);
	}
	assert_non_null(aif_profile_meta(p, "host"));
}

static void see_attribution(const struct aif_profile *p, const struct aif_selection *opts)
{
	struct aif_attribution a;
	struct aif_err err = {0};
	struct aif_buf text = {0};

	assert_int_equal(aif_attribution_compute(p, opts, &a, &err), 0);
	for (size_t i = 0; i < a.rows_len; i++) {
		const struct aif_attribution_row *r = &a.rows[i];

		assert_id(r->process, p->processes_len);
		assert_id(r->device, p->devices_len);
		assert_id(r->stream, p->streams_len);
		assert_id(r->kernel, p->kernels_len);
		assert_id(r->stack, p->stacks_len);
		assert_id(r->frame, p->frames_len);
		assert_id(r->reason, p->strings.len);
	}
	aif_conservation_check(&a.conservation, &text);
	aif_buf_finish(&text);
	aif_attribution_finish(&a);
}

static inline void see_everything(const struct aif_profile *p, struct seen *s)
{
	/* Selects all there is, but computes it even where the cache has it. */
	static const struct aif_selection computed = {.from_ns = 1};

	*s = (struct seen){.p = p};
	see_tables(p);
	assert_int_equal(aif_profile_launches(p, see_launches, s, NULL), 0);
	assert_int_equal(aif_profile_execs(p, see_execs, s, NULL), 0);
	assert_int_equal(aif_profile_samples(p, see_samples, s, NULL), 0);
	assert_int_equal(aif_profile_windows(p, see_windows, s, NULL), 0);
	assert_int_equal(aif_profile_cpu(p, see_cpu, s, NULL), 0);
	assert_int_equal(aif_profile_ops(p, see_ops, s, NULL), 0);
	assert_int_equal(aif_profile_counters(p, see_counters, s, NULL), 0);
	assert_int_equal(aif_profile_memory(p, see_memory, s, NULL), 0);
	see_blocks(p);
	assert_int_equal(aif_profile_step_sums(p, see_step_sums, s, NULL), 0);
	see_changes(p);
	see_attribution(p, NULL);
	if (!(p->notes & AIF_NOTE_CUT_SHORT)) /* which have no cache */
		see_attribution(p, &computed);
}
