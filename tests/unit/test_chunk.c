/* SPDX-License-Identifier: Apache-2.0 */
/* The codec of bulk rows: what goes in comes out, whatever it is; what was not made by it does no harm. */
#include "profile/chunk_format.h"

#include "base/map.h"
#include "rounds.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum pattern { ZEROS, ONES, WRAPS, TRAIN, MANY_STACKS, SMALL, NOISE, OUTLIERS, PATTERN_COUNT };

struct rng {
	uint64_t s;
};

static uint64_t next(struct rng *r)
{
	r->s += UINT64_C(0x9e3779b97f4a7c15);
	return aif_mix64(r->s);
}

static uint64_t below(struct rng *r, uint64_t n)
{
	return next(r) % n;
}

struct coder {
	struct aif_chunk_encoder *e;
	struct aif_chunk_decoder *d;
	struct aif_buf chunk;
	uint8_t *rows;
	struct rng rng;
};

static int start(void **state)
{
	struct coder *c = calloc(1, sizeof(*c));
	size_t row = 0;

	*state = c;
	if (!c)
		return -1;
	c->e = aif_chunk_encoder_new();
	c->d = aif_chunk_decoder_new();
	for (int kind = 1; kind < AIF_CHUNK_KIND_COUNT; kind++)
		row = AIF_MAX(row, aif_chunk_row_size(kind));
	c->rows = calloc(AIF_CHUNK_MAX_ROWS, row);
	return c->e && c->d && c->rows ? 0 : -1;
}

static int stop(void **state)
{
	struct coder *c = *state;

	aif_chunk_encoder_free(c->e);
	aif_chunk_decoder_free(c->d);
	aif_buf_finish(&c->chunk);
	free(c->rows);
	free(c);
	return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The value of a field that is a time or a count (`place` 0 to 2) or an id (3 and up). */
static uint64_t value(struct rng *r, enum pattern how, size_t i, unsigned place)
{
	uint64_t base = UINT64_C(86400000000000);

	switch (how) {
	case ZEROS:
		return 0;
	case ONES:
		return UINT64_MAX;
	case WRAPS:
		return place < 3 ? UINT64_MAX - 500 + i * (7 + place) : UINT32_MAX - 1 + i % 4;
	case TRAIN:
		return place == 0  ? base + i
		       : place < 3 ? base + i * 20000 + below(r, 300) + place * 5000
				   : i % 40 * place;
	case MANY_STACKS: /* more than there are contexts: they collide */
		return place < 3 ? base + i * 1000 : i * 7919 % 50000;
	case SMALL:
		return below(r, 3);
	case OUTLIERS:
		return below(r, 50) ? i % 5 : next(r);
	default:
		return next(r);
	}
}

/* Padding bytes are zero, so that rows can be compared as memory. */
static void fill(struct coder *c, enum aif_chunk_kind kind, enum pattern how, size_t n)
{
	const struct aif_chunk_layout *l = aif_chunk_layout(kind);

	memset(c->rows, 0, n * l->row_size);
	c->rng.s = (uint64_t)kind * 100 + how;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < l->columns_len; k++) {
			const struct aif_chunk_column *col = &l->columns[k];
			bool narrow = col->form == AIF_FORM_U32;
			uint64_t wide = value(&c->rng, how, i, narrow ? 3 + (unsigned)k : k % 3);
			uint32_t id = (uint32_t)wide;

			memcpy(c->rows + i * l->row_size + col->offset,
			       narrow ? (void *)&id : (void *)&wide, narrow ? 4 : 8);
		}
}

static void encode(struct coder *c, enum aif_chunk_kind kind, size_t n)
{
	aif_buf_clear(&c->chunk);
	assert_int_equal(aif_chunk_encode(c->e, kind, c->rows, NULL, n, &c->chunk), 0);
}

/* From memory of exactly that size, so that a sanitizer sees each byte read beyond it. */
static int decode(struct coder *c, enum aif_chunk_kind kind, const void *data, size_t size,
		  const void **ret_rows, size_t *ret_n)
{
	uint8_t *exact = malloc(size);
	int r;

	assert_true(exact || !size);
	memcpy(exact, data, size);
	r = aif_chunk_decode(c->d, kind, exact, size, ret_rows, ret_n);
	free(exact);
	return r;
}

