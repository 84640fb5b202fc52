/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/chunk_format.h"

#include <errno.h>
#include <zstd.h>

/* Rows decoded at a time. 256 rows of 10 columns are 20 KB, their row structs 14 KB: about the
 * first-level cache. 128 and 512 measured 5 to 10 % slower. */
#define BLOCK 256

struct column {
	struct aif_chunk_coding how;
	const struct aif_chunk_column *known; /* NULL: a column of a newer aiflame, only a key */
	bool zigzag;
	uint8_t width;
	const uint8_t *planes[8]; /* NULL: all bytes are constants[k] */
	uint8_t constants[8];
	uint64_t before, last0, mean0; /* state of the contexts that have no table */
	uint64_t *last, *mean;         /* tables, when keyed */
	uint64_t v[BLOCK];
};

struct aif_chunk_decoder {
	ZSTD_DCtx *zstd;
	struct aif_buf planes; /* those that were compressed */
	uint8_t *rows;
	size_t rows_cap;
	uint64_t *contexts; /* two tables a column, made when first needed */
	size_t contexts_cap;
	size_t columns_len, n;
	struct column columns[AIF_CHUNK_MAX_COLUMNS];
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

static int check_coding(const struct aif_chunk_coding *how, size_t self)
{
	if (how->base > AIF_BASE_AFTER || how->mean > 1)
		return -EPROTONOSUPPORT;
	if (how->base_key != AIF_KEY_NONE && how->base_key != AIF_KEY_SELF &&
	    !is_earlier(how->base_key, self))
		return -EBADMSG;
	if (how->base == AIF_BASE_AFTER && !is_earlier(how->after, self))
		return -EBADMSG;
	if (how->mean && how->mean_key != AIF_KEY_NONE && !is_earlier(how->mean_key, self))
		return -EBADMSG;
	return 0;
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
	c->before = c->last0 = first;
	c->mean0 = 0;
	c->last = c->mean = NULL;
	if (c->how.base != AIF_BASE_NONE && c->how.base_key != AIF_KEY_NONE)
		c->last = context_table(d, 2 * at, first);
	if (c->how.mean && c->how.mean_key != AIF_KEY_NONE)
		c->mean = context_table(d, 2 * at + 1, 0);
	for (unsigned k = 0; k < c->width && r == 0; k++)
		r = get_plane(d, in, c, k, d->planes.data + (at * 8 + k) * d->n);
	return r;
}

/* Zeroed once: the padding between a row's fields stays so. */
static int reserve_rows(struct aif_chunk_decoder *d, size_t bytes)
{
	if (bytes <= d->rows_cap)
		return 0;
	free(d->rows);
	d->rows = calloc(1, bytes);
	d->rows_cap = d->rows ? bytes : 0;
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
	d->n = (size_t)(aif_load_le64(data) >> 32);
	if (d->columns_len > AIF_CHUNK_MAX_COLUMNS || d->n == 0 || d->n > AIF_CHUNK_MAX_ROWS)
		return -EBADMSG;
	/* Reserved, not touched: pages that no plane is decompressed into are never made. */
	aif_buf_clear(&d->planes);
	if (!aif_buf_reserve(&d->planes, d->columns_len * 8 * d->n + 1) ||
	    aif_grow(&d->contexts, &d->contexts_cap, (d->columns_len + 1) * 2 * AIF_CHUNK_CONTEXTS,
		     sizeof(*d->contexts)) < 0 ||
	    reserve_rows(d, (d->n + BLOCK) * l->row_size) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < d->columns_len && r == 0; i++)
		r = get_column(d, l, &in, i);
	if (r == 0 && in.p != in.end)
		r = -EBADMSG;
	return r;
}

/* ---- residuals -> values --------------------------------------------------------------------- */

/* Adds plane k. Called with a constant n for full blocks, so that the compiler makes vectors of it. */
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

/* Fills c->v with the residuals of n rows from `from`. Returns whether any is not zero. */
static bool get_residuals(struct column *c, size_t from, size_t n)
{
	uint64_t constant = 0;
	bool any;

	for (unsigned k = 0; k < c->width; k++)
		if (!c->planes[k])
			constant |= (uint64_t)c->constants[k] << 8 * k;
	for (size_t i = 0; i < BLOCK; i++)
		c->v[i] = constant;
	any = constant != 0;
	for (unsigned k = 0; k < c->width; k++) {
		const uint8_t *plane = c->planes[k];

		if (!plane || is_zero(plane + from, n))
			continue;
		any = true;
		if (n == BLOCK)
			add_plane(c->v, plane + from, 8 * k, BLOCK);
		else
			add_plane(c->v, plane + from, 8 * k, n);
	}
	if (any && c->zigzag)
		for (size_t i = 0; i < BLOCK; i++)
			c->v[i] = c->v[i] >> 1 ^ -(c->v[i] & 1);
	return any;
}

enum keyed { NOT_KEYED, BY_SELF, BY_COLUMN };

/* One loop, compiled once for each use below with its arguments constant. */
static inline __attribute__((always_inline)) void
undo(struct column *c, size_t n, enum aif_chunk_base base, enum keyed base_keyed, bool mean,
     bool mean_keyed, const uint64_t *restrict base_key, const uint64_t *restrict mean_key,
     const uint64_t *restrict after)
{
	uint64_t last = c->last0, acc = c->mean0, before = c->before;
	uint64_t *restrict v = c->v;

	for (size_t i = 0; i < n; i++) {
		uint64_t x = v[i];

		if (mean) {
			uint64_t *m = mean_keyed ? &c->mean[aif_chunk_context(mean_key[i])] : &acc;
			uint64_t was = *m;

			*m = was + x;
			x += was >> AIF_CHUNK_MEAN_SHIFT;
		}
		if (base != AIF_BASE_NONE) {
			uint64_t *l = base_keyed == BY_COLUMN
					      ? &c->last[aif_chunk_context(base_key[i])]
				      : base_keyed == BY_SELF ? &c->last[aif_chunk_context(before)]
							      : &last;

			x += *l;
			*l = base == AIF_BASE_AFTER ? x + after[i] : x;
			before = x;
		}
		v[i] = x;
	}
	c->last0 = last;
	c->mean0 = acc;
	c->before = before;
}

/* All residuals zero, no mean, base PREV: values are looked up, and no context changes. */
static void look_up(struct column *c, size_t n, const uint64_t *key)
{
	if (c->how.base_key == AIF_KEY_NONE) {
		for (size_t i = 0; i < BLOCK; i++)
			c->v[i] = c->last0;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t x = c->last[aif_chunk_context(key ? key[i] : c->before)];

		c->v[i] = c->before = x;
	}
}

static void decode_column(struct aif_chunk_decoder *d, struct column *c, size_t from, size_t n)
{
	bool any = get_residuals(c, from, n);
	enum keyed keyed = c->how.base == AIF_BASE_NONE || c->how.base_key == AIF_KEY_NONE
				   ? NOT_KEYED
			   : c->how.base_key == AIF_KEY_SELF ? BY_SELF
							     : BY_COLUMN;
	const uint64_t *bk = keyed == BY_COLUMN ? d->columns[c->how.base_key].v : NULL;
	bool mean = c->how.mean, mean_keyed = mean && c->how.mean_key != AIF_KEY_NONE;
	const uint64_t *mk = mean_keyed ? d->columns[c->how.mean_key].v : NULL;
	const uint64_t *af = NULL;

	if (c->how.base == AIF_BASE_AFTER)
		af = d->columns[c->how.after].v;
	if (!mean && c->how.base == AIF_BASE_NONE)
		return;
	if (!mean && c->how.base == AIF_BASE_PREV && !any) {
		look_up(c, n, bk);
		return;
	}
#define CASE(b, k, m, mkd)                            \
	case ((b)*12 + (k)*4 + (m)*2 + (mkd)):        \
		undo(c, n, b, k, m, mkd, bk, mk, af); \
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
