/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/file_internal.h"

#include <errno.h>
#include <string.h>

void aif_file_free(struct aif_file *f)
{
	if (!f)
		return;
	if (f->attached)
		f->free_attached(f->attached);
	for (size_t i = 0; i < AIF_CHUNK_KIND_COUNT; i++) {
		for (size_t k = 0; k < f->kinds[i].len; k++) {
			free(f->kinds[i].chunk[k].data);
			free(f->kinds[i].chunk[k].kept);
		}
		free(f->kinds[i].chunk);
	}
	sqlite3_finalize(f->get_chunk);
	sqlite3_close(f->db);
	free(f);
}

static inline void check(uint32_t *id, size_t len)
{
	if (*id >= len)
		*id = AIF_NONE;
}

/* A row may be the first to use an id whose table row was lost with a damaged page: it is then
 * a row about something unknown. */
static void check_ids(const struct aif_profile *p, enum aif_chunk_kind kind, void *rows, size_t n)
{
	struct aif_launch_row *l = rows;
	struct aif_exec_row *x = rows;
	struct aif_sample_row *s = rows;
	struct aif_window_row *w = rows;
	struct aif_cpu_row *c = rows;
	struct aif_op_row *o = rows;
	struct aif_counter_row *v = rows;
	struct aif_memory_row *m = rows;
	struct aif_step_sum_row *sum = rows;

	for (size_t i = 0; i < n; i++) {
		switch (kind) {
		case AIF_CHUNK_LAUNCHES:
			check(&l[i].thread, p->threads_len);
			check(&l[i].kernel, p->kernels_len);
			check(&l[i].device, p->devices_len);
			check(&l[i].stream, p->streams_len);
			check(&l[i].stack, p->stacks_len);
			check(&l[i].shape, p->shapes_len);
			break;
		case AIF_CHUNK_EXECS:
			check(&x[i].process, p->processes_len);
			check(&x[i].kernel, p->kernels_len);
			check(&x[i].device, p->devices_len);
			check(&x[i].stream, p->streams_len);
			if (x[i].collective > p->collectives_len)
				x[i].collective = 0;
			break;
		case AIF_CHUNK_SAMPLES:
			check(&s[i].thread, p->threads_len);
			check(&s[i].process, p->processes_len);
			check(&s[i].device, p->devices_len);
			check(&s[i].frame, p->frames_len);
			check(&s[i].reason, p->strings.len);
			break;
		case AIF_CHUNK_CPU:
			check(&c[i].thread, p->threads_len);
			check(&c[i].stack, p->stacks_len);
			if (c[i].waker_thread > p->threads_len)
				c[i].waker_thread = 0;
			if (c[i].waker > p->stacks_len)
				c[i].waker = 0;
			break;
		case AIF_CHUNK_OPS:
			check(&o[i].thread, p->threads_len);
			check(&o[i].name, p->strings.len);
			check(&o[i].shapes, p->strings.len);
			check(&o[i].types, p->strings.len);
			check(&o[i].stack, p->stacks_len);
			break;
		case AIF_CHUNK_COUNTERS:
			check(&v[i].device, p->devices_len);
			check(&v[i].name, p->strings.len);
			check(&v[i].unit, p->strings.len);
			check(&v[i].process, p->processes_len);
			break;
		case AIF_CHUNK_MEMORY:
			check(&m[i].thread, p->threads_len);
			check(&m[i].stack, p->stacks_len);
			check(&m[i].device, p->devices_len);
			break;
		case AIF_CHUNK_STEP_SUMS:
			check(&sum[i].thread, p->threads_len);
			check(&sum[i].device, p->devices_len);
			check(&sum[i].stack, p->stacks_len);
			check(&sum[i].kernel, p->kernels_len);
			break;
		default:
			check(&w[i].process, p->processes_len);
			check(&w[i].device, p->devices_len);
			check(&w[i].thread, p->threads_len);
			break;
		}
	}
}

static int decode_stored(struct aif_file *f, enum aif_chunk_kind kind, size_t index,
			 struct aif_chunk_decoder *d, const void **ret_rows, size_t *ret_n)
{
	sqlite3_stmt *s = f->get_chunk;
	int r = -EBADMSG, step;

	sqlite3_bind_int64(s, 1, f->kinds[kind].chunk[index].id);
	step = sqlite3_step(s);
	if (step == SQLITE_ROW && sqlite3_column_type(s, 0) == SQLITE_BLOB) {
		const void *data = sqlite3_column_blob(s, 0);

		if (data)
			r = aif_chunk_decode(d, kind, data, (size_t)sqlite3_column_bytes(s, 0),
					     ret_rows, ret_n);
		else if (sqlite3_errcode(f->db) == SQLITE_NOMEM)
			r = -ENOMEM;
	} else if (step != SQLITE_ROW && step != SQLITE_DONE) {
		r = aif_sqlite_errno(f->db);
	}
	sqlite3_reset(s);
	return r;
}

