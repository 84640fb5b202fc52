/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/chunk_format.h"

#include <errno.h>
#include <zstd.h>

/* Rows decoded at a time. 256 rows of 10 columns are 20 KB, their row structs 14 KB: about the
 * first-level cache. 128 and 512 measured 5 to 10 % slower. */
#define BLOCK 256

/* The contexts of a block's rows by a key that is an earlier column. */
struct contexts {
	uint8_t key;
	uint64_t history;
	size_t filled; /* up to which row */
	uint16_t at[BLOCK];
};

struct column {
	struct aif_chunk_coding how;
	const struct aif_chunk_column *known; /* NULL: a column of a newer aiflame, only a key */
	bool zigzag;
	bool steady; /* v is last0 throughout */
	uint8_t width;
	const uint8_t *planes[8]; /* NULL: all bytes are constants[k] */
	uint8_t constants[8];
	uint64_t history, last0, mean0; /* of its own; state of the contexts that have no table */
	uint64_t *last, *mean;          /* tables, when keyed */
	struct contexts *base_at, *mean_at;
	uint64_t v[BLOCK];
};

struct aif_chunk_decoder {
	ZSTD_DCtx *zstd;
	struct aif_buf planes; /* those that were compressed */
	uint8_t *rows;
	size_t rows_cap;
	const struct aif_chunk_layout *rows_of;
	uint64_t *contexts; /* two tables a column, made when first needed */
	size_t contexts_cap;
	size_t columns_len, n;
	struct column columns[AIF_CHUNK_MAX_COLUMNS];
	size_t keys_len;
	struct contexts keys[2 * AIF_CHUNK_MAX_COLUMNS];
};

struct aif_chunk_decoder *aif_chunk_decoder_new(void)
{
	struct aif_chunk_decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->zstd = ZSTD_createDCtx();
	if (!d->zstd) {
		free(d);
		return NULL;
	}
	return d;
}

void aif_chunk_decoder_free(struct aif_chunk_decoder *d)
{
	if (!d)
		return;
	ZSTD_freeDCtx(d->zstd);
	aif_buf_finish(&d->planes);
	free(d->rows);
	free(d->contexts);
	free(d);
}

/* ---- parsing --------------------------------------------------------------------------------- */

struct input {
	const uint8_t *p, *end;
};

static int get_varint(struct input *in, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (in->p == in->end)
			return -EBADMSG;
		v |= (uint64_t)(*in->p & 0x7f) << shift;
		if (!(*in->p++ & 0x80)) {
			*ret = v;
			return 0;
		}
	}
	return -EBADMSG;
}

/* `room` is where this plane goes if it is compressed. */
static int get_plane(struct aif_chunk_decoder *d, struct input *in, struct column *c, unsigned k,
		     uint8_t *room)
{
	uint64_t size;

	if (in->end - in->p < 2)
		return -EBADMSG;
	switch (*in->p++) {
	case AIF_PLANE_CONST:
		c->planes[k] = NULL;
		c->constants[k] = *in->p++;
		return 0;
	case AIF_PLANE_RAW:
		if ((size_t)(in->end - in->p) < d->n)
			return -EBADMSG;
		c->planes[k] = in->p;
		in->p += d->n;
		return 0;
	case AIF_PLANE_ZSTD:
		if (get_varint(in, &size) < 0 || size > (size_t)(in->end - in->p) ||
		    ZSTD_decompressDCtx(d->zstd, room, d->n, in->p, size) != d->n)
			return -EBADMSG;
		c->planes[k] = room;
		in->p += size;
		return 0;
	}
	return -EPROTONOSUPPORT;
}

static bool is_earlier(uint8_t place, size_t self)
{
	return place < self;
}

static int check_key(uint8_t key, size_t self)
{
	uint8_t place = AIF_KEY_PLACE(key);

	if (AIF_KEY_ORDER(key) > AIF_KEY_MAX_ORDER)
		return -EPROTONOSUPPORT;
	return place == AIF_KEY_NONE || place == AIF_KEY_SELF || is_earlier(place, self) ? 0
											 : -EBADMSG;
}

