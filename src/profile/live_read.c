/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/code_pack.h"
#include "profile/live.h"

#include "profile/file.h"
#include "profile/file_internal.h"
#include "profile/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Pairs of clocks that are older serve no row that is kept. */
#define PAIRS_NS (120 * AIF_NS_PER_S)
#define PAIRS    1024 /* are looked through when there are so many */

struct aif_live_reader {
	struct aif_profile p;
	struct aif_buf in; /* the message that is not complete */
	size_t need;       /* bytes of .in without which nothing can be done */
	size_t received[AIF_TABLE_COUNT];
	uint64_t keep_ns, max_bytes, bytes, dropped, drop_at;
	uint64_t ops_until; /* time of the commit up to which aif_live_new_ops() has given them */
	uint64_t dropped_rows[AIF_CHUNK_KIND_COUNT];
	struct aif_live_commit last;
	bool has_begun, has_commit, is_frozen;
};

int aif_live_reader_new(uint64_t keep_ns, uint64_t max_bytes, struct aif_live_reader **ret)
{
	struct aif_live_reader *r = calloc(1, sizeof(*r));
	struct aif_file *f = calloc(1, sizeof(*f));

	if (!r || !f) {
		free(r);
		free(f);
		return -ENOMEM;
	}
	f->max_rows = UINT64_MAX;
	r->p.file = f;
	r->keep_ns = keep_ns;
	r->max_bytes = max_bytes;
	*ret = r;
	return 0;
}

void aif_live_reader_free(struct aif_live_reader *r)
{
	if (!r)
		return;
	aif_profile_finish(&r->p);
	aif_buf_finish(&r->in);
	free(r);
}

/* ---- messages -------------------------------------------------------------------------------- */

static int damaged(const char *what, struct aif_err *err)
{
	return aif_err_set(err, -EBADMSG, "the recorder's stream is damaged: %s", what);
}

static int no_memory(struct aif_err *err)
{
	return aif_err_set(err, -ENOMEM, "out of memory");
}

static int take_begin(struct aif_live_reader *r, const struct aif_live_head *h,
		      const uint8_t *bytes, struct aif_err *err)
{
	struct aif_live_begin b;
	bool same = h->size == sizeof(b);

	if (same)
		memcpy(&b, bytes, sizeof(b));
	same = same && b.magic == AIF_LIVE_MAGIC;
	for (size_t i = 0; i < AIF_ARRAY_LEN(b.row_sizes) && same; i++)
		same = b.row_sizes[i] == (i < AIF_TABLE_COUNT ? aif_schema_tables[i].row_size : 0);
	if (!same)
		return aif_err_set(err, -EPROTO,
				   "the recorder is another version of aiflame; use the same one");
	r->p.start_ns = r->p.end_ns = r->p.kept_ns = b.start_ns;
	r->has_begun = true;
	return 0;
}

static int take_strings(struct aif_live_reader *r, const struct aif_live_head *h,
			const uint8_t *bytes, struct aif_err *err)
{
	uint64_t at = h->count * sizeof(uint32_t);

	if (h->count > h->size / sizeof(uint32_t) || h->at != r->p.strings.len)
		return damaged("strings", err);
	for (uint64_t i = 0; i < h->count; i++) {
		uint32_t len, want = (uint32_t)r->p.strings.len, got;

		memcpy(&len, bytes + i * sizeof(len), sizeof(len));
		if (len > h->size - at)
			return damaged("a string's length", err);
		got = aif_strset_put(&r->p.strings, bytes + at, len);
		if (got == AIF_STR_NONE)
			return no_memory(err);
		if (got != want)
			return damaged("a string twice", err);
		at += len;
	}
	return 0;
}

static int take_rows(struct aif_live_reader *r, const struct aif_live_head *h, const uint8_t *bytes,
		     struct aif_err *err)
{
	const struct aif_schema_table *t;
	size_t *len, *cap;
	uint8_t **rows;

