/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/import.h"

#include "base/map.h"

/*
 * Tables of an SQLite file that another tool wrote: read only, with nothing of the file's own run. Its views and triggers
 * stay unused, virtual tables are none to us, and each table is read by itself, from its first row to its last: no file
 * decides what a query costs. Columns that a version does not have are NULL.
 */
struct aif_sqlite_in {
	struct aif_import_source *source;
	struct sqlite3 *db;
	struct aif_strset tables; /* names of all, once one was asked for */
	bool has_tables;
	struct aif_strset read; /* names of those whose rows were asked for */
	uint64_t steps;         /* for the progress */
	bool is_stopped;        /* by the user */
	uint64_t damaged;       /* tables that could not be read to their end */
	char damage[160];       /* the first */
	int error;              /* -errno: the file could not be read, though it may be whole */
};
/* 0 or -errno with *err. */
int aif_sqlite_in_open(struct aif_sqlite_in *x, struct aif_import_source *source,
		       struct aif_err *err);
void aif_sqlite_in_close(struct aif_sqlite_in *x);

/* Returns true if there is a table of that name. */
bool aif_sqlite_in_has(struct aif_sqlite_in *x, const char *table);
/* Calls fn for the name of each table that begins with `prefix`, in order; fn returns 0, or -errno to stop. */
int aif_sqlite_in_tables(struct aif_sqlite_in *x, const char *prefix,
			 int (*fn)(void *arg, const char *table), void *arg);

/* Appends the names of tables with rows that nobody has asked for, but for those whose names begin as one of `known` (ends
 * with NULL). *ret: how many there are. 0 or -errno. */
int aif_sqlite_in_unread(struct aif_sqlite_in *x, const char *const *known, struct aif_buf *out,
			 uint64_t *ret);

#define AIF_SQLITE_IN_COLUMNS 24
struct aif_sqlite_row {
	struct sqlite3_stmt *stmt;
};
/* Calls fn for each row of a table, with these columns ("start,end"): a table that is not there has none, one that is
 * damaged has those before the damage. fn returns 0, or -errno to stop. 0; -EINTR; -ENOMEM; what fn returned. */
int aif_sqlite_in_rows(struct aif_sqlite_in *x, const char *table, const char *columns,
		       int (*fn)(void *arg, const struct aif_sqlite_row *row), void *arg);

/* A whole number; false: it is NULL or something else, and *ret is 0. */
bool aif_sqlite_row_i64(const struct aif_sqlite_row *row, int column, int64_t *ret);
bool aif_sqlite_row_is_null(const struct aif_sqlite_row *row, int column);
/* 0 where it is none, or has no room. */
uint32_t aif_sqlite_row_u32(const struct aif_sqlite_row *row, int column);
/* A text, valid until the next row; "" where it is none. */
const char *aif_sqlite_row_text(const struct aif_sqlite_row *row, int column, size_t *ret_len);

/* Does a file begin as SQLite's do? Which tables are there its first pages say. */
bool aif_sqlite_in_probe(const uint8_t *head, size_t len);