static int check_coding(const struct aif_chunk_coding *how, size_t self)
{
	int r;

	if (how->base > AIF_BASE_AFTER || how->mean > AIF_MEAN_MAX)
		return -EPROTONOSUPPORT;
	if (how->base == AIF_BASE_AFTER && !is_earlier(how->after, self))
		return -EBADMSG;
	/* A mean is known only when the value is. */
	if (how->mean && AIF_KEY_PLACE(how->mean_key) == AIF_KEY_SELF)
		return -EBADMSG;
	r = check_key(how->base_key, self);
	return r < 0 ? r : check_key(how->mean_key, self);
}

/* Columns often have the same key. */
static struct contexts *contexts_by(struct aif_chunk_decoder *d, uint8_t key)
{
	struct contexts *c = d->keys;

	while (c < d->keys + d->keys_len && c->key != key)
		c++;
	if (c == d->keys + d->keys_len) {
		c->key = key;
		c->history = c->filled = 0;
		d->keys_len++;
	}
	return c;
}

static bool is_keyed(uint8_t key)
{
	return AIF_KEY_PLACE(key) != AIF_KEY_NONE;
}

static uint64_t *context_table(struct aif_chunk_decoder *d, size_t at, uint64_t fill)
{
	uint64_t *t = d->contexts + at * AIF_CHUNK_CONTEXTS;

	for (size_t i = 0; i < AIF_CHUNK_CONTEXTS; i++)
		t[i] = fill;
	return t;
}

static int get_column(struct aif_chunk_decoder *d, const struct aif_chunk_layout *l,
		      struct input *in, size_t at)
{
	struct column *c = &d->columns[at];
	uint64_t first;
	int r;

	if (in->end - in->p < 8)
		return -EBADMSG;
	c->known = NULL;
	for (size_t i = 0; i < l->columns_len; i++)
		if (l->columns[i].id == in->p[0])
			c->known = &l->columns[i];
	c->how = (struct aif_chunk_coding){in->p[1], in->p[2], in->p[3], in->p[4], in->p[5]};
	c->zigzag = in->p[6] != 0;
	c->width = in->p[7];
	if (c->width > 8 || in->p[6] > 1)
		return -EBADMSG;
	in->p += 8;
	r = check_coding(&c->how, at);
	if (r == 0)
		r = get_varint(in, &first);
	if (r < 0)
		return r;
	c->last0 = first;
	c->steady = false;
	c->history = c->mean0 = 0;
	c->last = c->mean = NULL;
	c->base_at = c->mean_at = NULL;
	if (c->how.base != AIF_BASE_NONE && is_keyed(c->how.base_key)) {
		c->last = context_table(d, 2 * at, first);
		if (AIF_KEY_PLACE(c->how.base_key) != AIF_KEY_SELF)
			c->base_at = contexts_by(d, c->how.base_key);
	}
	if (c->how.mean && is_keyed(c->how.mean_key)) {
		c->mean = context_table(d, 2 * at + 1, 0);
		c->mean_at = contexts_by(d, c->how.mean_key);
	}
	for (unsigned k = 0; k < c->width && r == 0; k++)
		r = get_plane(d, in, c, k, d->planes.data + (at * 8 + k) * d->n);
	return r;
}

/* Zeroed once for rows of one kind: the padding between a row's fields stays so. */
static int reserve_rows(struct aif_chunk_decoder *d, const struct aif_chunk_layout *l, size_t bytes)
{
	if (bytes <= d->rows_cap && d->rows_of == l)
		return 0;
	free(d->rows);
	d->rows = calloc(1, bytes);
	d->rows_cap = d->rows ? bytes : 0;
	d->rows_of = l;
	return d->rows ? 0 : -ENOMEM;
}

static int parse(struct aif_chunk_decoder *d, const struct aif_chunk_layout *l,
		 enum aif_chunk_kind kind, const uint8_t *data, size_t size)
{
	struct input in = {data + AIF_CHUNK_HEADER, data + size};
	int r = 0;

