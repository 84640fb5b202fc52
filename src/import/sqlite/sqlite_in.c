/* SPDX-License-Identifier: Apache-2.0 */
#include "import/sqlite/sqlite_in.h"

#include "base/memory.h"

#include "profile/sqlite_hostile.h"
#include "profile/sqlite_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A text longer than this is none of a name. */
#define MAX_VALUE (16 << 20)
/* Between two looks whether the user wants to stop: steps of SQLite's machine. */
#define STEPS 200000
/* Tables that are named of those that are not read. */
#define UNREAD_NAMED 12

/* nsys's tables have comments in them, and long names. */
static const struct aif_sqlite_limits limits = {
	.value = MAX_VALUE, .sql = 1000000, .columns = 200, .pattern = 200};

/* Asks the user now and then, through the source, whether to stop. */
static int on_steps(void *arg)
{
	struct aif_sqlite_in *x = arg;
	struct aif_import_progress p = {.events = x->source->events,
					.file = aif_input_name(x->source->input)};

	x->is_stopped = x->source->opts->progress &&
			x->source->opts->progress(x->source->opts->arg, &p) != 0;
	return x->is_stopped;
}

/* Returns true if there is a journal with what a killed writer had not brought into the file
 * yet. */
static bool has_wal(const char *path)
{
	struct aif_buf name = {0};
	struct stat st;
	bool r;

	aif_buf_printf(&name, "%s-wal", path);
	r = stat(aif_buf_str(&name), &st) == 0 && st.st_size;
	aif_buf_finish(&name);
	return r;
}

int aif_sqlite_in_open(struct aif_sqlite_in *x, struct aif_import_source *source,
		       struct aif_err *err)
{
	const char *name = aif_input_name(source->input), *path = aif_input_path(source->input);
	char *uri;
	int r;

	*x = (struct aif_sqlite_in){.source = source};
	if (!path)
		return aif_err_set(
			err, -EINVAL,
			"%s: is an SQLite file, which is not read packed or from a pipe; "
			"unpack it, and name the file",
			name);
	r = aif_sqlite_path_check(path, "open", "move it to a shorter path", err);
	if (r < 0)
		return r;
	uri = aif_sqlite_immutable_uri(path);
	r = uri ? sqlite3_open_v2(uri, &x->db,
				  SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
					  SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE,
				  NULL)
		: SQLITE_NOMEM;
	free(uri);
	if (r == SQLITE_OK) {
		aif_sqlite_harden(x->db, &limits);
		sqlite3_progress_handler(x->db, STEPS, on_steps, x);
		r = sqlite3_exec(x->db,
				 "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA "
				 "query_only=ON; SELECT 1 FROM sqlite_schema LIMIT 1",
				 NULL, NULL, NULL);
	}
	if (r == SQLITE_OK && has_wal(path) && !x->damaged++)
		snprintf(x->damage, sizeof(x->damage),
			 "its -wal file is not read: merge it by opening a copy of both with "
			 "sqlite3");
	if (r == SQLITE_OK)
		return 0;
	aif_err_set(err, (r & 0xff) == SQLITE_NOMEM ? -ENOMEM : -EBADMSG, "%s: %s", name,
		    x->db ? sqlite3_errmsg(x->db) : "out of memory");
	aif_sqlite_in_close(x);
	return (r & 0xff) == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
}

void aif_sqlite_in_close(struct aif_sqlite_in *x)
{
	sqlite3_close(x->db);
	x->db = NULL;
	aif_strset_finish(&x->tables);
	aif_strset_finish(&x->read);
}

static void damaged(struct aif_sqlite_in *x, const char *table)
{
	int code = sqlite3_errcode(x->db) & 0xff;

	if (code == SQLITE_NOMEM)
		aif_memory_fail();
	if (code == SQLITE_IOERR || code == SQLITE_CANTOPEN || code == SQLITE_BUSY)
		x->error = -EIO;
	if (!x->damaged++)
		snprintf(x->damage, sizeof(x->damage), "%.60s: %s", table, sqlite3_errmsg(x->db));
}

int aif_sqlite_in_tables(struct aif_sqlite_in *x, const char *prefix,
			 int (*fn)(void *arg, const char *table), void *arg)
{
	sqlite3_stmt *stmt = NULL;
	int r = 0, step;

	/* A table of rows: no view, and none of a module's, which would be code. */
	if (sqlite3_prepare_v2(x->db,
			       "SELECT name FROM sqlite_schema WHERE type = 'table' AND "
			       "substr(name, 1, length(?1)) = ?1 AND sql LIKE 'CREATE TABLE%' "
			       "ORDER BY rowid",
			       -1, &stmt, NULL) != SQLITE_OK) {
		damaged(x, prefix);
		return 0;
	}
	sqlite3_bind_text(stmt, 1, prefix, -1, SQLITE_STATIC);
	while (!r && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);

		if (!name && sqlite3_errcode(x->db) == SQLITE_NOMEM)
			aif_memory_fail();
		if (name && strlen(name) < 200)
			r = fn(arg, name);
	}
	if (!r && step != SQLITE_DONE) {
		damaged(x, prefix);
		r = x->is_stopped ? -EINTR : 0;
	}
	sqlite3_finalize(stmt);
	return r;
}

