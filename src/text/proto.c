/* SPDX-License-Identifier: Apache-2.0 */
#include "text/proto.h"

#include "base/name_sanitize.h"

#include <string.h>

/* Lengths up to 2^35, and up to 2^14. */
enum { LENGTH_BYTES = 5, SMALL_LENGTH_BYTES = 2, VARINT_MAX = 10 };

static size_t varint_put(uint8_t *to, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (uint8_t)(v | 0x80);
	to[n++] = (uint8_t)v;
	return n;
}

void aif_proto_varint(struct aif_buf *b, uint64_t v)
{
	uint8_t *to = aif_buf_reserve(b, VARINT_MAX);

	if (to)
		b->len += varint_put(to, v);
}

static void tag(struct aif_buf *b, uint32_t field, enum aif_proto_wire wire)
{
	aif_proto_varint(b, (uint64_t)field << 3 | wire);
}

void aif_proto_u64(struct aif_buf *b, uint32_t field, uint64_t v)
{
	uint8_t *to = aif_buf_reserve(b, 2 * VARINT_MAX);

	if (!to)
		return;
	to += varint_put(to, (uint64_t)field << 3 | AIF_PROTO_VARINT);
	to += varint_put(to, v);
	b->len = (size_t)(to - b->data);
}

void aif_proto_fixed64(struct aif_buf *b, uint32_t field, uint64_t v)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(v >> 8 * i);
	tag(b, field, AIF_PROTO_FIXED64);
	aif_buf_append(b, bytes, sizeof(bytes));
}

void aif_proto_double(struct aif_buf *b, uint32_t field, double v)
{
	uint64_t bits;

	static_assert(sizeof(bits) == sizeof(v), "IEEE 754 binary64");
	memcpy(&bits, &v, sizeof(bits));
	aif_proto_fixed64(b, field, bits);
}

void aif_proto_bytes(struct aif_buf *b, uint32_t field, const void *p, size_t n)
{
	tag(b, field, AIF_PROTO_BYTES);
	aif_proto_varint(b, n);
	aif_buf_append(b, p, n);
}

void aif_proto_string(struct aif_buf *b, uint32_t field, const char *bytes, size_t n)
{
	struct aif_buf clean = {0};

	aif_name_sanitize(bytes, n, &clean);
	b->failed |= aif_buf_failed(&clean);
	aif_proto_bytes(b, field, clean.data, clean.len);
	aif_buf_finish(&clean);
}

void aif_proto_text(struct aif_buf *b, uint32_t field, const char *text)
{
	aif_proto_string(b, field, text, strlen(text));
}

static size_t begin(struct aif_buf *b, uint32_t field, size_t room)
{
	static const uint8_t zeroes[LENGTH_BYTES];

	tag(b, field, AIF_PROTO_BYTES);
	aif_buf_append(b, zeroes, room);
	return b->len;
}

static void end(struct aif_buf *b, size_t begin, size_t room)
{
	uint64_t len = b->len - begin;

	if (aif_buf_failed(b))
		return;
	if (len >> 7 * room) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < room; i++)
		b->data[begin - room + i] =
			(uint8_t)((len >> 7 * i & 0x7f) | (i + 1 < room ? 0x80 : 0));
}

size_t aif_proto_begin(struct aif_buf *b, uint32_t field)
{
	return begin(b, field, LENGTH_BYTES);
}

void aif_proto_end(struct aif_buf *b, size_t at)
{
	end(b, at, LENGTH_BYTES);
}

size_t aif_proto_begin_small(struct aif_buf *b, uint32_t field)
{
	return begin(b, field, SMALL_LENGTH_BYTES);
}

void aif_proto_end_small(struct aif_buf *b, size_t at)
{
	end(b, at, SMALL_LENGTH_BYTES);
}
