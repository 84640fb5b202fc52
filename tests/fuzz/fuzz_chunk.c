/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/chunk_format.h"

#include <stdlib.h>
#include <string.h>

/*
 * The codec of bulk rows, from both ends. The input's first byte says which:
 *
 *   kind          the rest is a chunk from anywhere, its checksum put right, so that what lies behind
 *                 the checksum is reached: it decodes to rows, which survive another round, or not
 *   kind | 0x80   the rest is rows, which must come back as they are
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct coder {
	struct aif_chunk_encoder *e;
	struct aif_chunk_decoder *d, *again;
};

static struct coder coder_new(void)
{
	struct coder c = {aif_chunk_encoder_new(), aif_chunk_decoder_new(),
			  aif_chunk_decoder_new()};

	if (!c.e || !c.d || !c.again)
		abort();
	return c;
}

static void coder_free(struct coder *c)
{
	aif_chunk_encoder_free(c->e);
	aif_chunk_decoder_free(c->d);
	aif_chunk_decoder_free(c->again);
}

static void round_trip(struct coder *c, enum aif_chunk_kind kind, const void *rows, size_t n)
{
	struct aif_buf chunk = {0};
	const void *got;
	size_t got_n;

	if (aif_chunk_encode(c->e, kind, rows, NULL, n, &chunk) < 0 ||
	    aif_chunk_decode(c->again, kind, chunk.data, chunk.len, &got, &got_n) < 0 ||
	    got_n != n || memcmp(got, rows, n * aif_chunk_row_size(kind)) != 0)
		abort();
	aif_buf_finish(&chunk);
}

static void decode_anything(struct coder *c, enum aif_chunk_kind kind, const uint8_t *data,
			    size_t size)
{
	uint8_t *chunk = malloc(size);
	const void *rows;
	uint64_t sum;
	size_t n;

	if (!chunk)
		abort();
	memcpy(chunk, data, size);
	sum = aif_chunk_checksum(chunk, size);
	for (int i = 0; i < 8; i++)
		chunk[8 + i] = (uint8_t)(sum >> 8 * i);
	if (aif_chunk_decode(c->d, kind, chunk, size, &rows, &n) == 0) {
		if (n == 0 || n > AIF_CHUNK_MAX_ROWS)
			abort();
		round_trip(c, kind, rows, n);
	}
	free(chunk);
}

/* Rows whose fields are the input's bytes, and whose padding is zero. */
static void encode_anything(struct coder *c, enum aif_chunk_kind kind, const uint8_t *data,
			    size_t size)
{
	const struct aif_chunk_layout *l = aif_chunk_layout(kind);
	size_t n = AIF_MIN(size / l->row_size, (size_t)AIF_CHUNK_MAX_ROWS);
	uint8_t *rows = calloc(n + 1, l->row_size);

	if (!rows)
		abort();
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < l->columns_len; k++) {
			size_t at = i * l->row_size + l->columns[k].offset;

			memcpy(rows + at, data + at, l->columns[k].form == AIF_FORM_U32 ? 4 : 8);
		}
	if (n)
		round_trip(c, kind, rows, n);
	free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coder c;
	enum aif_chunk_kind kind;

	if (size < 1 + AIF_CHUNK_HEADER || !aif_chunk_layout(data[0] & 0x7f))
		return 0;
	kind = data[0] & 0x7f;
	c = coder_new();
	if (data[0] & 0x80)
		encode_anything(&c, kind, data + 1, size - 1);
	else
		decode_anything(&c, kind, data + 1, size - 1);
	coder_free(&c);
	return 0;
}
