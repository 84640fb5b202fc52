/* SPDX-License-Identifier: Apache-2.0 */
#include "export/query_print.h"

#include "profile/sqlite_path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What is held at a time: columns of a plain table are aligned within these many rows. */
#define PART_ROWS  4096
#define PART_BYTES (1 << 20)

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
	default: {
		const void *bytes = sqlite3_column_blob(stmt, i);

		aif_table_any(t, 't', bytes, (size_t)sqlite3_column_bytes(stmt, i));
	}
	}
}

static int refused(struct aif_query *q, struct aif_err *err)
{
	return aif_err_set(err, -EINVAL, "query: %s", sqlite3_errmsg(aif_query_db(q)));
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
		    size_t columns_max, struct aif_out *out, struct aif_err *err)
{
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
				"query: one statement at a time; this is too much: %.40s", rest);
	else if (!columns)
		r = aif_err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < width && !r; i++)
		columns[i] = (struct aif_table_column){sqlite3_column_name(stmt, i), AIF_TABLE_ANY};
	if (!r && width) {
		aif_table_init(&t, columns, (size_t)width);
		t.columns_max = columns_max;
		r = print_rows(q, stmt, &t, format, out, err);
		aif_table_finish(&t);
	}
	sqlite3_finalize(stmt);
	free(columns);
	return r;
}

/* Copies one of our tables into the other database, value by value: what is ours is virtual. */
static int copy_table(struct aif_query *q, sqlite3 *to, const char *name)
{
	struct aif_buf create = {0}, insert = {0}, select = {0};
	sqlite3_stmt *from = NULL, *into = NULL;
	int r = SQLITE_OK, width = 0;

	aif_buf_printf(&select, "SELECT * FROM %s", name);
	r = sqlite3_prepare_v2(aif_query_db(q), aif_buf_str(&select), -1, &from, NULL);
	if (r == SQLITE_OK) {
		width = sqlite3_column_count(from);
		aif_buf_printf(&create, "CREATE TABLE %s(", name);
		aif_buf_printf(&insert, "INSERT INTO %s VALUES(", name);
		for (int i = 0; i < width; i++) {
			aif_buf_printf(&create, "%s\"%s\"", i ? ", " : "",
				       sqlite3_column_name(from, i));
			aif_buf_puts(&insert, i ? ", ?" : "?");
		}
		aif_buf_puts(&create, ")");
		aif_buf_puts(&insert, ")");
		r = sqlite3_exec(to, aif_buf_str(&create), NULL, NULL, NULL);
	}
	if (r == SQLITE_OK)
		r = sqlite3_prepare_v2(to, aif_buf_str(&insert), -1, &into, NULL);
	while (r == SQLITE_OK && (r = sqlite3_step(from)) == SQLITE_ROW) {
		for (int i = 0; i < width; i++)
			if (sqlite3_column_type(from, i) == SQLITE_INTEGER)
				sqlite3_bind_int64(into, i + 1, sqlite3_column_int64(from, i));
			else
				sqlite3_bind_value(into, i + 1, sqlite3_column_value(from, i));
		r = sqlite3_step(into);
		if (r == SQLITE_DONE)
			r = sqlite3_reset(into);
	}
	sqlite3_finalize(from);
	sqlite3_finalize(into);
	aif_buf_finish(&create);
	aif_buf_finish(&insert);
	aif_buf_finish(&select);
	return r == SQLITE_DONE ? SQLITE_OK : r;
}

static int write_tables(struct aif_query *q, sqlite3 *to)
{
	int r = sqlite3_exec(to,
			     "PRAGMA page_size=16384; PRAGMA journal_mode=OFF; "
			     "PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; BEGIN",
			     NULL, NULL, NULL);

	for (size_t i = 0; r == SQLITE_OK && aif_query_table(i); i++)
		r = copy_table(q, to, aif_query_table(i));
	return r == SQLITE_OK ? sqlite3_exec(to, AIF_QUERY_VIEWS("") "COMMIT", NULL, NULL, NULL)
			      : r;
}

/* Into the file `temp`, which is there and empty. */
static int export_to(struct aif_query *q, const char *temp, const char *path, struct aif_err *err)
{
	sqlite3 *to = NULL;
	int r = aif_sqlite_path_check(temp, "write", "use a directory with a shorter name", err);

	if (r < 0)
		return r;
	r = sqlite3_open_v2(temp, &to,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	if (r == SQLITE_OK)
		r = write_tables(q, to);
	if (r != SQLITE_OK && sqlite3_errcode(aif_query_db(q)) == r)
		aif_err_set(err, -EIO, "export: %s", sqlite3_errmsg(aif_query_db(q)));
	else if (r != SQLITE_OK)
		aif_err_set(err, -EIO, "%s: %s", path, to ? sqlite3_errmsg(to) : "out of memory");
	if (sqlite3_close(to) != SQLITE_OK && r == SQLITE_OK)
		return aif_err_set(err, -EIO, "%s: cannot be closed", path);
	return r == SQLITE_OK ? 0 : -EIO;
}

static int copy_to_stdout(int fd, struct aif_err *err)
{
	struct aif_out out;
	ssize_t n = 1;
	int r = aif_out_open(&out, "-", err);

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
static int export_to_stdout(struct aif_query *q, struct aif_err *err)
{
	const char *dir = getenv("TMPDIR");
	char *temp = NULL;
	int fd = -1, r = 0;

	if (isatty(STDOUT_FILENO))
		return aif_err_set(err, -EINVAL,
				   "export: standard output is a terminal, an SQLite file is no "
				   "text; send it on with | or >");
	if (asprintf(&temp, "%s/aiflame-XXXXXX", dir && *dir ? dir : "/tmp") < 0)
		return aif_err_set(err, -ENOMEM, "out of memory");
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		r = aif_err_set(err, -errno,
				"%s: %s; set TMPDIR to a directory that can be "
				"written",
				temp, strerror(errno));
	if (r == 0) {
		r = export_to(q, temp, temp, err);
		unlink(temp);
	}
	if (r == 0)
		r = copy_to_stdout(fd, err);
	if (fd >= 0)
		close(fd);
	free(temp);
	return r;
}

int aif_query_export(struct aif_query *q, const char *path, struct aif_err *err)
{
	struct aif_out out;
	int r;

	if (!strcmp(path, "-"))
		return export_to_stdout(q, err);
	r = aif_out_open(&out, path, err);
	if (r < 0)
		return r;
	if (!out.temp_path)
		r = aif_err_set(err, -EINVAL,
				"export: %s is no regular file, which SQLite needs; "
				"use -o -",
				path);
	else
		r = export_to(q, out.temp_path, path, err);
	if (r < 0) {
		aif_out_abort(&out);
		return r;
	}
	return aif_out_commit(&out, err);
}
