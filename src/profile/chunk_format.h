/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The codec that turns bulk rows into few bytes, and back at tens of millions a second.
 *
 * A chunk is columnar. Each column is turned into residuals, small numbers where the data is
 * predictable; residuals are cut into byte planes (plane 0 has the lowest byte of every row); each
 * plane is stored as one byte (constant), as it is, or with zstd, whichever is smallest.
 *
 *     rows ──> column ──(- base)──> ──(- mean)──> residual ──> planes ──> const | raw | zstd
 *
 * Predictions come from rows before, found in a small table of contexts. Its index, the key, is
 * another column of the same row, or this column one row before; alone, or with its history: the last
 * 2, 4, ... 32 values, hashed. The two stages:
 *
 *   base   NONE   0
 *          PREV   this column's last value in the context. With key = stack this makes kernel, stream,
 *                 shape and the like free: one call site nearly always launches the same thing.
 *                 With its own history as key it is a model of sequences: what followed last time.
 *          AFTER  the last value in the context plus another column there: the end of what ran
 *                 before in this stream, from which the next one's start follows.
 *   mean   the running mean of what the base stage left, per context. A kernel's durations scatter
 *          around a mean that depends on its shape, which executions do not have; but the same
 *          kernels in the same order are the same layers of a model, with the same shapes. In real
 *          traces (training on an A100, 3,774 launches, and ResNet-50, 9,096) a duration costs 14.9
 *          and 14.2 bits with the kernel as key, 12.5 and 11.8 with the last 8 kernels.
 *          A context's first value is its mean at once; later ones move it by 1/8 of what it missed
 *          by, but upwards by no more than 1/32 of itself: a host that was elsewhere, or a queue
 *          that ran empty, must not spoil the next ten rows. In bench_chunk.c's queue a gap costs
 *          12.1 bits without that bound, 10.7 with it.
 *          A device's clock may tick in grains: NVIDIA's stamps are multiples of 32 ns, give or take 1
 *          (A100, H100, B200). Against a mean in whole grains, residuals are too, and their lowest
 *          plane has two dozen values instead of 256.
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

#define AIF_CHUNK_VERSION      2
#define AIF_CHUNK_HEADER       16 /* kind, version, columns, 0, rows u32, checksum u64 */
#define AIF_CHUNK_MAX_COLUMNS  30
#define AIF_CHUNK_CONTEXT_BITS 11 /* 12 gained nothing at 3,000 stacks */
#define AIF_CHUNK_CONTEXTS     (1 << AIF_CHUNK_CONTEXT_BITS)

enum aif_chunk_base { AIF_BASE_NONE = 0, AIF_BASE_PREV = 1, AIF_BASE_AFTER = 2 };

/* A key is a place in the chunk's list of columns, of an earlier column, and above that how many
 * of its values count: 1 << order. */
#define AIF_KEY_NONE           30 /* one context for all rows */
#define AIF_KEY_SELF           31 /* this column, from one row before backwards */
#define AIF_KEY_PLACE(key)     ((key)&31)
#define AIF_KEY_ORDER(key)     ((key) >> 5)
#define AIF_KEY_MAX_ORDER      5
#define AIF_KEY_LAST(key, log) ((key) | (log) << 5)

struct aif_chunk_coding {
	uint8_t base, base_key, after; /* after: the column that AFTER adds */
	uint8_t mean, mean_key;        /* mean: 0 for none, or 1 + log2 of the grain */
};

#define AIF_MEAN_MAX (1 + 16)

enum aif_plane_coding { AIF_PLANE_CONST = 0, AIF_PLANE_RAW = 1, AIF_PLANE_ZSTD = 2 };

/* Conversions of a row's field to a column's number. */
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

/* Returns the history after one more value; its upper bits choose a key's context. It starts
 * with 0 and takes in each row's value. Each row shifts some of the 64 bits out, so that a value
 * is forgotten after 1 << order rows. */
static inline uint64_t aif_chunk_history(uint64_t history, uint64_t value, unsigned order)
{
	return order == 0 ? value : history << (64 >> order) ^ value * UINT64_C(0x9e3779b97f4a7c15);
}

static inline size_t aif_chunk_context(uint64_t history, unsigned order)
{
	return order == 0 ? history & (AIF_CHUNK_CONTEXTS - 1)
			  : history >> (64 - AIF_CHUNK_CONTEXT_BITS);
}

/* A running mean is kept in eighths; 0 is also "none yet". `mean` is that of struct
 * aif_chunk_coding. */
static inline uint64_t aif_chunk_mean(uint64_t eighths, unsigned mean)
{
	uint64_t grain = UINT64_C(1) << (mean - 1);

	return ((uint64_t)((int64_t)eighths >> 3) + grain / 2) & -grain;
}

static inline uint64_t aif_chunk_mean_next(uint64_t eighths, uint64_t value)
{
	uint64_t was = (uint64_t)((int64_t)eighths >> 3), size = was >> 63 ? -was : was;
	int64_t by = (int64_t)(value - was), most = (int64_t)(size >> 2) + 64;

	return eighths ? eighths + (uint64_t)(by < most ? by : most) : value << 3;
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