	if (h->id >= AIF_TABLE_COUNT)
		return damaged("a table's number", err);
	t = &aif_schema_tables[h->id];
	if (h->count > h->size / t->row_size || h->size != h->count * t->row_size ||
	    h->at != (t->rewritten ? 0 : r->received[h->id]))
		return damaged(t->name, err);
	rows = (uint8_t **)((char *)&r->p + t->rows_at);
	len = aif_schema_len(&r->p, t);
	cap = (size_t *)((char *)&r->p + t->cap_at);
	if (t->rewritten)
		*len = 0;
	if (*len + h->count >= AIF_NONE)
		return damaged(t->name, err);
	if (aif_grow(rows, cap, *len + h->count, t->row_size) < 0)
		return no_memory(err);
	if (h->count)
		memcpy(*rows + *len * t->row_size, bytes, h->size);
	/* The sender's addresses. */
	for (size_t i = 0; i < h->count && h->id == AIF_TABLE_CODE; i++)
		r->p.codes[*len + i].bytes = r->p.codes[*len + i].packed = NULL;
	*len += h->count;
	r->received[h->id] = h->at + h->count;
	return 0;
}

static int take_code(struct aif_live_reader *r, const struct aif_live_head *h, const uint8_t *bytes,
		     struct aif_err *err)
{
	struct aif_code *c = h->at < r->p.codes_len ? &r->p.codes[h->at] : NULL;
	uint64_t left = AIF_CODE_MAX;
	uint8_t *copy;
	int e;

	if (!c || c->bytes || c->packed || !h->size ||
	    h->size != (h->count ? c->packed_size : c->size))
		return damaged("code", err);
	copy = malloc(h->size);
	if (!copy)
		return no_memory(err);
	memcpy(copy, bytes, h->size);
	if (!h->count) {
		c->bytes = copy;
		return 0;
	}
	c->packed = copy;
	e = c->arch < r->p.strings.len || c->arch == AIF_NONE
		    ? aif_code_load(c, aif_profile_str(&r->p, c->arch), &left)
		    : -EBADMSG;
	return e == -ENOMEM ? no_memory(err) : e ? damaged("code", err) : 0;
}

static int take_chunk(struct aif_live_reader *r, const struct aif_live_head *h,
		      const uint8_t *bytes, struct aif_err *err)
{
	struct aif_file_chunks *k;
	uint8_t *copy;

	if (!h->id || h->id >= AIF_CHUNK_KIND_COUNT || !h->size)
		return damaged("a chunk", err);
	if (r->is_frozen)
		return 0;
	k = &r->p.file->kinds[h->id];
	copy = malloc(h->size);
	if (!copy || aif_grow(&k->chunk, &k->cap, k->len + 1, sizeof(*k->chunk)) < 0) {
		free(copy);
		return no_memory(err);
	}
	memcpy(copy, bytes, h->size);
	k->chunk[k->len++] = (struct aif_file_chunk){
		.rows = (uint32_t)AIF_MIN(h->count, (uint64_t)AIF_CHUNK_MAX_ROWS),
		.data = copy,
		.size = h->size,
		.end = UINT64_MAX}; /* until the commit */
	r->bytes += h->size;
	return 0;
}

/* ---- commits --------------------------------------------------------------------------------- */

static void drop_first(struct aif_live_reader *r, size_t kind, size_t n)
{
	struct aif_file_chunks *k = &r->p.file->kinds[kind];

	for (size_t i = 0; i < n; i++) {
		r->dropped_rows[kind] += k->chunk[i].rows;
		r->p.kept_ns = AIF_MAX(r->p.kept_ns, k->chunk[i].end);
		r->bytes -= k->chunk[i].size;
		free(k->chunk[i].data);
	}
	k->len -= n;
	memmove(k->chunk, k->chunk + n, k->len * sizeof(*k->chunk));
}

/* Drops the chunks that came before `until`; returns how many. */
static uint64_t drop_until(struct aif_live_reader *r, uint64_t until)
{
	uint64_t dropped = 0;

	for (size_t kind = 0; kind < AIF_CHUNK_KIND_COUNT; kind++) {
		struct aif_file_chunks *k = &r->p.file->kinds[kind];
		size_t n = 0;

		while (n < k->len && k->chunk[n].end < until)
			n++;
		dropped += n;
		if (n)
			drop_first(r, kind, n);
	}
	return dropped;
}

