/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/chunk_format.h"

#include <errno.h>
#include <zstd.h>

/* Rows that a candidate is tried on: enough to see each call site of a training step dozens of
 * times, at a tenth of the cost of trying all. */
#define TRY_ROWS 6144

/* Level 1 to 3 differ by less than 0.5 % here, as most bytes are noise or constant; 1 is 1.7 times
 * faster. */
#define ZSTD_LEVEL 1

/* The one grain other than 1 that clocks of devices were seen to have. */
#define GRAIN_LOG 5

/* Planes shorter than this are stored as they are: a zstd frame costs a dozen bytes by itself. */
#define ZSTD_MIN 32

struct aif_chunk_encoder {
	ZSTD_CCtx *zstd;
	uint64_t *columns; /* columns_len times AIF_CHUNK_MAX_ROWS */
	size_t columns_cap;
	uint64_t residuals[AIF_CHUNK_MAX_ROWS];
	uint8_t plane[AIF_CHUNK_MAX_ROWS];
	uint16_t base_at[AIF_CHUNK_MAX_ROWS], mean_at[AIF_CHUNK_MAX_ROWS];
	uint64_t last[AIF_CHUNK_CONTEXTS], mean[AIF_CHUNK_CONTEXTS];
};

struct aif_chunk_encoder *aif_chunk_encoder_new(void)
{
	struct aif_chunk_encoder *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->zstd = ZSTD_createCCtx();
	if (!e->zstd) {
		free(e);
		return NULL;
	}
	return e;
}

void aif_chunk_encoder_free(struct aif_chunk_encoder *e)
{
	if (!e)
		return;
	ZSTD_freeCCtx(e->zstd);
	free(e->columns);
	free(e);
}

static void take_column(const struct aif_chunk_layout *l, const struct aif_chunk_column *c,
			const uint8_t *rows, const uint32_t *order, size_t n, uint64_t *out)
{
	for (size_t i = 0; i < n; i++) {
		const uint8_t *row = rows + (order ? order[i] : i) * l->row_size;
		uint64_t wide, start;
		uint32_t narrow;

		if (c->form == AIF_FORM_U32) {
			memcpy(&narrow, row + c->offset, sizeof(narrow));
			out[i] = (uint32_t)(narrow + 1);
			continue;
		}
		memcpy(&wide, row + c->offset, sizeof(wide));
		memcpy(&start, row + l->start, sizeof(start));
		out[i] = c->form == AIF_FORM_SPAN ? wide - start : wide;
	}
}

static const uint64_t *column_of(const struct aif_chunk_encoder *e, uint8_t place)
{
	return e->columns + (size_t)place * AIF_CHUNK_MAX_ROWS;
}

/* The context of each row. v: the column that is to be predicted. */
static void take_contexts(const struct aif_chunk_encoder *e, uint8_t key, const uint64_t *v,
			  size_t n, uint16_t *out)
{
	unsigned place = AIF_KEY_PLACE(key), order = AIF_KEY_ORDER(key);
	const uint64_t *of = place == AIF_KEY_SELF ? v : column_of(e, (uint8_t)place);
	uint64_t history = 0;

	if (place == AIF_KEY_NONE) {
		memset(out, 0, n * sizeof(*out));
		return;
	}
	for (size_t i = 0; i < n; i++) {
		/* This column's own value comes too late to be of use for itself. */
		if (place == AIF_KEY_SELF)
			out[i] = (uint16_t)aif_chunk_context(history, order);
		history = aif_chunk_history(history, of[i], order);
		if (place != AIF_KEY_SELF)
			out[i] = (uint16_t)aif_chunk_context(history, order);
	}
}

/* Puts the contexts of the first n rows to their beginning. A small chunk has few of them: most of the
 * tables is left as it is. */
static void begin_contexts(struct aif_chunk_encoder *e, const struct aif_chunk_coding *how,
			   uint64_t first, size_t n)
{
	bool all = n >= AIF_CHUNK_CONTEXTS;

	if (how->base != AIF_BASE_NONE)
		for (size_t i = 0; i < (all ? AIF_CHUNK_CONTEXTS : n); i++)
			e->last[all ? i : e->base_at[i]] = first;
	if (how->mean && all)
		memset(e->mean, 0, sizeof(e->mean));
	else if (how->mean)
		for (size_t i = 0; i < n; i++)
			e->mean[e->mean_at[i]] = 0;
}

