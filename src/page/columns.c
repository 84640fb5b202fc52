/* SPDX-License-Identifier: Apache-2.0 */
#include "page/columns.h"

#include <string.h>

void aif_page_columns_init(struct aif_page_columns *c)
{
	*c = (struct aif_page_columns){0};
	aif_buf_putc(&c->index, '{');
}

void aif_page_columns_finish(struct aif_page_columns *c)
{
	aif_buf_finish(&c->bytes);
	aif_buf_finish(&c->index);
}

bool aif_page_columns_failed(const struct aif_page_columns *c)
{
	return aif_buf_failed(&c->bytes) || aif_buf_failed(&c->index);
}

/* Begins a column of n numbers of so many bytes. Returns the room for them, NULL where there is none to write. */
static uint8_t *column(struct aif_page_columns *c, const char *name, const char *type, size_t n,
		       size_t size)
{
	size_t bytes = n * size;
	uint8_t *room;

	while (c->bytes.len % size && !c->bytes.failed)
		aif_buf_putc(&c->bytes, 0);
	aif_buf_printf(&c->index, "%s\"%s\":[\"%s\",%zu,%zu]", c->index.len > 1 ? "," : "", name,
		       type, c->bytes.len, n);
	if (!bytes)
		return NULL;
	room = aif_buf_reserve(&c->bytes, bytes);
	if (room)
		c->bytes.len += bytes;
	return room;
}

static void put32(uint8_t *at, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

void aif_page_u8(struct aif_page_columns *c, const char *name, const uint8_t *v, size_t n)
{
	uint8_t *at = column(c, name, "u8", n, 1);

	if (at)
		memcpy(at, v, n);
}

void aif_page_u16(struct aif_page_columns *c, const char *name, const uint16_t *v, size_t n)
{
	uint8_t *at = column(c, name, "u16", n, 2);

	for (size_t i = 0; at && i < n; i++) {
		at[2 * i] = (uint8_t)v[i];
		at[2 * i + 1] = (uint8_t)(v[i] >> 8);
	}
}

void aif_page_u32(struct aif_page_columns *c, const char *name, const uint32_t *v, size_t n)
{
	uint8_t *at = column(c, name, "u32", n, 4);

	for (size_t i = 0; at && i < n; i++)
		put32(at + 4 * i, v[i]);
}

void aif_page_small(struct aif_page_columns *c, const char *name, const uint32_t *v, size_t n)
{
	uint32_t most = 0;
	uint8_t *at;

	for (size_t i = 0; i < n; i++)
		most = AIF_MAX(most, v[i]);
	if (most > UINT16_MAX) {
		aif_page_u32(c, name, v, n);
		return;
	}
	at = column(c, name, "u16", n, 2);
	for (size_t i = 0; at && i < n; i++) {
		at[2 * i] = (uint8_t)v[i];
		at[2 * i + 1] = (uint8_t)(v[i] >> 8);
	}
}

void aif_page_d32(struct aif_page_columns *c, const char *name, const uint32_t *v, size_t n)
{
	uint8_t *at = column(c, name, "d32", n, 4);

	for (size_t i = 0; at && i < n; i++)
		put32(at + 4 * i, v[i] - (i ? v[i - 1] : 0));
}

void aif_page_u64(struct aif_page_columns *c, const char *name, const uint64_t *v, size_t n)
{
	uint64_t most = 0;
	uint8_t *at;

	for (size_t i = 0; i < n; i++)
		most = AIF_MAX(most, v[i]);
	at = most > UINT32_MAX ? column(c, name, "f64", n, 8) : column(c, name, "u32", n, 4);
	for (size_t i = 0; at && i < n; i++) {
		double wide = (double)v[i];
		uint64_t bits;

		memcpy(&bits, &wide, sizeof(bits));
		if (most <= UINT32_MAX) {
			put32(at + 4 * i, (uint32_t)v[i]);
			continue;
		}
		put32(at + 8 * i, (uint32_t)bits);
		put32(at + 8 * i + 4, (uint32_t)(bits >> 32));
	}
}

void aif_page_varint(struct aif_page_columns *c, const char *name, const uint64_t *v, size_t n)
{
	size_t from = c->bytes.len;

	for (size_t i = 0; i < n; i++) {
		uint64_t rest = v[i];

		for (; rest > 127; rest >>= 7)
			aif_buf_putc(&c->bytes, (char)(rest | 128));
		aif_buf_putc(&c->bytes, (char)rest);
	}
	aif_buf_printf(&c->index, "%s\"%s\":[\"v\",%zu,%zu,%zu]", c->index.len > 1 ? "," : "", name,
		       from, n, c->bytes.len - from);
}