int aif_file_read_chunk(const struct aif_profile *p, enum aif_chunk_kind kind, size_t index,
			struct aif_chunk_decoder *d, const void **ret_rows, size_t *ret_n)
{
	const struct aif_file_chunk *c = &p->file->kinds[kind].chunk[index];
	const void *rows;
	size_t n;
	int r = p->file->db ? decode_stored(p->file, kind, index, d, &rows, &n)
			    : aif_chunk_decode(d, kind, c->data, c->size, &rows, &n);

	p->file->kinds[kind].decoded++;
	if (r < 0)
		return r;
	/* The decoder's memory is ours until its next call. */
	check_ids(p, kind, (void *)(uintptr_t)rows, n);
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}

void aif_profile_fail(const struct aif_profile *p, int error)
{
	if (p->file && !p->file->error)
		p->file->error = error;
}

int aif_profile_check(const struct aif_profile *p, const char *path, struct aif_err *err)
{
	int r = p->file ? p->file->error : 0;

	if (r == -ENOMEM)
		return aif_err_set(err, r, "%s: out of memory", path);
	return r ? aif_err_set(err, r, "cannot read %s: %s; try again", path, strerror(-r)) : 0;
}

/* ---- decoded rows ---------------------------------------------------------------------------- */

/*
 * Views read the rows of a kind several times, for different facts. Decoded rows are kept from the first time on where all
 * of a file's rows fit into this; of a longer recording none are: readers go from its beginning to its end, and what is
 * kept of the beginning saves little of that and takes the memory of what they compute. 64 MiB are the rows of 440,000
 * launches with their executions. With twice as much, a flame graph of 800,000 launches, which reads most rows once, took
 * 100 MB and 0.1 s more for the copy.
 */
#define ROWS_KEPT ((size_t)64 << 20)

/* True if rows are to be kept: never of a recording that goes on, where what an id means may yet come (live.h). */
static bool keeps_rows(const struct aif_profile *p)
{
	uint64_t bytes = 0;

	for (enum aif_chunk_kind kind = AIF_CHUNK_LAUNCHES; kind < AIF_CHUNK_KIND_COUNT; kind++)
		bytes += aif_profile_rows(p, kind) * aif_chunk_row_size(kind);
	return p->file->db && bytes <= ROWS_KEPT;
}

/* Keeps a copy of decoded rows if memory allows. */
static void keep_rows(struct aif_file *f, enum aif_chunk_kind kind, size_t index, const void *rows,
		      size_t n)
{
	struct aif_file_chunk *c = &f->kinds[kind].chunk[index];
	size_t bytes = n * aif_chunk_row_size(kind);

	/* The index may have promised fewer. */
	if (!n || bytes > ROWS_KEPT - f->kept_bytes)
		return;
	c->kept = malloc(bytes);
	if (!c->kept)
		return;
	memcpy(c->kept, rows, bytes);
	c->kept_rows = n;
	f->kept_bytes += bytes;
}

uint64_t aif_profile_decoded(const struct aif_profile *p, enum aif_chunk_kind kind,
			     uint64_t *ret_chunks)
{
	*ret_chunks = p->file ? p->file->kinds[kind].len : 0;
	return p->file ? p->file->kinds[kind].decoded : 0;
}

void **aif_profile_attached(const struct aif_profile *p, void (*free_it)(void *attached))
{
	if (!p->file || !p->file->db)
		return NULL;
	p->file->free_attached = free_it;
	return &p->file->attached;
}

typedef int rows_fn(void *arg, const void *rows, size_t n);

static int each_chunk(const struct aif_profile *p, enum aif_chunk_kind kind, rows_fn *fn, void *arg,
		      uint64_t *ret_bad)
{
	struct aif_chunk_decoder *d;
	uint64_t bad = 0, rows_left;
	bool is_full = false, keeps;
	int r = 0;

	if (ret_bad)
		*ret_bad = 0;
	if (!p->file)
		return 0;
	d = aif_chunk_decoder_new();
	if (!d) {
		aif_profile_fail(p, -ENOMEM);
		return -ENOMEM;
	}
	keeps = keeps_rows(p);
	rows_left = p->file->max_rows;
	for (size_t i = 0; i < p->file->kinds[kind].len && r == 0; i++) {
		const struct aif_file_chunk *c = &p->file->kinds[kind].chunk[i];
		const void *rows = c->kept;
		size_t n = c->kept_rows;

		/* Chunks beyond the limit are not even decoded, which takes longest. */
		if (is_full)
			r = -EBADMSG;
		else if (!c->kept)
			r = aif_file_read_chunk(p, kind, i, d, &rows, &n);
		/* A chunk that is damaged is left out; one that cannot be read may be good. */
		if (r < 0 && r != -EBADMSG && r != -EPROTONOSUPPORT) {
			aif_profile_fail(p, r);
			break;
		}
		is_full = is_full || (r == 0 && n > rows_left);
		if (r < 0 || is_full) {
			bad++;
			r = 0;
			continue;
		}
		rows_left -= n;
		if (keeps && !c->kept)
			keep_rows(p->file, kind, i, rows, n);
		r = fn(arg, rows, n);
	}
	aif_chunk_decoder_free(d);
	if (ret_bad)
		*ret_bad = bad;
	return r;
}