/* The inverse of this is aif_chunk_decode's: each line here has its counterpart there. */
static void take_residuals(struct aif_chunk_encoder *e, const struct aif_chunk_coding *how,
			   const uint64_t *v, size_t n)
{
	const uint64_t *after = how->base == AIF_BASE_AFTER ? column_of(e, how->after) : NULL;

	if (how->base != AIF_BASE_NONE)
		take_contexts(e, how->base_key, v, n, e->base_at);
	if (how->mean)
		take_contexts(e, how->mean_key, v, n, e->mean_at);
	begin_contexts(e, how, v[0], n);
	for (size_t i = 0; i < n; i++) {
		uint64_t r = v[i];

		if (how->base != AIF_BASE_NONE) {
			uint64_t *last = &e->last[e->base_at[i]];

			r -= *last;
			*last = v[i] + (after ? after[i] : 0);
		}
		if (how->mean) {
			uint64_t *mean = &e->mean[e->mean_at[i]], was = *mean;

			*mean = aif_chunk_mean_next(was, r);
			r -= aif_chunk_mean(was, how->mean);
		}
		e->residuals[i] = r;
	}
}

static uint64_t zigzag(uint64_t r)
{
	return r << 1 ^ -(r >> 63);
}

/* About the bits that these residuals need: not what zstd will make of them, but it orders the
 * candidates well and costs a nanosecond a row. */
static uint64_t cost(const uint64_t *r, size_t from, size_t n)
{
	uint64_t bits = 0;

	for (size_t i = from; i < n; i++) {
		uint64_t z = zigzag(r[i]);

		bits += z ? 65 - (uint64_t)__builtin_clzll(z) : 0;
	}
	return bits;
}

/* log2 in 1/256, good to 1/12. */
static uint64_t log2_256(uint64_t x)
{
	unsigned bits = x ? 63 - (unsigned)__builtin_clzll(x) : 0;

	return bits << 8 | ((x << (63 - bits)) >> 55 & 255);
}

/* In 1/256 bits, the entropy of the planes: what cost() can't see, but takes ten times as long. */
static uint64_t cost_of_planes(const uint64_t *r, size_t from, size_t n)
{
	uint32_t seen[4][256] = {0};
	uint64_t bits = 4 * (n - from) * log2_256(n - from);

	for (size_t i = from; i < n; i++)
		for (unsigned k = 0; k < 4; k++)
			seen[k][zigzag(r[i]) >> 8 * k & 255]++;
	for (unsigned k = 0; k < 4; k++)
		for (unsigned i = 0; i < 256; i++)
			bits -= seen[k][i] * log2_256(seen[k][i]);
	return bits;
}

/* In which grains the column's clock ticks. */
static void choose_grain(struct aif_chunk_encoder *e, struct aif_chunk_coding *how,
			 const uint64_t *v, size_t from, size_t n)
{
	struct aif_chunk_coding coarse = *how;
	uint64_t bits;

	take_residuals(e, how, v, n);
	bits = cost_of_planes(e->residuals, from, n);
	coarse.mean += GRAIN_LOG;
	take_residuals(e, &coarse, v, n);
	if (cost_of_planes(e->residuals, from, n) < bits - bits / 32)
		*how = coarse;
}

static struct aif_chunk_coding choose(struct aif_chunk_encoder *e, const struct aif_chunk_column *c,
				      const uint64_t *v, size_t n)
{
	const struct aif_chunk_coding *best = &c->candidates[0];
	struct aif_chunk_coding how;
	size_t tried = AIF_MIN(n, (size_t)TRY_ROWS), from = n > tried ? tried / 4 : 0;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < c->candidates_len && least; i++) {
		uint64_t bits;

		take_residuals(e, &c->candidates[i], v, tried);
		/* Leaves out the first rows, in which contexts are learned: in all rows that costs
		 * less. */
		bits = cost(e->residuals, from, tried);
		if (bits < least) {
			least = bits;
			best = &c->candidates[i];
		}
	}
	how = *best;
	if (how.mean)
		choose_grain(e, &how, v, from, tried);
	return how;
}

static void put_varint(struct aif_buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		aif_buf_putc(b, (char)(v | 0x80));
	aif_buf_putc(b, (char)v);
}

