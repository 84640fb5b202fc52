/* SPDX-License-Identifier: Apache-2.0 */
#include "query/print.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/scratch.h"
#include "profile/sqlite_error.h"
#include "profile/sqlite_path.h"
#include "query/tables.h"
#include "query/temp_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rows and bytes held at a time: columns of a plain table are aligned within these many rows. */
#define PART_ROWS  4096
#define PART_BYTES (1 << 20)

/* The database that is exported into. */
#define OTHER "exported"

#define PAGE_BYTES      16384 /* as write_tables() asks for */
#define UNWRITTEN_BYTES ((uint64_t)8 << 20)

/* Instructions of SQLite's machine between two looks at whether it is to stop: under a millisecond. */
#define STOP_STEPS 10000

static void add_value(struct aif_table *t, sqlite3_stmt *stmt, int i)
{
	char text[40];

	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_NULL:
		aif_table_any(t, '0', NULL, 0);
		break;
	case SQLITE_INTEGER:
	case SQLITE_FLOAT: {
		const unsigned char *s = sqlite3_column_text(stmt, i);

		snprintf(text, sizeof(text), "%s", s ? (const char *)s : "");
		aif_table_any(t, 'n', text, strlen(text));
		break;
	}
	case SQLITE_BLOB: {
		const void *bytes = sqlite3_column_blob(stmt, i);

		aif_table_blob(t, bytes, bytes ? (size_t)sqlite3_column_bytes(stmt, i) : 0);
		break;
	}
	default: {
		const unsigned char *s = sqlite3_column_text(stmt, i);

		aif_table_any(t, 't', s ? s : (const unsigned char *)"",
			      s ? (size_t)sqlite3_column_bytes(stmt, i) : 0);
	}
	}
	/* A value that could not be made is NULL. */
	if (sqlite3_errcode(sqlite3_db_handle(stmt)) == SQLITE_NOMEM)
		aif_memory_fail();
}

/* arg: CPU time of the process at which a statement is stopped, ns. */
static int is_over_time(void *arg)
{
	return aif_clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= *(const uint64_t *)arg;
}

static int refused(struct aif_query *q, struct aif_err *err)
{
	const char *message = sqlite3_errmsg(aif_query_db(q));
	int code = sqlite3_errcode(aif_query_db(q)) & 0xff;

	if (aif_temp_files_over(q->temp))
		return aif_err_set(
			err, -EFBIG,
			"query: stopped: its temporary files would become larger than "
			"--max-temp allows; see that each recursion ends and each join has a "
			"condition, or give it more");
	if (code == SQLITE_INTERRUPT)
		return aif_err_set(err, -ETIME,
				   "query: stopped: it took more CPU time than --timeout allows; "
				   "see that each recursion ends, or give it more time");
	return aif_err_set(err, -EINVAL, "query: %s%s", message,
			   code == SQLITE_AUTH ? "; a query only reads: write a SELECT"
			   : !strncmp(message, "no such table", 13)
				   ? "; aiflame query .tables lists those that there are"
			   : !strncmp(message, "no such column", 14)
				   ? "; aiflame query .schema lists those that there are"
				   : "");
}

static int print_rows(struct aif_query *q, sqlite3_stmt *stmt, struct aif_table *t,
		      enum aif_table_format format, struct aif_out *out, struct aif_err *err)
{
	int s = SQLITE_ROW;

	while (s == SQLITE_ROW) {
		for (size_t n = 0; n < PART_ROWS && t->text.bytes_len < PART_BYTES &&
				   (s = sqlite3_step(stmt)) == SQLITE_ROW;
		     n++)
			for (size_t i = 0; i < t->width; i++)
				add_value(t, stmt, (int)i);
		if (s != SQLITE_ROW && s != SQLITE_DONE)
			return refused(q, err);
		if (aif_table_print_part(t, format, s == SQLITE_DONE, aif_out_buf(out)) < 0)
			return aif_err_set(err, -ENOMEM, "out of memory");
		aif_out_flush_if_full(out);
		if (out->error)
			break; /* which the commit will say */
	}
	return 0;
}

int aif_query_print(struct aif_query *q, const char *sql, enum aif_table_format format,
		    size_t columns_max, const struct aif_query_limits *limits, struct aif_out *out,
		    struct aif_err *err)
{
	uint64_t until_ns = aif_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + limits->cpu_ns;
	struct aif_table_column *columns = NULL;
	sqlite3_stmt *stmt = NULL;
	struct aif_table t = {0};
	const char *rest;
	int width, r = 0;