	if (size < AIF_CHUNK_HEADER || data[0] != kind)
		return -EBADMSG;
	if (aif_load_le64(data + 8) != aif_chunk_checksum(data, size))
		return -EBADMSG;
	if (data[1] != AIF_CHUNK_VERSION)
		return -EPROTONOSUPPORT;
	d->columns_len = data[2];
	d->keys_len = 0;
	d->n = (size_t)(aif_load_le64(data) >> 32);
	if (d->columns_len > AIF_CHUNK_MAX_COLUMNS || d->n == 0 || d->n > AIF_CHUNK_MAX_ROWS)
		return -EBADMSG;
	/* Reserved, not touched: pages that no plane is decompressed into are never made. */
	aif_buf_clear(&d->planes);
	if (!aif_buf_reserve(&d->planes, d->columns_len * 8 * d->n + 1) ||
	    aif_grow(&d->contexts, &d->contexts_cap, (d->columns_len + 1) * 2 * AIF_CHUNK_CONTEXTS,
		     sizeof(*d->contexts)) < 0 ||
	    reserve_rows(d, l, (d->n + BLOCK) * l->row_size) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < d->columns_len && r == 0; i++)
		r = get_column(d, l, &in, i);
	if (r == 0 && in.p != in.end)
		r = -EBADMSG;
	return r;
}

/* ---- residuals -> values --------------------------------------------------------------------- */

/* Called with a constant n for full blocks, so that the compiler makes vectors of the loops. */
static inline __attribute__((always_inline)) void put_first(uint64_t *restrict v, uint64_t constant,
							    const uint8_t *restrict plane,
							    unsigned shift, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = constant | (uint64_t)plane[i] << shift;
}

static inline __attribute__((always_inline)) void put_two(uint64_t *restrict v, uint64_t constant,
							  const uint8_t *restrict low,
							  const uint8_t *restrict high,
							  unsigned shift, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = constant | (uint64_t)(uint16_t)(low[i] | high[i] << 8) << shift;
}

static inline __attribute__((always_inline)) void
add_plane(uint64_t *restrict v, const uint8_t *restrict plane, unsigned shift, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] |= (uint64_t)plane[i] << shift;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	uint64_t any = 0, w;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&w, p, 8);
		any |= w;
	}
	while (n--)
		any |= *p++;
	return !any;
}

/* Fills c->v with the residuals of n rows from `from`, and returns true; or returns false when
 * all of them are zero, which is most common. */
static bool get_residuals(struct column *c, size_t from, size_t n)
{
	const uint8_t *planes[8];
	unsigned shifts[8], len = 0, k = 1;
	uint64_t constant = 0;

	for (unsigned i = 0; i < c->width; i++) {
		const uint8_t *plane = c->planes[i];

		if (!plane) {
			constant |= (uint64_t)c->constants[i] << 8 * i;
		} else if (!is_zero(plane + from, n)) {
			planes[len] = plane + from;
			shifts[len++] = 8 * i;
		}
	}
	if (!len && !constant)
		return false;
	if (!len) {
		for (size_t i = 0; i < BLOCK; i++)
			c->v[i] = constant;
	} else if (n < BLOCK) {
		put_first(c->v, constant, planes[0], shifts[0], n);
	} else if (len > 1 && shifts[1] == shifts[0] + 8) {
		put_two(c->v, constant, planes[0], planes[1], shifts[0], BLOCK);
		k = 2;
	} else {
		put_first(c->v, constant, planes[0], shifts[0], BLOCK);
	}
	for (; k < len; k++) {
		if (n == BLOCK)
			add_plane(c->v, planes[k], shifts[k], BLOCK);
		else
			add_plane(c->v, planes[k], shifts[k], n);
	}
	if (c->zigzag)
		for (size_t i = 0; i < BLOCK; i++)
			c->v[i] = c->v[i] >> 1 ^ -(c->v[i] & 1);
	return true;
}

