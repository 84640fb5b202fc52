/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/human.h"
#include "base/map.h"

/*
 * A table of values, printed for people (aligned, with units) or for programs (CSV after RFC 4180,
 * JSON; raw numbers, times in ns). Text may be any bytes.
 */
enum aif_table_type {
	AIF_TABLE_TEXT,
	AIF_TABLE_COUNT,
	AIF_TABLE_NS,
	AIF_TABLE_BYTES,
	AIF_TABLE_CHANGE, /* bytes, less than none where more were released: as int64_t */
	AIF_TABLE_SHARE,  /* in 1/1,000,000 */
	AIF_TABLE_ID, /* a number that is no amount: of a process, of a thread; or a name in place of it */
	AIF_TABLE_AT,  /* ns since the recording began, for people to the microsecond */
	AIF_TABLE_ANY, /* of any type, as aif_table_any says */
};
enum aif_table_format { AIF_TABLE_PLAIN, AIF_TABLE_CSV, AIF_TABLE_JSON };

struct aif_table_column {
	const char *name; /* lower case, for all formats */
	enum aif_table_type type;
};
struct aif_table {
	const struct aif_table_column *columns;
	size_t width;
	uint64_t *cells; /* numbers, or strings of `text` */
	size_t cells_len, cells_cap;
	struct aif_strset text;
	uint64_t hidden; /* bits of columns that the plain format leaves out; never all */
	bool failed;     /* memory ran out: nothing is printed */
	bool is_torch; /* the plain format has times and shares as torch prints them: "102.424s" */
	size_t columns_max; /* of the terminal it is for: long texts of the plain format are cut to it, those of the others
			     * sanitized; 0 = none */
	const char *
		folds; /* where it would cut the last column's, that goes on lines of its own instead, broken
			     * behind these; NULL = never */

	const char *const
		*titles; /* of the plain format, in place of the columns' names; NULL = those */
	size_t first_max; /* of the plain format: the first column's texts are cut to it; 0 = never */
	size_t text_max; /* the same of all but the last column, which those behind it would make room for */

	/* Rows that aif_table_print_part() has printed. */
	size_t rows_printed;
	size_t *widths; /* by column: of the widest cell so far, then what is shown of it */
};

void aif_table_init(struct aif_table *t, const struct aif_table_column *columns, size_t width);
void aif_table_finish(struct aif_table *t);

/* Cells come in order, row by row. */
void aif_table_number(struct aif_table *t, uint64_t value);
/* In place of a number of AIF_TABLE_NS, AIF_TABLE_SHARE or AIF_TABLE_COUNT: no value is known. */
#define AIF_TABLE_NO_VALUE UINT64_MAX
/* Returns whether a cell, counted from the first row's first, has that. */
bool aif_table_has_no_value(const struct aif_table *t, size_t cell);
/* Returns whether the plain format leaves the column out. */
bool aif_table_is_hidden(const struct aif_table *t, size_t column);
void aif_table_text(struct aif_table *t, const char *text);
/* For AIF_TABLE_ID: the name, or NULL for the number, which is below 2^63. */
void aif_table_id(struct aif_table *t, uint64_t number, const char *name);
/* For AIF_TABLE_ANY. `kind`: 'n' for the text of a number, 't' for text, '0' for no value. */
void aif_table_any(struct aif_table *t, char kind, const void *text, size_t len);

/* The same of a blob, which is shown as hexadecimal digits, two a byte, as SQLite's hex() has them. */
void aif_table_blob(struct aif_table *t, const void *bytes, size_t len);

/* RFC 4180: in quotes where it needs them, and always UTF-8, as aif_utf8_put() makes it. len may
 * be 0. */
void aif_table_csv_text(struct aif_buf *b, const char *s, size_t len);
/* A blob's digits. */
void aif_table_hex(struct aif_buf *b, const void *bytes, size_t len);

/* The column's number, or -1. */
int aif_table_column(const struct aif_table *t, const char *name);
/* Orders rows by a column: numbers descending, text ascending; equal rows stay in order. */
int aif_table_sort(struct aif_table *t, int column);

/* At most `limit` rows (0 = all). 0 or -ENOMEM. */
int aif_table_print(struct aif_table *t, enum aif_table_format format, size_t limit,
		    struct aif_buf *out);

/* For tables of any length: prints the rows that are there and forgets them; the last part ends the
 * table. Columns of the plain format are as wide as the widest cell so far. 0 or -ENOMEM. */
int aif_table_print_part(struct aif_table *t, enum aif_table_format format, bool is_last,
			 struct aif_buf *out);

/* A line below a table: "2 damaged chunks are not in it". */
void aif_table_describe_damaged(uint64_t chunks, struct aif_buf *out);

/* part / whole in 1/1,000,000; 0 of 0 is 0. */
static inline uint64_t aif_share_ppm(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)part * 1000000 / whole) : 0;
}