static void assert_round_trip(struct coder *c, enum aif_chunk_kind kind, enum pattern how, size_t n)
{
	const void *got = NULL;
	size_t got_n = 0;

	fill(c, kind, how, n);
	encode(c, kind, n);
	assert_int_equal(decode(c, kind, c->chunk.data, c->chunk.len, &got, &got_n), 0);
	assert_int_equal(got_n, n);
	if (memcmp(got, c->rows, n * aif_chunk_row_size(kind)) != 0)
		fail_msg("kind %d, pattern %d, %zu rows: other rows came back", (int)kind, (int)how,
			 n);
}

/* ---- round trips ----------------------------------------------------------------------------- */

static void rows_of_each_kind_come_back(void **state)
{
	static const size_t sizes[] = {1, 2, 3, 31, 32, 255, 256, 257, 1000, 6145};

	for (int kind = 1; kind < AIF_CHUNK_KIND_COUNT; kind++)
		for (int how = 0; how < PATTERN_COUNT; how++)
			for (size_t i = 0; i < AIF_ARRAY_LEN(sizes); i++)
				assert_round_trip(*state, kind, how, sizes[i]);
}

static void full_chunks_come_back(void **state)
{
	for (int kind = 1; kind < AIF_CHUNK_KIND_COUNT; kind++) {
		assert_round_trip(*state, kind, NOISE, AIF_CHUNK_MAX_ROWS);
		assert_round_trip(*state, kind, TRAIN, AIF_CHUNK_MAX_ROWS - 1);
	}
}

/* Each number of rows around a block's edges, where tails are handled. */
static void chunks_of_any_length_come_back(void **state)
{
	for (size_t n = 1; n < 600; n++) {
		assert_round_trip(*state, AIF_CHUNK_EXECS, TRAIN, n);
		assert_round_trip(*state, AIF_CHUNK_SAMPLES, OUTLIERS, n);
	}
}

/* Sets a single bit in one field, far from the others, in each row of a few and in each bit. */
static void single_bits_come_back(void **state)
{
	struct coder *c = *state;
	struct aif_exec_row *x = (void *)c->rows;
	const void *got;
	size_t n = 300, got_n;

	for (unsigned bit = 0; bit < 64; bit++) {
		fill(c, AIF_CHUNK_EXECS, TRAIN, n);
		x[bit * 4].start ^= UINT64_C(1) << bit;
		x[bit * 4 + 1].end ^= UINT64_C(1) << bit;
		x[bit * 4 + 2].launch ^= UINT64_C(1) << bit;
		x[bit * 4 + 3].stream ^= 1u << bit % 32;
		encode(c, AIF_CHUNK_EXECS, n);
		assert_int_equal(aif_chunk_decode(c->d, AIF_CHUNK_EXECS, c->chunk.data,
						  c->chunk.len, &got, &got_n),
				 0);
		assert_memory_equal(got, c->rows, n * sizeof(*x));
	}
}

static void rows_are_encoded_in_the_given_order(void **state)
{
	enum { N = 1000 };
	struct coder *c = *state;
	const struct aif_launch_row *rows = (void *)c->rows, *got;
	uint32_t order[N];
	const void *out;
	size_t n;

	fill(c, AIF_CHUNK_LAUNCHES, NOISE, N);
	for (uint32_t i = 0; i < N; i++)
		order[i] = i * 7 % N;
	aif_buf_clear(&c->chunk);
	aif_buf_puts(&c->chunk, "before");
	assert_int_equal(aif_chunk_encode(c->e, AIF_CHUNK_LAUNCHES, rows, order, N, &c->chunk), 0);
	assert_memory_equal(c->chunk.data, "before", 6);
	assert_int_equal(aif_chunk_decode(c->d, AIF_CHUNK_LAUNCHES, c->chunk.data + 6,
					  c->chunk.len - 6, &out, &n),
			 0);
	assert_int_equal(n, N);
	got = out;
	for (size_t i = 0; i < N; i++)
		assert_memory_equal(&got[i], &rows[order[i]], sizeof(*got));
}

