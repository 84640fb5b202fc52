/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/file_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows of a chunk that others are written together in: one has 130 bytes of its own. */
#define BATCH 16384

/* Reads a chunk of the file back; rows are valid until the next one is read. */
static int read_chunk(struct aif_writer *w, const struct aif_written_chunk *c,
		      const void **ret_rows, size_t *ret_n, struct aif_err *err)
{
	int r = aif_writer_prepare(w, &w->read_chunk, "SELECT data FROM chunk WHERE id=?", err);

	if (r < 0)
		return r;
	if (!w->decoder)
		w->decoder = aif_chunk_decoder_new();
	if (!w->decoder)
		return aif_writer_fail_with(w, -ENOMEM, err);
	sqlite3_bind_int64(w->read_chunk, 1, c->id);
	errno = 0;
	if (sqlite3_step(w->read_chunk) != SQLITE_ROW)
		r = aif_writer_fail(w, err);
	if (!r) {
		r = aif_chunk_decode(w->decoder, c->kind, sqlite3_column_blob(w->read_chunk, 0),
				     (size_t)sqlite3_column_bytes(w->read_chunk, 0), ret_rows,
				     ret_n);
		if (r < 0)
			r = aif_writer_fail_with(w, r, err);
	}
	sqlite3_reset(w->read_chunk);
	return r;
}

int aif_writer_look(struct aif_writer *w, enum aif_chunk_kind kind, aif_rewrite_look *fn, void *arg,
		    struct aif_err *err)
{
	int r = 0;

	for (size_t i = w->chunks_first; i < w->chunks_len && !r; i++) {
		const void *rows;
		size_t n;

		if (w->chunks[i].kind != (uint32_t)kind || w->chunks[i].is_settled)
			continue;
		r = read_chunk(w, &w->chunks[i], &rows, &n, err);
		if (!r)
			r = fn(arg, rows, n);
	}
	return r;
}

/* Rows on their way from chunks that go to those that take their place. */
struct rewriting {
	struct aif_writer *w;
	enum aif_chunk_kind kind;
	size_t size; /* of a row */
	struct {
		char *rows;
		size_t len;
	} to[2]; /* settled, not yet */
};

static int flush(struct rewriting *x, bool is_settled, struct aif_err *err)
{
	size_t from = x->w->chunks_len, n = x->to[is_settled].len;
	int r;

	x->to[is_settled].len = 0;
	r = aif_writer_rows(x->w, x->kind, x->to[is_settled].rows, n, err);
	for (size_t i = from; i < x->w->chunks_len; i++)
		x->w->chunks[i].is_settled = is_settled;
	return r;
}

static int put(struct rewriting *x, bool is_settled, const void *row, struct aif_err *err)
{
	memcpy(x->to[is_settled].rows + x->to[is_settled].len++ * x->size, row, x->size);
	return x->to[is_settled].len == BATCH ? flush(x, is_settled, err) : 0;
}

static int rewrite_chunk(struct rewriting *x, size_t i, aif_rewrite_judge *judge, void *arg,
			 uint8_t *verdicts, struct aif_err *err)
{
	struct aif_written_chunk c = x->w->chunks[i];
	size_t n, count[3] = {0};
	const void *rows;
	int r = read_chunk(x->w, &c, &rows, &n, err);

	if (r)
		return r;
	judge(arg, rows, n, verdicts);
	for (size_t k = 0; k < n; k++)
		count[verdicts[k]]++;
	/* Leaves a chunk in place of which all rows are to be looked at again. */
	if (count[AIF_REWRITE_LATER] == n)
		return 0;
	for (size_t k = 0; k < n && !r; k++)
		if (verdicts[k] != AIF_REWRITE_DROP)
			r = put(x, verdicts[k] == AIF_REWRITE_KEEP,
				(const char *)rows + k * x->size, err);
	if (!r)
		r = aif_writer_prepare(x->w, &x->w->delete_chunk, "DELETE FROM chunk WHERE id=?",
				       err);
	if (!r) {
		sqlite3_bind_int64(x->w->delete_chunk, 1, c.id);
		r = aif_writer_step(x->w, x->w->delete_chunk, err);
	}
	x->w->chunks_bytes -= c.bytes;
	x->w->chunks[i].kind = 0;
	return r;
}

/* Forgets chunks that are gone, and those that are settled. */
static void forget(struct aif_writer *w)
{
	size_t to = w->chunks_first;

	for (size_t i = w->chunks_first; i < w->chunks_len; i++)
		if (w->chunks[i].kind && !w->chunks[i].is_settled)
			w->chunks[to++] = w->chunks[i];
	w->chunks_len = to;
	w->chunks_timed = AIF_MIN(w->chunks_timed, to);
}

int aif_writer_rewrite(struct aif_writer *w, enum aif_chunk_kind kind, aif_rewrite_judge *judge,
		       void *arg, struct aif_err *err)
{
	struct rewriting x = {.w = w, .kind = kind, .size = aif_chunk_row_size(kind)};
	__typeof__(w->observe) observe = w->observe;
	uint8_t *verdicts = malloc(AIF_CHUNK_MAX_ROWS);
	size_t end = w->chunks_len;
	int r = w->db ? aif_writer_begin(w, err) : 0;

	if (!w->db) {
		free(verdicts);
		return 0;
	}
	for (int i = 0; i < 2; i++)
		x.to[i].rows = malloc(BATCH * x.size);
	if (!verdicts || !x.to[0].rows || !x.to[1].rows)
		r = aif_writer_fail_with(w, -ENOMEM, err);
	w->observe = NULL;
	for (size_t i = w->chunks_first; i < end && !r; i++)
		if (w->chunks[i].kind == (uint32_t)kind && !w->chunks[i].is_settled)
			r = rewrite_chunk(&x, i, judge, arg, verdicts, err);
	for (int i = 0; i < 2 && !r; i++)
		r = flush(&x, i, err);
	w->observe = observe;
	forget(w);
	free(verdicts);
	free(x.to[0].rows);
	free(x.to[1].rows);
	return r;
}

int aif_writer_compact(struct aif_writer *w, struct aif_err *err)
{
	int r = w->db ? aif_writer_commit(w, err) : 0;

	/* The copy on the way has the file's size: not in memory. Without room for it the file stays as it is. */
	if (!r && w->db)
		sqlite3_exec(w->db, "PRAGMA temp_store=DEFAULT; VACUUM", NULL, NULL, NULL);
	return r;
}