	if (sqlite3_prepare_v2(aif_query_db(q), sql, -1, &stmt, &rest) != SQLITE_OK)
		return refused(q, err);
	if (!stmt)
		return aif_err_set(
			err, -EINVAL,
			"query: there is no statement; try 'SELECT * FROM kernel_times'");
	while (*rest == ' ' || *rest == ';' || *rest == '\n' || *rest == '\t')
		rest++;
	width = sqlite3_column_count(stmt);
	columns = calloc((size_t)AIF_MAX(width, 1), sizeof(*columns));
	if (*rest)
		r = aif_err_set(err, -EINVAL,
				"query: give one statement at a time; more was given: %.40s", rest);
	else if (!columns)
		r = aif_err_set(err, -ENOMEM, "out of memory");
	else if (!width) /* VACUUM and REINDEX, which SQLite asks nobody about until they are run */
		r = aif_err_set(err, -EINVAL,
				"query: not authorized: a query only reads; use SELECT");
	for (int i = 0; i < width && !r; i++)
		columns[i] = (struct aif_table_column){sqlite3_column_name(stmt, i), AIF_TABLE_ANY};
	if (!r && width) {
		aif_table_init(&t, columns, (size_t)width);
		t.columns_max = columns_max;
		if (limits->cpu_ns)
			sqlite3_progress_handler(aif_query_db(q), STOP_STEPS, is_over_time,
						 &until_ns);
		aif_temp_files_bound(q->temp, limits->temp_bytes);
		r = print_rows(q, stmt, &t, format, out, err);
		sqlite3_progress_handler(aif_query_db(q), 0, NULL, NULL);
		aif_temp_files_bound(q->temp, 0);
		aif_table_finish(&t);
	}
	sqlite3_finalize(stmt);
	free(columns);
	return r;
}

/* Copies one of our tables into the database that is attached. Ours is virtual and in none:
 * `main.` distinguishes it from the copy of that name. */
static int copy_table(sqlite3 *db, const char *name)
{
	struct aif_buf create = {0}, copy = {0};
	sqlite3_stmt *from = NULL;
	int r;

	aif_buf_printf(&copy, "SELECT * FROM main.%s", name);
	r = sqlite3_prepare_v2(db, aif_buf_str(&copy), -1, &from, NULL);
	aif_buf_printf(&create, "CREATE TABLE " OTHER ".%s(", name);
	for (int i = 0; r == SQLITE_OK && i < sqlite3_column_count(from); i++)
		aif_buf_printf(&create, "%s\"%s\"", i ? ", " : "", sqlite3_column_name(from, i));
	sqlite3_finalize(from);
	aif_buf_puts(&create, ")");
	aif_buf_clear(&copy);
	aif_buf_printf(&copy, "INSERT INTO " OTHER ".%s SELECT * FROM main.%s", name, name);
	if (aif_buf_failed(&create) || aif_buf_failed(&copy))
		r = SQLITE_NOMEM;
	if (r == SQLITE_OK)
		r = sqlite3_exec(db, aif_buf_str(&create), NULL, NULL, NULL);
	if (r == SQLITE_OK)
		r = sqlite3_exec(db, aif_buf_str(&copy), NULL, NULL, NULL);
	aif_buf_finish(&create);
	aif_buf_finish(&copy);
	return r;
}

static int attach(sqlite3 *db, const char *path)
{
	sqlite3_stmt *s = NULL;
	int r = sqlite3_prepare_v2(db, "ATTACH ? AS " OTHER, -1, &s, NULL);

	if (r == SQLITE_OK)
		r = sqlite3_bind_text(s, 1, path, -1, SQLITE_STATIC);
	if (r == SQLITE_OK)
		r = sqlite3_step(s);
	sqlite3_finalize(s);
	return r == SQLITE_DONE ? SQLITE_OK : r;
}

/* SQLite is full at so many pages, as it is where the disk is. */
static int bound_pages(sqlite3 *db, uint64_t max_bytes)
{
	struct aif_buf sql = {0};
	int r;

	aif_buf_printf(&sql, "PRAGMA " OTHER ".max_page_count=%" PRIu64,
		       AIF_MIN(max_bytes / PAGE_BYTES + 1, (uint64_t)INT32_MAX));
	r = aif_buf_failed(&sql) ? SQLITE_NOMEM
				 : sqlite3_exec(db, aif_buf_str(&sql), NULL, NULL, NULL);
	aif_buf_finish(&sql);
	return r;
}

/* Returns true if the file is as large as allowed, but for the few megabytes that SQLite still held
 * back when it was full. */
static bool is_over(const char *path, uint64_t max_bytes)
{
	struct stat st;

	return max_bytes && stat(path, &st) == 0 &&
	       (uint64_t)st.st_size + UNWRITTEN_BYTES >= max_bytes;
}

static int write_tables(sqlite3 *db, uint64_t max_bytes)
{
	int r = sqlite3_exec(db,
			     "PRAGMA " OTHER ".page_size=16384; PRAGMA " OTHER ".journal_mode=OFF; "
			     "PRAGMA " OTHER ".synchronous=OFF; PRAGMA " OTHER
			     ".locking_mode=EXCLUSIVE",
			     NULL, NULL, NULL);

	if (r == SQLITE_OK && max_bytes)
		r = bound_pages(db, max_bytes);
	if (r == SQLITE_OK)
		r = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);

	for (size_t i = 0; r == SQLITE_OK && aif_query_table(i); i++)
		r = copy_table(db, aif_query_table(i));
	return r == SQLITE_OK
		       ? sqlite3_exec(db, AIF_QUERY_VIEWS("", OTHER ".") "COMMIT", NULL, NULL, NULL)
		       : r;
}