static int keep_table(void *arg, const char *table)
{
	return aif_strset_puts(arg, table) == AIF_STR_NONE ? -ENOMEM : 0;
}

bool aif_sqlite_in_has(struct aif_sqlite_in *x, const char *table)
{
	/* Kept: a file of thousands of processes has some tables for each. */
	if (!x->has_tables)
		x->has_tables = aif_sqlite_in_tables(x, "", keep_table, &x->tables) == 0;
	return aif_strset_find(&x->tables, table, strlen(table)) != AIF_STR_NONE;
}

/* "name" in quotes, as SQL has it. */
static void quote(struct aif_buf *b, const char *name, size_t len)
{
	aif_buf_putc(b, '"');
	for (size_t i = 0; i < len; i++) {
		if (name[i] == '"')
			aif_buf_putc(b, '"');
		aif_buf_putc(b, name[i]);
	}
	aif_buf_putc(b, '"');
}

/* The columns of `table` that there are, others as NULL. */
static bool query_make(struct aif_sqlite_in *x, const char *table, const char *columns,
		       bool with_rowid, struct aif_buf *sql)
{
	sqlite3_stmt *stmt = NULL;
	bool has[AIF_SQLITE_IN_COLUMNS] = {false}, ok;
	unsigned n = 0;
	int step = SQLITE_DONE;

	aif_buf_puts(sql, "PRAGMA table_info(");
	quote(sql, table, strlen(table));
	aif_buf_puts(sql, ")");
	ok = !aif_buf_failed(sql) &&
	     sqlite3_prepare_v2(x->db, aif_buf_str(sql), -1, &stmt, NULL) == SQLITE_OK;
	while (ok && (step = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 1), *at = columns;

		for (n = 0; *at && n < AIF_SQLITE_IN_COLUMNS; n++) {
			size_t len = strcspn(at, ",");

			has[n] |= name && strlen(name) == len && !strncasecmp(name, at, len);
			at += len + (at[len] == ',');
		}
		if (!name && sqlite3_errcode(x->db) == SQLITE_NOMEM)
			aif_memory_fail();
	}
	ok = ok && step == SQLITE_DONE;
	sqlite3_finalize(stmt);
	aif_buf_clear(sql);
	aif_buf_puts(sql, "SELECT ");
	for (n = 0; *columns && n < AIF_SQLITE_IN_COLUMNS; n++) {
		size_t len = strcspn(columns, ",");

		if (n)
			aif_buf_putc(sql, ',');
		if (has[n])
			quote(sql, columns, len);
		else
			aif_buf_puts(sql, "NULL");
		columns += len + (columns[len] == ',');
	}
	aif_buf_puts(sql, with_rowid ? ",_rowid_ FROM " : " FROM ");
	quote(sql, table, strlen(table));
	/* An index may have other rows than its table. */
	aif_buf_puts(sql, " NOT INDEXED");
	return ok && !aif_buf_failed(sql);
}

/* Prepares the query of query_make(). *ret_rowid: the column of the row's number; -1: the table has none. */
static bool prepare_rows(struct aif_sqlite_in *x, const char *table, const char *columns,
			 sqlite3_stmt **ret, int *ret_rowid)
{
	struct aif_buf sql = {0};
	bool ok = query_make(x, table, columns, true, &sql) &&
		  sqlite3_prepare_v2(x->db, aif_buf_str(&sql), -1, ret, NULL) == SQLITE_OK;

	*ret_rowid = ok ? sqlite3_column_count(*ret) - 1 : -1;
	if (!ok) {
		aif_buf_clear(&sql);
		ok = query_make(x, table, columns, false, &sql) &&
		     sqlite3_prepare_v2(x->db, aif_buf_str(&sql), -1, ret, NULL) == SQLITE_OK;
	}
	aif_buf_finish(&sql);
	return ok;
}

/* Finds the number of rows that a file can have: each takes at least so many bytes. 0 or -errno. */
#define ROW_BYTES 4
static int most_rows(const struct aif_sqlite_in *x, uint64_t *ret)
{
	const char *path = aif_input_path(x->source->input);
	struct stat st;

	if (!path)
		return -EIO;
	if (stat(path, &st) < 0)
		return -errno;
	*ret = (uint64_t)st.st_size / ROW_BYTES;
	return 0;
}

/*
 * A table's pages may lead to one page many times, so that a file of 16 KiB has as many rows as it likes. A scan of a sound
 * table finds its rows' numbers ascending, and no more rows than fit into the file.
 */
struct scan {
	int rowid; /* column, or -1 */
	bool any;
	int64_t last;
	uint64_t left;
};

