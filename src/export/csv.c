/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"

#include "base/memory.h"

#include "base/scratch.h"
#include "text/json.h"
#include "query/print.h"
#include "text/table.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The tables of `aiflame query` as a directory of CSV files (RFC 4180), a table each. */

static void cell_put(struct aif_buf *b, sqlite3_stmt *s, int i)
{
	switch (sqlite3_column_type(s, i)) {
	case SQLITE_NULL:
		break;
	case SQLITE_INTEGER:
		aif_out_json_i64(b, sqlite3_column_int64(s, i));
		break;
	case SQLITE_FLOAT: {
		const char *text = (const char *)sqlite3_column_text(s, i);

		aif_buf_puts(b, text ? text : "");
		break;
	}
	case SQLITE_BLOB: {
		const void *bytes = sqlite3_column_blob(s, i);

		aif_table_hex(b, bytes, bytes ? (size_t)sqlite3_column_bytes(s, i) : 0);
		break;
	}
	default: {
		const char *text = (const char *)sqlite3_column_text(s, i);

		aif_table_csv_text(b, text ? text : "",
				   text ? (size_t)sqlite3_column_bytes(s, i) : 0);
	}
	}
	/* A value that could not be made is NULL. */
	if (sqlite3_errcode(sqlite3_db_handle(s)) == SQLITE_NOMEM)
		aif_memory_fail();
}

static int rows_put(struct aif_query *q, sqlite3_stmt *s, struct aif_out *out, struct aif_err *err)
{
	struct aif_buf *b = aif_out_buf(out);
	int width = sqlite3_column_count(s), r = SQLITE_ROW;

	for (int i = 0; i < width; i++) {
		aif_buf_puts(b, i ? "," : "");
		aif_buf_puts(b, sqlite3_column_name(s, i));
	}
	aif_buf_puts(b, "\n");
	while (!out->error && (r = sqlite3_step(s)) == SQLITE_ROW) {
		for (int i = 0; i < width; i++) {
			if (i)
				aif_buf_putc(b, ',');
			cell_put(b, s, i);
		}
		aif_buf_putc(b, '\n');
		aif_out_flush_if_full(out);
	}
	return r == SQLITE_DONE || out->error
		       ? 0
		       : aif_err_set(err, -EIO, "export: %s", sqlite3_errmsg(aif_query_db(q)));
}

static int csv_table(struct aif_query *q, const char *table, const char *dir,
		     const struct aif_export *x, struct aif_err *err)
{
	struct aif_buf path = {0}, sql = {0};
	sqlite3_stmt *s = NULL;
	struct aif_out out;
	int r;

	aif_buf_printf(&path, "%s/%s.csv", dir, table);
	aif_buf_printf(&sql, "SELECT * FROM %s", table);
	if (aif_buf_failed(&path) || aif_buf_failed(&sql))
		r = aif_err_set(err, -ENOMEM, "export: out of memory");
	else if (sqlite3_prepare_v2(aif_query_db(q), aif_buf_str(&sql), -1, &s, NULL) != SQLITE_OK)
		r = aif_err_set(err, -EIO, "export: %s", sqlite3_errmsg(aif_query_db(q)));
	else
		r = aif_out_open_stoppable(&out, aif_buf_str(&path), x->stopped, x->scratch, err);
	if (!r) {
		out.max = x->max_bytes;
		r = rows_put(q, s, &out, err);
		if (r < 0) {
			aif_out_abort(&out);
		} else {
			aif_scratch_put(x->scratch, aif_buf_str(&path)); /* until all are there */
			r = aif_out_commit(&out, err);
		}
	}
	sqlite3_finalize(s);
	aif_buf_finish(&path);
	aif_buf_finish(&sql);
	return r;
}

/* The first n tables: where one failed, a part of them would be taken for all. */
static void tables_end(const struct aif_export *x, const char *dir, size_t n, bool are_whole)
{
	for (size_t i = 0; i <= n; i++) {
		struct aif_buf path = {0};

		aif_buf_printf(&path, "%s/%s.csv", dir,
			       aif_query_table(i) ? aif_query_table(i) : "kernel_times");
		if (!are_whole && i < n)
			unlink(aif_buf_str(&path));
		aif_scratch_take(x->scratch, aif_buf_str(&path));
		aif_buf_finish(&path);
	}
	aif_scratch_take(x->scratch, dir);
}

static int csv_write(const struct aif_export *x, const char *dir, struct aif_err *err)
{
	struct aif_query *q = NULL;
	size_t n = 0;
	bool is_new;
	int r;

	if (!strcmp(dir, "-"))
		return aif_err_set(
			err, -EINVAL,
			"export: csv is a directory of tables, which standard output cannot "
			"be; use aiflame query --format csv for one");
	is_new = mkdir(dir, 0777) == 0;
	if (!is_new && errno != EEXIST)
		return aif_err_set(err, -errno, "%s: cannot be made: %s; choose another directory",
				   dir, strerror(errno));
	if (is_new)
		aif_scratch_put(x->scratch, dir);
	r = aif_query_new(x->names, &q, err);
	for (; !r && aif_query_table(n); n += !r)
		r = csv_table(q, aif_query_table(n), dir, x, err);
	if (!r)
		r = csv_table(q, "kernel_times", dir, x, err);
	tables_end(x, dir, n, !r);
	if (r && is_new)
		rmdir(dir);
	aif_export_damaged(x, q ? aif_query_damaged(q) : 0);
	aif_query_free(q);
	return r;
}

const struct aif_exporter aif_exporter_csv = {
	.name = "csv",
	.output = "aiflame-csv",
	.suffixes = "",
	.takes_all = true,
	.write_path = csv_write,
};