/* Defines a function per kind, so that callers' functions have their own row's type. */
#define AIF_BULK(kind, name, row, number)                                                         \
	struct name##_call {                                                                      \
		int (*fn)(void *arg, const struct row *rows, size_t n);                           \
		void *arg;                                                                        \
	};                                                                                        \
	static int call_##name(void *arg, const void *rows, size_t n)                             \
	{                                                                                         \
		const struct name##_call *c = arg;                                                \
                                                                                                  \
		return c->fn(c->arg, rows, n);                                                    \
	}                                                                                         \
	int aif_profile_##name(const struct aif_profile *p,                                       \
			       int (*fn)(void *arg, const struct row *rows, size_t n), void *arg, \
			       uint64_t *ret_bad)                                                 \
	{                                                                                         \
		struct name##_call c = {fn, arg};                                                 \
                                                                                                  \
		return each_chunk(p, AIF_CHUNK_##kind, call_##name, &c, ret_bad);                 \
	}
#include "profile/bulk.def"

uint64_t aif_profile_rows(const struct aif_profile *p, enum aif_chunk_kind kind)
{
	const struct aif_file_chunks *k = p->file ? &p->file->kinds[kind] : NULL;
	uint64_t n = 0;

	for (size_t i = 0; k && i < k->len; i++)
		n += k->chunk[i].rows;
	return n;
}

/* ---- cached results -------------------------------------------------------------------------- */

/* The text of a vendor's tool is nowhere else: a cache that cannot be read is not one that lacks it. */
static int cache_failed(const struct aif_profile *p)
{
	int code = sqlite3_errcode(p->file->db) & 0xff;

	if (code == SQLITE_NOMEM || code == SQLITE_IOERR)
		aif_profile_fail(p, aif_sqlite_errno(p->file->db));
	return -ENOENT;
}

int aif_profile_cache_get(const struct aif_profile *p, const char *name, struct aif_buf *ret)
{
	sqlite3_stmt *s = NULL;
	int r = -ENOENT, step;

	if (!p->file || !p->file->db)
		return -ENOENT;
	if (sqlite3_prepare_v2(p->file->db, "SELECT data FROM main.cache WHERE name=?", -1, &s,
			       NULL) != SQLITE_OK)
		return cache_failed(p);
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	/* Busy is also what SQLite makes of a lock that a signal interrupts. */
	for (unsigned again = 0; (step = sqlite3_step(s)) == SQLITE_BUSY && again < 3; again++)
		sqlite3_reset(s);
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		cache_failed(p);
	if (step == SQLITE_ROW && sqlite3_column_type(s, 0) == SQLITE_BLOB) {
		const void *data = sqlite3_column_blob(s, 0);

		aif_buf_append(ret, data, data ? (size_t)sqlite3_column_bytes(s, 0) : 0);
		r = aif_buf_failed(ret) ? -ENOMEM : 0;
	}
	sqlite3_finalize(s);
	return r;
}

int aif_profile_cache_put(const struct aif_profile *p, const char *name, const void *data, size_t n)
{
	sqlite3_stmt *s = NULL;
	sqlite3 *db;
	int r = 0;

	if (!p->file || !p->file->db)
		return -ENOENT;
	db = p->file->db;
	sqlite3_exec(db, "PRAGMA query_only=OFF", NULL, NULL, NULL);
	if (sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO main.cache(name, data) VALUES(?, ?)", -1,
			       &s, NULL) != SQLITE_OK) {
		r = aif_sqlite_errno(db);
	} else {
		sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
		sqlite3_bind_blob64(s, 2, data, n, SQLITE_STATIC);
		if (sqlite3_step(s) != SQLITE_DONE)
			r = aif_sqlite_errno(db);
	}
	sqlite3_finalize(s);
	sqlite3_exec(db, "PRAGMA query_only=ON", NULL, NULL, NULL);
	return r;
}