static int put_plane(struct aif_chunk_encoder *e, size_t n, struct aif_buf *ret)
{
	uint8_t different = 0;
	size_t bound, size, head;
	uint8_t *to;

	for (size_t i = 1; i < n; i++)
		different |= e->plane[i] ^ e->plane[0];
	if (!different) {
		aif_buf_putc(ret, AIF_PLANE_CONST);
		aif_buf_putc(ret, (char)e->plane[0]);
		return 0;
	}
	bound = ZSTD_compressBound(n);
	head = ret->len;
	to = aif_buf_reserve(ret, bound + 16);
	if (!to)
		return -ENOMEM;
	size = n < ZSTD_MIN ? n
			    : ZSTD_compressCCtx(e->zstd, to + 16, bound, e->plane, n, ZSTD_LEVEL);
	/* Worth it only where it saves 1/32: raw planes are read in place. */
	if (ZSTD_isError(size) || size >= n - n / 32) {
		aif_buf_putc(ret, AIF_PLANE_RAW);
		aif_buf_append(ret, e->plane, n);
		return 0;
	}
	aif_buf_putc(ret, AIF_PLANE_ZSTD);
	put_varint(ret, size);
	memmove(ret->data + ret->len, ret->data + head + 16, size);
	ret->len += size;
	return 0;
}

/* Column: id, base, base key, after, mean, mean key, zigzag, width, first value, planes. */
static int put_column(struct aif_chunk_encoder *e, const struct aif_chunk_column *c,
		      const uint64_t *v, size_t n, struct aif_buf *ret)
{
	struct aif_chunk_coding how = choose(e, c, v, n);
	uint64_t all = 0, negative = 0;
	uint8_t width = 0;
	int r = 0;

	take_residuals(e, &how, v, n);
	if (how.base != AIF_BASE_NONE || how.mean)
		for (size_t i = 0; i < n; i++)
			negative |= e->residuals[i] >> 63;
	for (size_t i = 0; i < n; i++) {
		if (negative)
			e->residuals[i] = zigzag(e->residuals[i]);
		all |= e->residuals[i];
	}
	for (; all; all >>= 8)
		width++;
	aif_buf_append(ret,
		       (const uint8_t[]){c->id, how.base, how.base_key, how.after, how.mean,
					 how.mean_key, (uint8_t)negative, width},
		       8);
	put_varint(ret, how.base == AIF_BASE_NONE ? 0 : v[0]);
	for (unsigned k = 0; k < width && r == 0; k++) {
		for (size_t i = 0; i < n; i++)
			e->plane[i] = (uint8_t)(e->residuals[i] >> 8 * k);
		r = put_plane(e, n, ret);
	}
	return r;
}

static void put_le(uint8_t *p, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

int aif_chunk_encode(struct aif_chunk_encoder *e, enum aif_chunk_kind kind, const void *rows,
		     const uint32_t *order, size_t n, struct aif_buf *ret)
{
	const struct aif_chunk_layout *l = aif_chunk_layout(kind);
	size_t begin = ret->len;
	uint8_t header[AIF_CHUNK_HEADER] = {0};
	int r = 0;

	if (!l || n == 0 || n > AIF_CHUNK_MAX_ROWS)
		return -EINVAL;
	r = aif_grow(&e->columns, &e->columns_cap, l->columns_len * (size_t)AIF_CHUNK_MAX_ROWS,
		     sizeof(*e->columns));
	if (r < 0)
		return r;
	header[0] = (uint8_t)kind;
	header[1] = AIF_CHUNK_VERSION;
	header[2] = l->columns_len;
	put_le(header + 4, n, 4);
	aif_buf_append(ret, header, sizeof(header));
	for (unsigned i = 0; i < l->columns_len; i++)
		take_column(l, &l->columns[i], rows, order, n,
			    e->columns + (size_t)i * AIF_CHUNK_MAX_ROWS);
	for (unsigned i = 0; i < l->columns_len && r == 0; i++)
		r = put_column(e, &l->columns[i], column_of(e, (uint8_t)i), n, ret);
	if (r == 0 && aif_buf_failed(ret))
		r = -ENOMEM;
	if (r < 0) {
		ret->len = begin;
		return r;
	}
	put_le(ret->data + begin + 8, aif_chunk_checksum(ret->data + begin, ret->len - begin), 8);
	return 0;
}
