/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "profile/model.h"

/*
 * The codec of bulk rows: an array of row structs <-> one self-describing block of bytes, the same
 * on every machine. chunk_format.h opens with how it works; docs/FORMAT.md has the layout.
 */

enum aif_chunk_kind {
#define AIF_BULK(kind, name, row, number) AIF_CHUNK_##kind = (number),
#include "profile/bulk.def"
	AIF_CHUNK_KIND_COUNT
};

/* The most rows of one chunk. It bounds a reader's memory (4.7 MB of rows), and is more than a
 * second's worth at the rate that the format is made for (50,000 a second). */
#define AIF_CHUNK_MAX_ROWS 65536

size_t aif_chunk_row_size(enum aif_chunk_kind kind);

/* Scratch memory, kept from chunk to chunk. NULL when memory runs out. One thread at a time. */
struct aif_chunk_encoder;
struct aif_chunk_encoder *aif_chunk_encoder_new(void);
void aif_chunk_encoder_free(struct aif_chunk_encoder *e);

/* Appends one chunk to *ret: rows[order[0]], rows[order[1]], ... rows[order[n - 1]], in this
 * order; order NULL means 0, 1, 2, ... n is 1 to AIF_CHUNK_MAX_ROWS. 0, -EINVAL or -ENOMEM. */
int aif_chunk_encode(struct aif_chunk_encoder *e, enum aif_chunk_kind kind, const void *rows,
		     const uint32_t *order, size_t n, struct aif_buf *ret);

struct aif_chunk_decoder;
struct aif_chunk_decoder *aif_chunk_decoder_new(void);
void aif_chunk_decoder_free(struct aif_chunk_decoder *d);

/* Decodes into the decoder's own memory: *ret_rows has *ret_n rows of `kind` until the next call.
 * The input may be anything. 0; -EBADMSG: damaged; -EPROTONOSUPPORT: made by a newer aiflame;
 * -ENOMEM. Ids in the rows are not checked here. */
int aif_chunk_decode(struct aif_chunk_decoder *d, enum aif_chunk_kind kind, const void *data,
		     size_t size, const void **ret_rows, size_t *ret_n);