static uint64_t oldest(const struct aif_live_reader *r)
{
	uint64_t at = UINT64_MAX;

	for (size_t kind = 0; kind < AIF_CHUNK_KIND_COUNT; kind++)
		if (r->p.file->kinds[kind].len)
			at = AIF_MIN(at, r->p.file->kinds[kind].chunk[0].end);
	return at;
}

static void trim(struct aif_live_reader *r, uint64_t now)
{
	uint64_t at;

	drop_until(r, AIF_MAX(r->drop_at, now > r->keep_ns ? now - r->keep_ns : 0));
	while (r->bytes > r->max_bytes && (at = oldest(r)) < now)
		r->dropped += drop_until(r, at + 1);
	if (r->p.kept_ns > r->p.start_ns)
		r->p.notes |= AIF_NOTE_TRIMMED;
	r->p.dropped_launches = r->dropped_rows[AIF_CHUNK_LAUNCHES];
}

/* No row points to a pair: old ones go, but for the last of each clock and process before. */
static void trim_pairs(struct aif_live_reader *r, uint64_t now)
{
	struct aif_profile *p = &r->p;
	size_t kept = 0;

	if (p->clock_pairs_len < PAIRS || now < PAIRS_NS)
		return;
	for (size_t i = 0; i < p->clock_pairs_len; i++)
		if (p->clock_pairs[i].after >= now - PAIRS_NS)
			p->clock_pairs[kept++] = p->clock_pairs[i];
	p->clock_pairs_len = kept;
}

static int check_tables(struct aif_live_reader *r, struct aif_err *err)
{
	for (size_t i = 0; i < AIF_TABLE_COUNT; i++) {
		const struct aif_schema_table *t = &aif_schema_tables[i];

		if (aif_schema_bad_ref(&r->p, t))
			return damaged(t->name, err);
	}
	return aif_schema_check_stacks(&r->p) ? 0 : damaged("stack", err);
}

static int take_commit(struct aif_live_reader *r, const struct aif_live_head *h,
		       const uint8_t *bytes, struct aif_err *err)
{
	int e;

	if (h->size != sizeof(r->last))
		return damaged("a commit", err);
	memcpy(&r->last, bytes, sizeof(r->last));
	for (size_t kind = 0; kind < AIF_CHUNK_KIND_COUNT; kind++) {
		struct aif_file_chunks *k = &r->p.file->kinds[kind];

		for (size_t i = k->len; i-- > 0 && k->chunk[i].end == UINT64_MAX;)
			k->chunk[i].end = r->last.now_ns;
	}
	e = check_tables(r, err);
	if (e < 0)
		return e;
	if (!r->is_frozen) {
		trim(r, r->last.now_ns);
		r->p.end_ns = AIF_MAX(r->last.now_ns, r->p.start_ns);
	}
	trim_pairs(r, r->p.end_ns);
	aif_profile_settle(&r->p);
	r->has_commit = true;
	return 0;
}

static int take(struct aif_live_reader *r, const struct aif_live_head *h, const uint8_t *bytes,
		struct aif_err *err)
{
	if (h->type != AIF_LIVE_BEGIN && !r->has_begun)
		return damaged("it has no beginning", err);
	switch (h->type) {
	case AIF_LIVE_BEGIN:
		return r->has_begun ? damaged("two beginnings", err) : take_begin(r, h, bytes, err);
	case AIF_LIVE_STRINGS:
		return take_strings(r, h, bytes, err);
	case AIF_LIVE_ROWS:
		return take_rows(r, h, bytes, err);
	case AIF_LIVE_CODE:
		return take_code(r, h, bytes, err);
	case AIF_LIVE_CHUNK:
		return take_chunk(r, h, bytes, err);
	case AIF_LIVE_COMMIT:
		return take_commit(r, h, bytes, err);
	default:
		return damaged("a message of no known type", err);
	}
}

int aif_live_feed(struct aif_live_reader *r, const void *bytes, size_t n, unsigned *ret_commits,
		  struct aif_err *err)
{
	size_t at = 0;
	int e = 0;