/* A chunk must not depend on those before it. */
static void test_encoder_keeps_nothing(void **state)
{
	struct coder *c = *state;
	struct aif_buf first = {0};

	fill(c, AIF_CHUNK_EXECS, TRAIN, 5000);
	encode(c, AIF_CHUNK_EXECS, 5000);
	aif_buf_append(&first, c->chunk.data, c->chunk.len);
	fill(c, AIF_CHUNK_SAMPLES, NOISE, 5000);
	encode(c, AIF_CHUNK_SAMPLES, 5000);
	fill(c, AIF_CHUNK_EXECS, TRAIN, 5000);
	encode(c, AIF_CHUNK_EXECS, 5000);
	assert_int_equal(c->chunk.len, first.len);
	assert_memory_equal(c->chunk.data, first.data, first.len);
	aif_buf_finish(&first);
}

static void bad_arguments_are_refused(void **state)
{
	struct coder *c = *state;
	const void *rows;
	size_t n;

	aif_buf_clear(&c->chunk);
	assert_int_equal(aif_chunk_encode(c->e, AIF_CHUNK_EXECS, c->rows, NULL, 0, &c->chunk),
			 -EINVAL);
	assert_int_equal(aif_chunk_encode(c->e, AIF_CHUNK_EXECS, c->rows, NULL,
					  AIF_CHUNK_MAX_ROWS + 1, &c->chunk),
			 -EINVAL);
	assert_int_equal(aif_chunk_encode(c->e, 0, c->rows, NULL, 1, &c->chunk), -EINVAL);
	assert_int_equal(aif_chunk_encode(c->e, AIF_CHUNK_KIND_COUNT, c->rows, NULL, 1, &c->chunk),
			 -EINVAL);
	assert_int_equal(c->chunk.len, 0);
	assert_int_equal(aif_chunk_decode(c->d, AIF_CHUNK_KIND_COUNT, "", 0, &rows, &n), -EINVAL);
	assert_int_equal(aif_chunk_row_size(AIF_CHUNK_KIND_COUNT), 0);
	assert_int_equal(aif_chunk_row_size(AIF_CHUNK_EXECS), sizeof(struct aif_exec_row));
}

/* Rows that can be foreseen cost nearly nothing, noise costs itself: the purpose of the format. */
static void foreseeable_rows_cost_nearly_nothing(void **state)
{
	struct coder *c = *state;
	struct aif_exec_row *x = (void *)c->rows;
	enum { N = 50000 };

	fill(c, AIF_CHUNK_LAUNCHES, MANY_STACKS, 1);
	for (size_t i = 1; i < N; i++)
		memcpy(c->rows + i * sizeof(struct aif_launch_row), c->rows,
		       sizeof(struct aif_launch_row));
	encode(c, AIF_CHUNK_LAUNCHES, N);
	assert_in_range(c->chunk.len, 1, 400);
	memset(x, 0, N * sizeof(*x));
	for (size_t i = 0; i < N; i++)
		x[i] = (struct aif_exec_row){.launch = i,
					     .start = i * 20000,
					     .end = i * 20000 + 5000 + below(&c->rng, 1024),
					     .kernel = i % 40,
					     .clock = 16};
	encode(c, AIF_CHUNK_EXECS, N);
	/* 10 bits of noise, and what leaves a place to say where they are. */
	assert_in_range(c->chunk.len, N * 10 / 8, N * 14 / 8);
}

/* A kernel that is launched with several shapes, in turn: its duration follows from what ran before. */
static void test_sequences_are_learned(void **state)
{
	static const uint32_t step[] = {0, 1, 0, 2, 0, 1, 0, 3};
	struct coder *c = *state;
	struct aif_exec_row *x = (void *)c->rows;
	uint64_t now = 1000000;
	enum { N = 20000 };

	memset(x, 0, N * sizeof(*x));
	for (size_t i = 0; i < N; i++) {
		x[i] = (struct aif_exec_row){.launch = i, .start = now, .kernel = step[i % 8]};
		x[i].end = now + 5000 + i % 8 * 7777;
		now = x[i].end + 1100;
	}
	encode(c, AIF_CHUNK_EXECS, N);
	assert_in_range(c->chunk.len, 1, N / 25);
}

