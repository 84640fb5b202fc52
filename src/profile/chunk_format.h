/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How bulk rows become few bytes, and come back at tens of millions a second.
 *
 * A chunk is columnar. Each column is turned into residuals, small numbers where the data is
 * predictable; residuals are cut into byte planes (plane 0 has the lowest byte of every row); each
 * plane is stored as one byte (constant), as it is, or with zstd, whichever is smallest.
 *
 *     rows ──> column ──(- base)──> ──(- mean)──> residual ──> planes ──> const | raw | zstd
 *
 * Predictions come from rows before, found in a small table of contexts, which is indexed by another
 * column of the same row (its key) or by this column's value one row before. The two stages:
 *
 *   base   NONE   0
 *          PREV   this column's last value in the context. With key = stack this makes kernel, stream,
 *                 shape and the like free: one call site nearly always launches the same thing.
 *                 With key = its own previous value it is an order-1 model: what followed last time.
 *          AFTER  the last value in the context plus another column there: the end of what ran
 *                 before in this stream, from which the next one's start follows.
 *   mean   the running mean (in 1/8 steps) of what the base stage left, per context. A kernel's
 *          durations scatter around its own mean: against the mean the noise costs half a bit
 *          less than against the previous duration.
 *
 * Which of a column's few candidates is used is the encoder's choice, made per chunk on its first
 * rows; the decoder obeys what the chunk says and knows nothing of the choice. All arithmetic is
 * modulo 2^64, so every value survives whatever was predicted, and no input can overflow.
 *
 * What remains is noise: of a launch and its execution at 50,000 a second it is the time of the call
 * (about 14 bits), the gap before the start (10 to 14) and the duration (10). No coder can remove
 * that; bench/bench_chunk.c prints how near we are.
 *
 * Speed: a decoder works on blocks of 256 rows, so that planes, columns, contexts and rows stay in
 * the first-level cache. Columns whose residuals are all zero in a block, most of them, cost a copy.
 */

#include "profile/chunk.h"

#include <string.h>

#define AIF_CHUNK_VERSION     1
#define AIF_CHUNK_HEADER      16 /* kind, version, columns, 0, rows u32, checksum u64 */
#define AIF_CHUNK_MAX_COLUMNS 32
#define AIF_CHUNK_CONTEXTS    2048 /* a power of two; 4096 gained nothing at 3,000 stacks */
#define AIF_CHUNK_MEAN_SHIFT  3    /* means move by 1/8 of what they missed by */

enum aif_chunk_base { AIF_BASE_NONE = 0, AIF_BASE_PREV = 1, AIF_BASE_AFTER = 2 };

/* Keys and columns are places in the chunk's list of columns; a column refers only to earlier ones. */
#define AIF_KEY_SELF 0xfe /* this column, one row before */
#define AIF_KEY_NONE 0xff /* one context for all rows */

struct aif_chunk_coding {
	uint8_t base, base_key, after; /* after: the column that AFTER adds */
	uint8_t mean, mean_key;        /* mean: 0 or 1 */
};

enum aif_plane_coding { AIF_PLANE_CONST = 0, AIF_PLANE_RAW = 1, AIF_PLANE_ZSTD = 2 };

/* How a row's field becomes a column's number. */
enum aif_column_form {
	AIF_FORM_U64 = 0,
	AIF_FORM_U32 = 1,  /* plus 1 modulo 2^32: AIF_NONE, the usual exception, is 0 */
	AIF_FORM_SPAN = 2, /* a u64 end, stored as end - start */
};

struct aif_chunk_column {
	uint8_t id; /* in the file: never changed, never used again */
	uint8_t form;
	uint16_t offset;  /* of the field in the row */
	uint64_t missing; /* the field's value when a chunk has no such column */
	const struct aif_chunk_coding *candidates; /* what the encoder tries */
	uint8_t candidates_len;
};

struct aif_chunk_layout {
	size_t row_size;
	uint16_t start; /* offset of the field that AIF_FORM_SPAN is relative to */
	uint8_t columns_len;
	const struct aif_chunk_column *columns;
};

/* NULL for an unknown kind. */
const struct aif_chunk_layout *aif_chunk_layout(enum aif_chunk_kind kind);

/* The place of the context of `key`. */
static inline size_t aif_chunk_context(uint64_t key)
{
	return key & (AIF_CHUNK_CONTEXTS - 1);
}

static inline uint64_t aif_load_le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

/* Checksum of a chunk: all its bytes but the checksum's own. Little-endian words, two independent
 * lanes, as the multiplications' latency is what this costs. */
uint64_t aif_chunk_checksum(const uint8_t *chunk, size_t size);
