/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/utf8.h"
#include "query/tables.h"

/* Values of columns, as SQLite takes them. */

static inline void number(sqlite3_context *ctx, uint64_t v)
{
	sqlite3_result_int64(ctx, (sqlite3_int64)v);
}

static inline void id(sqlite3_context *ctx, uint32_t v)
{
	if (v == AIF_NONE)
		sqlite3_result_null(ctx);
	else
		sqlite3_result_int64(ctx, v);
}

/* SQLite takes any bytes for text, but what reads an exported file does not (Python's sqlite3 refuses the row). */
static inline void text(sqlite3_context *ctx, const char *s, size_t len)
{
	struct aif_buf b = {0};

	if (aif_utf8_is_text(s, len)) {
		sqlite3_result_text64(ctx, s, len, SQLITE_TRANSIENT, SQLITE_UTF8);
		return;
	}
	aif_utf8_put(&b, s, len);
	if (aif_buf_failed(&b))
		sqlite3_result_error_nomem(ctx);
	else
		sqlite3_result_text64(ctx, aif_buf_str(&b), b.len, SQLITE_TRANSIENT, SQLITE_UTF8);
	aif_buf_finish(&b);
}

static inline void str(struct aif_query *q, sqlite3_context *ctx, uint32_t v)
{
	size_t len;
	const char *s = aif_strset_get(&q->p->strings, v, &len);

	if (v == AIF_NONE)
		sqlite3_result_null(ctx);
	else
		text(ctx, s, len);
}

static inline int64_t mapped(struct aif_query *q, uint32_t clock, uint32_t process, uint64_t raw)
{
	return aif_timeline_map(q->timeline, clock, process, raw, NULL);
}

static inline void when(struct aif_query *q, sqlite3_context *ctx, uint64_t monotonic)
{
	sqlite3_result_int64(ctx, mapped(q, AIF_CLOCK_MONOTONIC, AIF_NONE, monotonic));
}

static inline void text_or_null(sqlite3_context *ctx, const char *text)
{
	if (*text)
		sqlite3_result_text(ctx, text, -1, SQLITE_STATIC);
	else
		sqlite3_result_null(ctx);
}