/* A clock that ticks in grains of 32 ns, give or take 1: of 9 bits 4 are noise, and 1.6 the jitter. */
static void test_grains_are_found(void **state)
{
	struct coder *c = *state;
	struct aif_exec_row *x = (void *)c->rows;
	size_t len[2];
	enum { N = 20000 };

	for (int jitter = 3; jitter <= 32; jitter += 29) {
		memset(x, 0, N * sizeof(*x));
		for (size_t i = 0; i < N; i++)
			x[i] = (struct aif_exec_row){.launch = i,
						     .start = i * 20000,
						     .end = i * 20000 + 3200 +
							    below(&c->rng, 16) * 32 +
							    below(&c->rng, (uint64_t)jitter)};
		encode(c, AIF_CHUNK_EXECS, N);
		len[jitter == 32] = c->chunk.len;
	}
	assert_in_range(len[0], N * 5 / 8, N * 15 / 16);
	assert_in_range(len[1], N * 9 / 8, N * 11 / 8);
}

/* One row of fifty is far off: the others must not pay for it. */
static void test_outliers_are_forgotten(void **state)
{
	struct coder *c = *state;
	struct aif_launch_row *l = (void *)c->rows;
	uint64_t now = 0;
	enum { N = 50000 };

	memset(l, 0, N * sizeof(*l));
	for (size_t i = 0; i < N; i++) {
		now += 5000 + below(&c->rng, 64) + (below(&c->rng, 50) ? 0 : 300000);
		l[i] = (struct aif_launch_row){.launch = i, .time = now};
	}
	encode(c, AIF_CHUNK_LAUNCHES, N);
	/* 7.9 bits; 9.5 if each outlier moved the mean by an eighth of itself. */
	assert_in_range(c->chunk.len, N * 6 / 8, N * 17 / 16);
}

/* ---- what others made ------------------------------------------------------------------------ */

static void seal(uint8_t *chunk, size_t size)
{
	uint64_t sum = aif_chunk_checksum(chunk, size);

	for (int i = 0; i < 8; i++)
		chunk[8 + i] = (uint8_t)(sum >> 8 * i);
}

static void small_chunk(struct coder *c, enum aif_chunk_kind kind, enum pattern how, size_t n)
{
	fill(c, kind, how, n);
	encode(c, kind, n);
}

/* Damage by chance: the checksum sees it. */
static void test_every_byte_damaged(void **state)
{
	struct coder *c = *state;
	const void *rows = NULL;
	size_t n = 1;

	for (int kind = 1; kind < AIF_CHUNK_KIND_COUNT; kind++) {
		small_chunk(c, kind, OUTLIERS, 300);
		for (size_t i = 0; i < c->chunk.len; i++) {
			c->chunk.data[i] ^= (uint8_t)(1u << i % 8);
			assert_int_equal(decode(c, kind, c->chunk.data, c->chunk.len, &rows, &n),
					 -EBADMSG);
			c->chunk.data[i] ^= (uint8_t)(1u << i % 8);
			assert_int_equal(decode(c, kind, c->chunk.data, i, &rows, &n), -EBADMSG);
		}
		assert_null(rows);
		assert_int_equal(n, 1);
		for (int other = 1; other < AIF_CHUNK_KIND_COUNT; other++)
			assert_int_equal(decode(c, other, c->chunk.data, c->chunk.len, &rows, &n),
					 other == kind ? 0 : -EBADMSG);
		rows = NULL;
		n = 1;
	}
}

/* All bytes that it gives can be read, and there are as many as it says. */
static int assert_bounded(struct coder *c, enum aif_chunk_kind kind, const void *data, size_t size)
{
	const void *rows = NULL;
	size_t n = 0;
	int r = decode(c, kind, data, size, &rows, &n);

	if (r == 0) {
		assert_in_range(n, 1, AIF_CHUNK_MAX_ROWS);
		aif_hash_bytes(rows, n * aif_chunk_row_size(kind));
	} else {
		assert_true(r == -EBADMSG || r == -EPROTONOSUPPORT);
		assert_null(rows);
	}
	return r;
}