/* The contexts of the block of n rows from `from`, made when first asked for. */
static const uint16_t *get_contexts(const struct aif_chunk_decoder *d, struct contexts *c,
				    size_t from, size_t n)
{
	const uint64_t *v;
	uint64_t history;
	unsigned order;

	if (!c)
		return NULL;
	if (c->filled == from + n)
		return c->at;
	c->filled = from + n;
	v = d->columns[AIF_KEY_PLACE(c->key)].v;
	order = AIF_KEY_ORDER(c->key);
	history = c->history;
	if (order == 0) {
		for (size_t i = 0; i < BLOCK; i++)
			c->at[i] = (uint16_t)aif_chunk_context(v[i], 0);
		return c->at;
	}
	for (size_t i = 0; i < n; i++) {
		history = aif_chunk_history(history, v[i], order);
		c->at[i] = (uint16_t)aif_chunk_context(history, order);
	}
	c->history = history;
	return c->at;
}

enum keyed { NOT_KEYED, BY_SELF, BY_COLUMN };

/* Undoes the residuals of a column: one loop, compiled once for each use below with its arguments
 * constant. */
static inline __attribute__((always_inline)) void
undo(struct column *c, size_t n, enum aif_chunk_base base, enum keyed base_keyed, bool has_mean,
     bool mean_keyed, const uint16_t *restrict base_at, const uint16_t *restrict mean_at,
     const uint64_t *restrict after)
{
	uint64_t last = c->last0, acc = c->mean0, history = c->history;
	unsigned order = AIF_KEY_ORDER(c->how.base_key), mean = c->how.mean;
	uint64_t *restrict v = c->v;

	for (size_t i = 0; i < n; i++) {
		uint64_t x = v[i];

		if (has_mean) {
			uint64_t *m = mean_keyed ? &c->mean[mean_at[i]] : &acc;

			x += aif_chunk_mean(*m, mean);
			*m = aif_chunk_mean_next(*m, x);
		}
		if (base != AIF_BASE_NONE) {
			uint64_t *l = base_keyed == BY_COLUMN ? &c->last[base_at[i]]
				      : base_keyed == BY_SELF
					      ? &c->last[aif_chunk_context(history, order)]
					      : &last;

			x += *l;
			*l = base == AIF_BASE_AFTER ? x + after[i] : x;
			if (base_keyed == BY_SELF)
				history = aif_chunk_history(history, x, order);
		}
		v[i] = x;
	}
	c->last0 = last;
	c->mean0 = acc;
	c->history = history;
}

/* All residuals zero, no mean, base PREV: values are looked up, and no context changes. */
static void look_up(struct column *c, size_t n, const uint16_t *at)
{
	unsigned order = AIF_KEY_ORDER(c->how.base_key);

	if (!c->last) {
		for (size_t i = 0; i < BLOCK && !c->steady; i++)
			c->v[i] = c->last0;
		c->steady = true;
		return;
	}
	if (at) {
		for (size_t i = 0; i < n; i++)
			c->v[i] = c->last[at[i]];
		return;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t x = c->last[aif_chunk_context(c->history, order)];

		c->v[i] = x;
		c->history = aif_chunk_history(c->history, x, order);
	}
}

static void decode_column(struct aif_chunk_decoder *d, struct column *c, size_t from, size_t n)
{
	bool any = get_residuals(c, from, n), mean = c->how.mean, mean_keyed = c->mean;
	enum keyed keyed = !c->last ? NOT_KEYED : c->base_at ? BY_COLUMN : BY_SELF;
	const uint16_t *base_at, *mean_at;
	const uint64_t *after = NULL;

	if (!mean && c->how.base == AIF_BASE_NONE) {
		if (!any)
			memset(c->v, 0, sizeof(c->v));
		return;
	}
	base_at = get_contexts(d, c->base_at, from, n);
	mean_at = get_contexts(d, c->mean_at, from, n);
	if (c->how.base == AIF_BASE_AFTER)
		after = d->columns[c->how.after].v;
	if (!mean && c->how.base == AIF_BASE_PREV && !any) {
		look_up(c, n, base_at);
		return;
	}
	if (!any)
		memset(c->v, 0, sizeof(c->v));
	c->steady = false;
#define CASE(b, k, m, mkd)                                         \
	case ((b)*12 + (k)*4 + (m)*2 + (mkd)):                     \
		undo(c, n, b, k, m, mkd, base_at, mean_at, after); \
		break
#define CASES(b, k)       \
	CASE(b, k, 0, 0); \
	CASE(b, k, 1, 0); \
	CASE(b, k, 1, 1)
	switch (c->how.base * 12 + keyed * 4 + mean * 2 + mean_keyed) {
		CASE(AIF_BASE_NONE, NOT_KEYED, 1, 0);
		CASE(AIF_BASE_NONE, NOT_KEYED, 1, 1);
		CASES(AIF_BASE_PREV, NOT_KEYED);
		CASES(AIF_BASE_PREV, BY_SELF);
		CASES(AIF_BASE_PREV, BY_COLUMN);
		CASES(AIF_BASE_AFTER, NOT_KEYED);
		CASES(AIF_BASE_AFTER, BY_SELF);
		CASES(AIF_BASE_AFTER, BY_COLUMN);
	}
#undef CASES
#undef CASE
}

