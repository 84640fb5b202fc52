/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/file_writer.h"

#include "base/utf8.h"

#include <errno.h>
#include <string.h>

/* ---- errors and statements ------------------------------------------------------------------- */

static int keep_error(struct aif_writer *w, struct aif_err *err)
{
	if (w->in_transaction) {
		w->in_transaction = false;
		sqlite3_exec(w->db, "ROLLBACK", NULL, NULL, NULL);
	}
	if (err)
		*err = w->error;
	return w->error.code;
}

int aif_writer_fail_with(struct aif_writer *w, int code, struct aif_err *err)
{
	if (!w->error.code)
		aif_err_set(&w->error, code, "cannot write %s: %s", w->path, strerror(-code));
	return keep_error(w, err);
}

int aif_writer_fail(struct aif_writer *w, struct aif_err *err)
{
	int code = aif_sqlite_errno(w->db);

	if (w->error.code)
		return keep_error(w, err);
	if (code == -ENOSPC || code == -EFBIG || code == -EDQUOT)
		aif_err_set(&w->error, code,
			    "cannot write %s: %s; %sfree space, or record with -o elsewhere%s",
			    w->path, aif_sqlite_why(w->db),
			    w->is_made ? "what was written before is valid; " : "",
			    w->is_made ? " or with --max-size" : "");
	else
		aif_err_set(&w->error, code, "cannot write %s: %s", w->path, aif_sqlite_why(w->db));
	return keep_error(w, err);
}