/* Damage on purpose: the checksum is right. */
static void forge_byte(struct coder *c, enum aif_chunk_kind kind, size_t at, size_t *ret_outcomes)
{
	static const uint8_t forged[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff};
	uint8_t was = c->chunk.data[at];

	for (size_t k = 0; k < AIF_ARRAY_LEN(forged) + 8; k++) {
		c->chunk.data[at] = k < 8 ? was ^ (uint8_t)(1u << k) : forged[k - 8];
		seal(c->chunk.data, c->chunk.len);
		ret_outcomes[assert_bounded(c, kind, c->chunk.data, c->chunk.len) == 0]++;
	}
	c->chunk.data[at] = was;
}

static void test_every_byte_forged(void **state)
{
	struct coder *c = *state;
	size_t outcomes[2] = {0}; /* refused, read */

	for (int kind = 1; kind < AIF_CHUNK_KIND_COUNT; kind++)
		for (int how = TRAIN; how < PATTERN_COUNT; how += 2) {
			small_chunk(c, kind, how, 70);
			for (size_t i = 0; i < c->chunk.len; i += stride())
				if (i < 8 || i >= AIF_CHUNK_HEADER)
					forge_byte(c, kind, i, outcomes);
		}
	assert_true(outcomes[0] > 1000 && outcomes[1] > 1000);
}

static void test_cut_and_forged(void **state)
{
	struct coder *c = *state;

	for (int kind = 1; kind < AIF_CHUNK_KIND_COUNT; kind++) {
		small_chunk(c, kind, OUTLIERS, 300);
		for (size_t i = AIF_CHUNK_HEADER; i < c->chunk.len; i++) {
			seal(c->chunk.data, i);
			assert_int_not_equal(assert_bounded(c, kind, c->chunk.data, i), 0);
		}
		aif_buf_putc(&c->chunk, 0);
		seal(c->chunk.data, c->chunk.len);
		assert_int_not_equal(assert_bounded(c, kind, c->chunk.data, c->chunk.len), 0);
	}
}

static void huge_counts_are_refused_in_bounds(void **state)
{
	static const uint32_t counts[] = {
		0, 69, 71, AIF_CHUNK_MAX_ROWS, AIF_CHUNK_MAX_ROWS + 1, UINT32_MAX};
	struct coder *c = *state;

	for (int kind = 1; kind < AIF_CHUNK_KIND_COUNT; kind++) {
		small_chunk(c, kind, NOISE, 70);
		for (size_t i = 0; i < AIF_ARRAY_LEN(counts); i++) {
			for (unsigned k = 0; k < 4; k++)
				c->chunk.data[4 + k] = (uint8_t)(counts[i] >> 8 * k);
			seal(c->chunk.data, c->chunk.len);
			assert_int_not_equal(assert_bounded(c, kind, c->chunk.data, c->chunk.len),
					     0);
		}
	}
}

static void chunks_of_newer_versions_are_refused(void **state)
{
	struct coder *c = *state;

	small_chunk(c, AIF_CHUNK_EXECS, TRAIN, 70);
	c->chunk.data[1]++;
	seal(c->chunk.data, c->chunk.len);
	assert_int_equal(assert_bounded(c, AIF_CHUNK_EXECS, c->chunk.data, c->chunk.len),
			 -EPROTONOSUPPORT);
}