/* ---- values -> rows -------------------------------------------------------------------------- */

static void put_u32(uint8_t *to, size_t step, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t x = (uint32_t)v[i] - 1;

		memcpy(to + i * step, &x, sizeof(x));
	}
}

static void put_u64(uint8_t *to, size_t step, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		memcpy(to + i * step, &v[i], sizeof(v[i]));
}

/* Spans wait until the starts are there. */
static void add_starts(uint8_t *to, const uint8_t *start, size_t step, size_t n)
{
	uint64_t a, b;

	for (size_t i = 0; i < n; i++) {
		memcpy(&a, to + i * step, sizeof(a));
		memcpy(&b, start + i * step, sizeof(b));
		a += b;
		memcpy(to + i * step, &a, sizeof(a));
	}
}

static void put_missing(const struct aif_chunk_layout *l, const struct aif_chunk_column *c,
			uint8_t *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t narrow = (uint32_t)c->missing;

		if (c->form == AIF_FORM_U32)
			memcpy(rows + i * l->row_size + c->offset, &narrow, sizeof(narrow));
		else
			memcpy(rows + i * l->row_size + c->offset, &c->missing, sizeof(c->missing));
	}
}

static void decode_block(struct aif_chunk_decoder *d, const struct aif_chunk_layout *l,
			 const bool *present, size_t from, size_t n)
{
	uint8_t *rows = d->rows + from * l->row_size;

	for (size_t i = 0; i < l->columns_len; i++)
		if (!present[i])
			put_missing(l, &l->columns[i], rows, n);
	for (size_t i = 0; i < d->columns_len; i++) {
		struct column *c = &d->columns[i];

		decode_column(d, c, from, n);
		if (c->known && c->known->form == AIF_FORM_U32)
			put_u32(rows + c->known->offset, l->row_size, c->v, n);
		else if (c->known)
			put_u64(rows + c->known->offset, l->row_size, c->v, n);
	}
	for (size_t i = 0; i < l->columns_len; i++)
		if (l->columns[i].form == AIF_FORM_SPAN)
			add_starts(rows + l->columns[i].offset, rows + l->start, l->row_size, n);
}

int aif_chunk_decode(struct aif_chunk_decoder *d, enum aif_chunk_kind kind, const void *data,
		     size_t size, const void **ret_rows, size_t *ret_n)
{
	const struct aif_chunk_layout *l = aif_chunk_layout(kind);
	bool present[AIF_CHUNK_MAX_COLUMNS] = {0};
	int r;

	if (!l)
		return -EINVAL;
	r = parse(d, l, kind, data, size);
	if (r < 0)
		return r;
	for (size_t i = 0; i < d->columns_len; i++)
		if (d->columns[i].known)
			present[d->columns[i].known - l->columns] = true;
	for (size_t from = 0; from < d->n; from += BLOCK)
		decode_block(d, l, present, from, AIF_MIN(d->n - from, (size_t)BLOCK));
	*ret_rows = d->rows;
	*ret_n = d->n;
	return 0;
}