int aif_writer_begin(struct aif_writer *w, struct aif_err *err)
{
	if (w->error.code)
		return keep_error(w, err);
	if (w->in_transaction || !w->db)
		return 0;
	if (sqlite3_exec(w->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return aif_writer_fail(w, err);
	w->in_transaction = true;
	return 0;
}

int aif_writer_prepare(struct aif_writer *w, sqlite3_stmt **stmt, const char *sql,
		       struct aif_err *err)
{
	if (!*stmt &&
	    sqlite3_prepare_v3(w->db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL) != SQLITE_OK)
		return aif_writer_fail(w, err);
	return 0;
}

int aif_writer_step(struct aif_writer *w, sqlite3_stmt *stmt, struct aif_err *err)
{
	int r = sqlite3_step(stmt);

	if (r != SQLITE_DONE && r != SQLITE_ROW)
		r = aif_writer_fail(w, err);
	else
		r = 0;
	sqlite3_reset(stmt);
	return r;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int write_strings(struct aif_writer *w, const struct aif_profile *p, struct aif_err *err)
{
	int r = aif_writer_prepare(w, &w->insert_string, "INSERT INTO string VALUES(?, ?)", err);

	for (; r == 0 && w->strings_written < p->strings.len; w->strings_written++) {
		size_t n;
		const char *s = aif_strset_get(&p->strings, (uint32_t)w->strings_written, &n);

		sqlite3_bind_int64(w->insert_string, 1, (sqlite3_int64)w->strings_written);
		/* Text that is not valid UTF-8 is a BLOB. */
		if (aif_utf8_is_text(s, n))
			sqlite3_bind_text64(w->insert_string, 2, s, n, SQLITE_STATIC, SQLITE_UTF8);
		else
			sqlite3_bind_blob64(w->insert_string, 2, s, n, SQLITE_STATIC);
		r = aif_writer_step(w, w->insert_string, err);
		if (r < 0)
			break;
	}
	return r;
}

static void bind_column(sqlite3_stmt *s, int at, const struct aif_schema_column *c,
			const uint8_t *row)
{
	const uint8_t *bytes;
	uint64_t wide;
	uint32_t narrow;
	int32_t sign;

	switch ((enum aif_schema_type)c->type) {
	case AIF_TYPE_U32:
	case AIF_TYPE_REF:
		memcpy(&narrow, row + c->offset, sizeof(narrow));
		if (c->type == AIF_TYPE_REF && narrow == AIF_NONE)
			sqlite3_bind_null(s, at);
		else
			sqlite3_bind_int64(s, at, narrow);
		return;
	case AIF_TYPE_I32:
		memcpy(&sign, row + c->offset, sizeof(sign));
		sqlite3_bind_int(s, at, sign);
		return;
	case AIF_TYPE_U64:
		memcpy(&wide, row + c->offset, sizeof(wide));
		sqlite3_bind_int64(s, at, (sqlite3_int64)wide);
		return;
	case AIF_TYPE_BYTES:
		/* Only device code has bytes. */
		memcpy(&bytes, row + c->offset, sizeof(bytes));
		wide = ((const struct aif_code *)(const void *)row)->size;
		if (bytes && !((const struct aif_code *)(const void *)row)->packed)
			sqlite3_bind_blob64(s, at, bytes, wide, SQLITE_STATIC);
		else
			sqlite3_bind_null(s, at);
		return;
	case AIF_TYPE_PACKED:
		memcpy(&bytes, row + c->offset, sizeof(bytes));
		wide = ((const struct aif_code *)(const void *)row)->packed_size;
		if (bytes)
			sqlite3_bind_blob64(s, at, bytes, wide, SQLITE_STATIC);
		else
			sqlite3_bind_null(s, at);
		return;
	}
}

static int prepare_insert(struct aif_writer *w, size_t id, struct aif_err *err)
{
	const struct aif_schema_table *t = &aif_schema_tables[id];
	struct aif_buf sql = {0};
	int r;

	if (w->insert[id])
		return 0;
	aif_buf_printf(&sql, "INSERT OR REPLACE INTO %s VALUES(?", t->name);
	for (size_t c = 0; c < t->columns_len; c++)
		aif_buf_puts(&sql, ", ?");
	aif_buf_puts(&sql, ")");
	r = aif_writer_prepare(w, &w->insert[id], aif_buf_str(&sql), err);
	aif_buf_finish(&sql);
	return r;
}

static int write_row(struct aif_writer *w, size_t id, size_t i, const uint8_t *row,
		     struct aif_err *err)
{
	const struct aif_schema_table *t = &aif_schema_tables[id];
	sqlite3_stmt *s = w->insert[id];

	sqlite3_bind_int64(s, 1, (sqlite3_int64)i);
	for (size_t c = 0; c < t->columns_len; c++)
		bind_column(s, (int)c + 2, &t->columns[c], row);
	return aif_writer_step(w, s, err);
}

/* Rows that changed since they were written, found by comparison with what was written. */
static int rewrite_rows(struct aif_writer *w, size_t id, const uint8_t *rows, size_t n,
			struct aif_err *err)
{
	const struct aif_schema_table *t = &aif_schema_tables[id];
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		uint8_t *shadow = (uint8_t *)w->shadow[id] + i * t->row_size;

		if (!memcmp(shadow, rows + i * t->row_size, t->row_size))
			continue;
		r = write_row(w, id, i, rows + i * t->row_size, err);
		memcpy(shadow, rows + i * t->row_size, t->row_size);
	}
	return r;
}

static int write_table(struct aif_writer *w, const struct aif_profile *p, size_t id,
		       struct aif_err *err)
{
	const struct aif_schema_table *t = &aif_schema_tables[id];
	const uint8_t *rows = aif_schema_rows(p, t);
	size_t n = *aif_schema_len(p, t);
	int r = prepare_insert(w, id, err);

	if (r == 0 && t->rewritten)
		r = rewrite_rows(w, id, rows, AIF_MIN(n, w->written[id]), err);
	if (r == 0 && t->rewritten && n > w->written[id]) {
		if (aif_grow(&w->shadow[id], &w->shadow_cap[id], n, t->row_size) < 0)
			return aif_writer_fail_with(w, -ENOMEM, err);
		memcpy((uint8_t *)w->shadow[id] + w->written[id] * t->row_size,
		       rows + w->written[id] * t->row_size, (n - w->written[id]) * t->row_size);
	}
	for (; r == 0 && w->written[id] < n; w->written[id]++)
		r = write_row(w, id, w->written[id], rows + w->written[id] * t->row_size, err);
	return r;
}

int aif_writer_tables(struct aif_writer *w, const struct aif_profile *p, struct aif_err *err)
{
	int r = w->db ? aif_writer_begin(w, err) : 0;

	if (!w->db)
		return 0;
	if (r == 0)
		r = write_strings(w, p, err);
	for (size_t id = 0; id < AIF_TABLE_COUNT && r == 0; id++)
		r = write_table(w, p, id, err);
	return r;
}

/* Writes a string that *p may have already. */
static int write_text(struct aif_writer *w, const struct aif_profile *p, const char *text,
		      uint32_t *ret, struct aif_err *err)
{
	*ret = aif_strset_find(&p->strings, text, strlen(text));
	if (*ret != AIF_STR_NONE)
		return 0;
	*ret = (uint32_t)w->strings_written;
	sqlite3_bind_int64(w->insert_string, 1, (sqlite3_int64)w->strings_written++);
	sqlite3_bind_text(w->insert_string, 2, text, -1, SQLITE_STATIC);
	return aif_writer_step(w, w->insert_string, err);
}

int aif_writer_note(struct aif_writer *w, const struct aif_profile *p, const char *key,
		    const char *value, struct aif_err *err)
{
	struct aif_meta meta;
	int r = write_text(w, p, key, &meta.key, err);

	if (!r)
		r = write_text(w, p, value, &meta.value, err);
	return r ? r
		 : write_row(w, AIF_TABLE_META, w->written[AIF_TABLE_META]++,
			     (const uint8_t *)&meta, err);
}

/* ---- the end of a second, and of a recording ------------------------------------------------- */

static int write_end(struct aif_writer *w, bool complete, struct aif_err *err)
{
	int r = aif_writer_prepare(w, &w->set_end, "UPDATE recording SET end_ns=?, complete=?",
				   err);

	if (r < 0)
		return r;
	sqlite3_bind_int64(w->set_end, 1, (sqlite3_int64)w->end_ns);
	sqlite3_bind_int(w->set_end, 2, complete);
	w->end_in_file = w->end_ns;
	return aif_writer_step(w, w->set_end, err);
}

static uint64_t pragma(struct aif_writer *w, const char *sql)
{
	sqlite3_stmt *s = NULL;
	uint64_t v = 0;

	if (sqlite3_prepare_v2(w->db, sql, -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW)
		v = (uint64_t)sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return v;
}

int aif_writer_commit(struct aif_writer *w, struct aif_err *err)
{
	int r = 0;

	if (w->error.code)
		return keep_error(w, err);
	if (w->in_transaction && w->end_ns != w->end_in_file)
		r = write_end(w, false, err);
	if (r < 0 || !w->in_transaction)
		return r;
	errno = 0; /* aif_sqlite_errno() looks at it */
	if (sqlite3_exec(w->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		return aif_writer_fail(w, err);
	w->in_transaction = false;
	w->size = pragma(w, "PRAGMA page_count") * pragma(w, "PRAGMA page_size");
	return 0;
}

void aif_writer_observe(struct aif_writer *w,
			void (*fn)(void *arg, enum aif_chunk_kind kind, size_t rows,
				   const void *data, size_t size),
			void *arg)
{
	w->observe = fn;
	w->observe_arg = arg;
}

bool aif_writer_has_locks(const struct aif_writer *w)
{
	return w->has_locks;
}

uint64_t aif_writer_size(const struct aif_writer *w)
{
	return w->size;
}

int aif_writer_finish(struct aif_writer *w, uint64_t end_ns, struct aif_err *err)
{
	int r;

	if (!w)
		return 0;
	w->end_ns = AIF_MAX(end_ns, w->start_ns);
	r = aif_writer_begin(w, err);
	if (r == 0 && w->db)
		r = write_end(w, true, err);
	if (r == 0)
		r = aif_writer_commit(w, err);
	aif_writer_free(w);
	return r;
}

void aif_writer_free(struct aif_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < AIF_TABLE_COUNT; i++) {
		sqlite3_finalize(w->insert[i]);
		free(w->shadow[i]);
	}
	sqlite3_finalize(w->insert_string);
	sqlite3_finalize(w->insert_chunk);
	sqlite3_finalize(w->delete_chunk);
	sqlite3_finalize(w->drop);
	sqlite3_finalize(w->set_end);
	sqlite3_finalize(w->read_chunk);
	sqlite3_close(w->db);
	aif_chunk_encoder_free(w->encoder);
	aif_chunk_decoder_free(w->decoder);
	aif_buf_finish(&w->chunk);
	free(w->keys);
	free(w->order);
	free(w->chunks);
	free(w->path);
	free(w);
}