/* Rejects codings that a column must not have. The first column may refer to none. */
static void codings_that_a_column_cannot_have_are_refused(void **state)
{
	enum { BASE = 1, BASE_KEY, AFTER, MEAN, MEAN_KEY, ZIGZAG, WIDTH };
	static const struct {
		uint8_t first[2], then[2]; /* place, value */
		int code;
	} bad[] = {
		{{BASE, 3}, {BASE, 3}, -EPROTONOSUPPORT},
		{{MEAN, AIF_MEAN_MAX + 1}, {MEAN, AIF_MEAN_MAX + 1}, -EPROTONOSUPPORT},
		{{BASE, AIF_BASE_AFTER}, {AFTER, 0}, -EBADMSG},
		{{BASE, AIF_BASE_AFTER}, {AFTER, 255}, -EBADMSG},
		{{BASE, AIF_BASE_PREV}, {BASE_KEY, 0}, -EBADMSG},
		{{BASE, AIF_BASE_PREV}, {BASE_KEY, 29}, -EBADMSG},
		{{BASE, AIF_BASE_PREV}, {BASE_KEY, AIF_KEY_LAST(1, 1)}, -EBADMSG},
		{{BASE, AIF_BASE_PREV},
		 {BASE_KEY, AIF_KEY_LAST(AIF_KEY_SELF, 6)},
		 -EPROTONOSUPPORT},
		{{MEAN, 1}, {MEAN_KEY, 0}, -EBADMSG},
		{{MEAN, 1}, {MEAN_KEY, 29}, -EBADMSG},
		{{MEAN, 1}, {MEAN_KEY, AIF_KEY_SELF}, -EBADMSG},
		{{MEAN, 1}, {MEAN_KEY, AIF_KEY_LAST(AIF_KEY_NONE, 7)}, -EPROTONOSUPPORT},
		{{ZIGZAG, 2}, {ZIGZAG, 2}, -EBADMSG},
		{{WIDTH, 9}, {WIDTH, 9}, -EBADMSG},
	};
	struct coder *c = *state;

	for (size_t i = 0; i < AIF_ARRAY_LEN(bad); i++) {
		uint8_t *column;

		small_chunk(c, AIF_CHUNK_EXECS, TRAIN, 70);
		column = c->chunk.data + AIF_CHUNK_HEADER;
		column[bad[i].first[0]] = bad[i].first[1];
		column[bad[i].then[0]] = bad[i].then[1];
		seal(c->chunk.data, c->chunk.len);
		if (assert_bounded(c, AIF_CHUNK_EXECS, c->chunk.data, c->chunk.len) != bad[i].code)
			fail_msg("coding %zu was taken", i);
	}
}

/* A column that this aiflame does not know is read past; one that is not there has its default. */
static void unknown_columns_are_read_past(void **state)
{
	struct coder *c = *state;
	const struct aif_chunk_layout *l = aif_chunk_layout(AIF_CHUNK_EXECS);
	const struct aif_chunk_column *first = &l->columns[0];
	const void *got;
	size_t n;

	small_chunk(c, AIF_CHUNK_EXECS, TRAIN, 300);
	assert_int_equal(c->chunk.data[AIF_CHUNK_HEADER], first->id);
	assert_int_equal(first->form, AIF_FORM_U64);
	c->chunk.data[AIF_CHUNK_HEADER] = 200;
	seal(c->chunk.data, c->chunk.len);
	assert_int_equal(decode(c, AIF_CHUNK_EXECS, c->chunk.data, c->chunk.len, &got, &n), 0);
	for (size_t i = 0; i < n; i++)
		memcpy(c->rows + i * l->row_size + first->offset, &first->missing, 8);
	assert_int_equal(n, 300);
	assert_memory_equal(got, c->rows, n * l->row_size);
}

/* Executions as they were before graph, node, registers and shared bytes had columns, which are the last. */
static void chunks_without_later_columns_have_defaults(void **state)
{
	enum { ADDED = 6, COLUMN_LEN = 9, N = 300 }; /* each says: always 0 */
	struct coder *c = *state;
	struct aif_exec_row *x = (void *)c->rows;
	const void *got;
	size_t n;

	memset(x, 0, N * sizeof(*x));
	for (size_t i = 0; i < N; i++)
		x[i] = (struct aif_exec_row){
			.launch = i, .start = i * 20000, .end = i * 20000 + 5000, .kernel = i % 7};
	encode(c, AIF_CHUNK_EXECS, N);
	assert_int_equal(c->chunk.data[c->chunk.len - COLUMN_LEN], 16);
	c->chunk.data[2] -= ADDED;
	c->chunk.len -= ADDED * COLUMN_LEN;
	seal(c->chunk.data, c->chunk.len);
	assert_int_equal(decode(c, AIF_CHUNK_EXECS, c->chunk.data, c->chunk.len, &got, &n), 0);
	assert_int_equal(n, N);
	assert_memory_equal(got, x, N * sizeof(*x));
}