	*ret_commits = 0;
	aif_buf_append(&r->in, bytes, n);
	if (aif_buf_failed(&r->in))
		return no_memory(err);
	while (!e && r->in.len - at >= sizeof(struct aif_live_head)) {
		struct aif_live_head h;

		memcpy(&h, r->in.data + at, sizeof(h));
		if (h.size > AIF_LIVE_MESSAGE_MAX)
			return damaged("a message's length", err);
		if (r->in.len - at - sizeof(h) < h.size)
			break;
		e = take(r, &h, r->in.data + at + sizeof(h), err);
		*ret_commits += h.type == AIF_LIVE_COMMIT;
		at += sizeof(h) + h.size;
	}
	memmove(r->in.data, r->in.data + at, r->in.len - at);
	r->in.len -= at;
	return e;
}

void aif_live_freeze(struct aif_live_reader *r, bool is_frozen)
{
	r->is_frozen = is_frozen;
}

void aif_live_drop(struct aif_live_reader *r, uint64_t at)
{
	r->drop_at = at;
}

const struct aif_profile *aif_live_profile(const struct aif_live_reader *r)
{
	return r->has_commit ? &r->p : NULL;
}

const struct aif_live_commit *aif_live_last(const struct aif_live_reader *r)
{
	return &r->last;
}

uint64_t aif_live_dropped(const struct aif_live_reader *r)
{
	return r->dropped;
}

uint64_t aif_live_bytes(const struct aif_live_reader *r)
{
	return r->bytes;
}

int aif_live_new_ops(struct aif_live_reader *r,
		     int (*fn)(void *arg, const struct aif_op_row *rows, size_t n), void *arg)
{
	const struct aif_file_chunks *k = &r->p.file->kinds[AIF_CHUNK_OPS];
	struct aif_chunk_decoder *d = aif_chunk_decoder_new();
	int e = d ? 0 : -ENOMEM;

	for (size_t i = 0; i < k->len && !e; i++) {
		const void *rows;
		size_t n;

		if (k->chunk[i].end <= r->ops_until || k->chunk[i].end > r->last.now_ns)
			continue;
		e = aif_file_read_chunk(&r->p, AIF_CHUNK_OPS, i, d, &rows, &n);
		e = e == -EBADMSG ? 0 : e ? e : fn(arg, rows, n);
	}
	r->ops_until = r->last.now_ns;
	aif_chunk_decoder_free(d);
	return e;
}

/* ---- a file ---------------------------------------------------------------------------------- */

struct save {
	struct aif_writer *w;
	struct aif_err *err;
};

#define AIF_BULK(kind, name, row, number)                                   \
	static int save_##name(void *arg, const struct row *rows, size_t n) \
	{                                                                   \
		struct save *s = arg;                                       \
                                                                            \
		return aif_writer_##name(s->w, rows, n, s->err);            \
	}
#include "profile/bulk.def"

static int save_rows(const struct aif_profile *p, struct save *s)
{
	int e = 0;

#define AIF_BULK(kind, name, row, number) e = e ? e : aif_profile_##name(p, save_##name, s, NULL);
#include "profile/bulk.def"
	return e;
}

static int save_cycle(struct aif_writer *w, const struct aif_profile *p, const struct aif_cycle *c,
		      struct aif_err *err)
{
	char value[160];
	int len = snprintf(value, sizeof(value),
			   "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, c->cycle,
			   c->first, c->last, c->from_ns, c->to_ns);

	if (c->is_slow)
		snprintf(value + len, sizeof(value) - (size_t)len, " %" PRIu64, c->usual_ns);
	return aif_writer_note(w, p, AIF_CYCLE, value, err);
}

int aif_live_save(const struct aif_live_reader *r, const char *path, const struct aif_cycle *cycle,
		  struct aif_err *err)
{
	struct save s = {.err = err};
	int e = aif_writer_new(path, r->p.start_ns, &s.w, err), e2;

	if (e < 0)
		return e;
	e = aif_writer_tables(s.w, &r->p, err);
	if (!e && cycle && cycle->cycle)
		e = save_cycle(s.w, &r->p, cycle, err);
	if (!e)
		e = save_rows(&r->p, &s);
	for (int kind = 1; kind < AIF_CHUNK_KIND_COUNT && !e; kind++)
		if (r->dropped_rows[kind])
			e = aif_writer_dropped(s.w, (enum aif_chunk_kind)kind,
					       r->dropped_rows[kind], 0, r->p.kept_ns, err);
	e2 = aif_writer_finish(s.w, r->p.end_ns, e ? NULL : err);
	return e ? e : e2;
}