static int is_stopped(void *stopped)
{
	return *(const volatile sig_atomic_t *)stopped != 0;
}

/* Into the file `temp`, which is there and empty. The query is good for nothing else then. */
static int export_to(struct aif_query *q, const char *temp, const char *path, uint64_t max_bytes,
		     const volatile sig_atomic_t *stopped, struct aif_err *err)
{
	sqlite3 *db = aif_query_db(q);
	int r = aif_sqlite_path_check(temp, "write", "use a directory with a shorter name", err);

	if (r < 0)
		return r;
	if (stopped)
		sqlite3_progress_handler(db, STOP_STEPS, is_stopped, (void *)stopped);
	sqlite3_set_authorizer(db, NULL, NULL); /* what is run from here on is ours */
	r = attach(db, temp);
	if (r == SQLITE_OK)
		r = write_tables(db, max_bytes);
	if (r == SQLITE_OK)
		r = sqlite3_exec(db, "DETACH " OTHER, NULL, NULL, NULL);
	if ((r & 0xff) == SQLITE_INTERRUPT)
		return aif_err_set(err, -EINTR, "%s: stopped", path);
	if ((r & 0xff) == SQLITE_FULL && is_over(temp, max_bytes))
		return aif_out_say_over(path, max_bytes, err);
	if ((r & 0xff) == SQLITE_FULL)
		return aif_err_set(err, -ENOSPC,
				   "%s: the disk is full; free space or write elsewhere", path);
	if ((r & 0xff) == SQLITE_NOMEM)
		return aif_err_set(err, -ENOMEM, "export: %s", aif_sqlite_why(db));
	if (r != SQLITE_OK)
		return aif_err_set(err, -EIO, "%s: %s",
				   (r & 0xff) == SQLITE_ERROR ? "export" : path,
				   aif_sqlite_why(db));
	return 0;
}

static int copy_to_stdout(int fd, const volatile sig_atomic_t *stopped, struct aif_err *err)
{
	struct aif_out out;
	ssize_t n = 1;
	int r = aif_out_open(&out, "-", err);

	if (r == 0)
		out.stopped = stopped;
	for (off_t at = 0; r == 0 && n > 0 && !out.error; at += n) {
		uint8_t part[65536];

		n = pread(fd, part, sizeof(part), at);
		if (n < 0) {
			r = aif_err_set(err, -errno, "export: %s", strerror(errno));
			aif_out_abort(&out);
		} else {
			aif_buf_append(aif_out_buf(&out), part, (size_t)n);
			aif_out_flush_if_full(&out);
		}
	}
	return r ? r : aif_out_commit(&out, err);
}

/* SQLite writes files only: one without a name any more. */
static int export_to_stdout(struct aif_query *q, uint64_t max_bytes,
			    const volatile sig_atomic_t *stopped, struct aif_scratch *scratch,
			    struct aif_err *err)
{
	const char *dir = getenv("TMPDIR");
	char *temp = NULL;
	int fd = -1, r = 0;

	if (isatty(STDOUT_FILENO))
		return aif_err_set(err, -EINVAL,
				   "export: standard output is a terminal, and an SQLite "
				   "file is not text; redirect it with | or >");
	if (asprintf(&temp, "%s/aiflame-XXXXXX", dir && *dir ? dir : "/tmp") < 0)
		return aif_err_set(err, -ENOMEM, "out of memory");
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		r = aif_err_set(err, -errno,
				"%s: %s; set TMPDIR to a directory that can be "
				"written",
				temp, strerror(errno));
	if (r == 0) {
		aif_scratch_put(scratch, temp);
		r = export_to(q, temp, temp, max_bytes, stopped, err);
		unlink(temp);
		aif_scratch_take(scratch, temp);
	}
	if (r == 0)
		r = copy_to_stdout(fd, stopped, err);
	if (fd >= 0)
		close(fd);
	free(temp);
	return r;
}

int aif_query_export(struct aif_query *q, const char *path, uint64_t max_bytes,
		     const volatile sig_atomic_t *stopped, struct aif_scratch *scratch,
		     struct aif_err *err)
{
	struct aif_out out;
	int r;

	if (!strcmp(path, "-"))
		return export_to_stdout(q, max_bytes, stopped, scratch, err);
	r = aif_out_open_stoppable(&out, path, stopped, scratch, err);
	if (r < 0)
		return r;
	if (!out.temp_path)
		r = aif_err_set(err, -EINVAL,
				"export: %s is not a regular file, which SQLite needs; use "
				"-o -",
				path);
	else
		r = export_to(q, out.temp_path, path, max_bytes, stopped, err);
	if (r < 0) {
		aif_out_abort(&out);
		return r;
	}
	return aif_out_commit(&out, err);
}