/* Replays of four graphs in turns: which graph, which node, and what the node's kernel needs are foreseen. */
static void test_graphs_are_learned(void **state)
{
	struct coder *c = *state;
	struct aif_exec_row *x = (void *)c->rows;
	size_t plain;
	enum { N = 20000, NODES = 40 };

	memset(x, 0, N * sizeof(*x));
	for (size_t i = 0; i < N; i++)
		x[i] = (struct aif_exec_row){.launch = i / NODES,
					     .start = i * 20000,
					     .end = i * 20000 + 5000 + below(&c->rng, 1024),
					     .kernel = i % NODES % 23};
	encode(c, AIF_CHUNK_EXECS, N);
	plain = c->chunk.len;
	for (size_t i = 0; i < N; i++) {
		x[i].graph = 1 + (uint32_t)(i / NODES % 4);
		x[i].node = (uint32_t)(i % NODES);
		x[i].registers = 16 + x[i].kernel * 8;
		x[i].shared_bytes = x[i].kernel % 3 * 16384;
	}
	encode(c, AIF_CHUNK_EXECS, N);
	assert_in_range(c->chunk.len, plain, plain + N / 20);
}

/* A bad chunk leaves nothing behind in the next good one. */
static void test_good_after_bad(void **state)
{
	struct coder *c = *state;

	for (int i = 0; i < 50; i++) {
		small_chunk(c, AIF_CHUNK_EXECS, NOISE, 200 + (size_t)i);
		c->chunk.data[AIF_CHUNK_HEADER + below(&c->rng, c->chunk.len - AIF_CHUNK_HEADER)] ^=
			0x55;
		seal(c->chunk.data, c->chunk.len);
		assert_bounded(c, AIF_CHUNK_EXECS, c->chunk.data, c->chunk.len);
		assert_round_trip(c, AIF_CHUNK_EXECS, OUTLIERS, 300);
		assert_round_trip(c, AIF_CHUNK_WINDOWS, TRAIN, 10);
	}
}

static void random_bytes_are_read_in_bounds(void **state)
{
	struct coder *c = *state;
	uint8_t bytes[400];

	for (int i = 0; i < 20000; i++) {
		size_t size = AIF_CHUNK_HEADER + below(&c->rng, sizeof(bytes) - AIF_CHUNK_HEADER);

		for (size_t k = 0; k < size; k++)
			bytes[k] = (uint8_t)below(&c->rng, i % 2 ? 256 : 4);
		bytes[0] = 1 + (uint8_t)(i % (AIF_CHUNK_KIND_COUNT - 1));
		bytes[1] = AIF_CHUNK_VERSION;
		bytes[2] %= 12;
		memset(bytes + 4, 0, 4);
		bytes[4] = 1 + (uint8_t)below(&c->rng, 20);
		seal(bytes, size);
		assert_bounded(c, (enum aif_chunk_kind)bytes[0], bytes, size);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		CASE(rows_of_each_kind_come_back),
		CASE(full_chunks_come_back),
		CASE(chunks_of_any_length_come_back),
		CASE(single_bits_come_back),
		CASE(rows_are_encoded_in_the_given_order),
		CASE(test_encoder_keeps_nothing),
		CASE(bad_arguments_are_refused),
		CASE(foreseeable_rows_cost_nearly_nothing),
		CASE(test_sequences_are_learned),
		CASE(test_grains_are_found),
		CASE(test_outliers_are_forgotten),
		CASE(test_every_byte_damaged),
		CASE(test_every_byte_forged),
		CASE(test_cut_and_forged),
		CASE(huge_counts_are_refused_in_bounds),
		CASE(chunks_of_newer_versions_are_refused),
		CASE(codings_that_a_column_cannot_have_are_refused),
		CASE(unknown_columns_are_read_past),
		CASE(chunks_without_later_columns_have_defaults),
		CASE(test_graphs_are_learned),
		CASE(test_good_after_bad),
		CASE(random_bytes_are_read_in_bounds),
	};

	return cmocka_run_group_tests_name("chunk", tests, NULL, NULL);
}
