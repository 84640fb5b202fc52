/* SPDX-License-Identifier: Apache-2.0 */
#include "export/query_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

int aif_query_print(struct aif_query *q, const char *sql, enum aif_table_format format,
		    struct aif_buf *out, struct aif_err *err)
{
	struct aif_table_column *columns = NULL;
	sqlite3_stmt *stmt = NULL;
	struct aif_table t = {0};
	const char *rest;
	int width, r = 0, s;

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
		while ((s = sqlite3_step(stmt)) == SQLITE_ROW)
			for (int i = 0; i < width; i++)
				add_value(&t, stmt, i);
		if (s != SQLITE_DONE)
			r = refused(q, err);
		else if (aif_table_print(&t, format, 0, out) < 0)
			r = aif_err_set(err, -ENOMEM, "out of memory");
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

int aif_query_export(struct aif_query *q, const char *path, struct aif_err *err)
{
	struct aif_buf temp = {0};
	sqlite3 *to = NULL;
	int r;

	aif_buf_printf(&temp, "%s.part", path);
	unlink(aif_buf_str(&temp));
	r = sqlite3_open(aif_buf_str(&temp), &to);
	if (r == SQLITE_OK)
		r = sqlite3_exec(to, "PRAGMA synchronous=OFF; BEGIN", NULL, NULL, NULL);
	for (size_t i = 0; r == SQLITE_OK && aif_query_table(i); i++)
		r = copy_table(q, to, aif_query_table(i));
	if (r == SQLITE_OK)
		r = sqlite3_exec(to, AIF_QUERY_VIEWS("") "COMMIT", NULL, NULL, NULL);
	if (r != SQLITE_OK)
		aif_err_set(err, -EIO, "%s: %s", path, to ? sqlite3_errmsg(to) : "out of memory");
	sqlite3_close(to);
	if (r == SQLITE_OK && rename(aif_buf_str(&temp), path) < 0)
		r = aif_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (r != SQLITE_OK)
		unlink(aif_buf_str(&temp));
	aif_buf_finish(&temp);
	return r == SQLITE_OK ? 0 : -EIO;
}