static bool is_sound(struct scan *s, sqlite3_stmt *stmt)
{
	int64_t number = s->rowid < 0 ? 0 : sqlite3_column_int64(stmt, s->rowid);

	if (!s->left || (s->rowid >= 0 && s->any && number <= s->last))
		return false;
	s->left--;
	s->any = true;
	s->last = number;
	return true;
}

int aif_sqlite_in_rows(struct aif_sqlite_in *x, const char *table, const char *columns,
		       int (*fn)(void *arg, const struct aif_sqlite_row *row), void *arg)
{
	struct aif_sqlite_row row = {0};
	struct scan scan = {0};
	int r, step = SQLITE_DONE;

	if (!aif_sqlite_in_has(x, table))
		return 0;
	r = most_rows(x, &scan.left);
	if (r < 0)
		return r;
	if (aif_strset_puts(&x->read, table) == AIF_STR_NONE)
		return -ENOMEM;
	if (!prepare_rows(x, table, columns, &row.stmt, &scan.rowid)) {
		damaged(x, table);
		return 0;
	}
	while (!r && (step = sqlite3_step(row.stmt)) == SQLITE_ROW && is_sound(&scan, row.stmt))
		r = fn(arg, &row);
	if (!r && step == SQLITE_ROW) {
		if (!x->damaged++)
			snprintf(x->damage, sizeof(x->damage), "%.60s: rows come again", table);
	} else if (!r && step != SQLITE_DONE) {
		damaged(x, table);
		r = x->is_stopped ? -EINTR : (step & 0xff) == SQLITE_NOMEM ? -ENOMEM : 0;
	}
	sqlite3_finalize(row.stmt);
	return r;
}

struct unread {
	struct aif_sqlite_in *in;
	const char *const *known;
	struct aif_buf *out;
	uint64_t n;
};

/* Returns true for a table with a row. */
static bool has_row(struct aif_sqlite_in *x, const char *table)
{
	sqlite3_stmt *stmt = NULL;
	struct aif_buf sql = {0};
	bool r;

	aif_buf_puts(&sql, "SELECT 1 FROM ");
	quote(&sql, table, strlen(table));
	aif_buf_puts(&sql, " LIMIT 1");
	r = !aif_buf_failed(&sql) &&
	    sqlite3_prepare_v2(x->db, aif_buf_str(&sql), -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW;
	sqlite3_finalize(stmt);
	aif_buf_finish(&sql);
	return r;
}

static int add_unread(void *arg, const char *table)
{
	struct unread *u = arg;

	if (aif_strset_find(&u->in->read, table, strlen(table)) != AIF_STR_NONE ||
	    !strncmp(table, "sqlite_", 7))
		return 0;
	for (const char *const *k = u->known; *k; k++)
		if (!strncmp(table, *k, strlen(*k)))
			return 0;
	if (has_row(u->in, table) && u->n++ < UNREAD_NAMED)
		aif_buf_printf(u->out, "%s%.60s", u->n > 1 ? ", " : "", table);
	return aif_buf_failed(u->out) ? -ENOMEM : 0;
}

int aif_sqlite_in_unread(struct aif_sqlite_in *x, const char *const *known, struct aif_buf *out,
			 uint64_t *ret)
{
	struct unread u = {.in = x, .known = known, .out = out};
	int r = aif_sqlite_in_tables(x, "", add_unread, &u);

	if (u.n > UNREAD_NAMED)
		aif_buf_puts(out, ", ...");
	*ret = u.n;
	return r;
}

bool aif_sqlite_row_i64(const struct aif_sqlite_row *row, int column, int64_t *ret)
{
	bool is = sqlite3_column_type(row->stmt, column) == SQLITE_INTEGER;

	*ret = is ? sqlite3_column_int64(row->stmt, column) : 0;
	return is;
}

bool aif_sqlite_row_is_null(const struct aif_sqlite_row *row, int column)
{
	return sqlite3_column_type(row->stmt, column) == SQLITE_NULL;
}

uint32_t aif_sqlite_row_u32(const struct aif_sqlite_row *row, int column)
{
	int64_t v;

	aif_sqlite_row_i64(row, column, &v);
	return v > 0 && v < UINT32_MAX ? (uint32_t)v : 0;
}

const char *aif_sqlite_row_text(const struct aif_sqlite_row *row, int column, size_t *ret_len)
{
	const char *text = NULL;

	*ret_len = 0;
	if (sqlite3_column_type(row->stmt, column) == SQLITE_TEXT)
		text = (const char *)sqlite3_column_text(row->stmt, column);
	if (!text)
		return "";
	*ret_len = (size_t)sqlite3_column_bytes(row->stmt, column);
	return text;
}

bool aif_sqlite_in_probe(const uint8_t *head, size_t len)
{
	return len >= 100 && !memcmp(head, "SQLite format 3", 16);
}
