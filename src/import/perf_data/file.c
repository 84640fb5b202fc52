/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/perf_data.h"

#include <byteswap.h>
#include <errno.h>
#include <string.h>

#define BLOCK ((size_t)256 << 10)

int aif_perf_want(struct aif_perf_data *x, size_t n, struct aif_err *err)
{
	struct aif_buf *b = &x->buf;

	if (b->len - x->at >= n)
		return 1;
	if (x->at) {
		memmove(b->data, b->data + x->at, b->len - x->at);
		b->len -= x->at;
		x->at = 0;
	}
	while (b->len < n && !x->is_eof) {
		void *room = aif_buf_reserve(b, BLOCK);
		ssize_t got;

		if (!room)
			return aif_err_set(err, -ENOMEM, "out of memory");
		got = aif_import_read(x->source, room, BLOCK, err);
		if (got < 0)
			return (int)got;
		b->len += (size_t)got;
		x->is_eof = got == 0;
	}
	return b->len >= n;
}

const uint8_t *aif_perf_next(const struct aif_perf_data *x)
{
	return x->buf.data + x->at;
}

void aif_perf_skip(struct aif_perf_data *x, size_t n)
{
	x->at += n;
	x->offset += n;
}

int aif_perf_pass(struct aif_perf_data *x, uint64_t n, struct aif_err *err)
{
	while (n) {
		size_t some = AIF_MIN(n, BLOCK);
		int r = aif_perf_want(x, some, err);

		if (r <= 0) {
			if (!r)
				aif_perf_skip(x, x->buf.len - x->at);
			return r;
		}
		aif_perf_skip(x, some);
		n -= some;
	}
	return 1;
}

uint16_t aif_perf_u16(const struct aif_perf_data *x, const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return x->is_swapped ? bswap_16(v) : v;
}

uint32_t aif_perf_u32(const struct aif_perf_data *x, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return x->is_swapped ? bswap_32(v) : v;
}

uint64_t aif_perf_u64(const struct aif_perf_data *x, const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return x->is_swapped ? bswap_64(v) : v;
}

uint32_t aif_perf_text_at(struct aif_perf_data *x, const uint8_t *p, size_t max)
{
	uint32_t id = aif_strset_put(&x->strings, p, strnlen((const char *)p, max));

	x->is_memory |= id == AIF_STR_NONE;
	return id;
}

uint32_t aif_perf_build_id_at(struct aif_perf_data *x, const uint8_t *p, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t hex[40];

	size = AIF_MIN(size, 20);
	for (size_t i = 0; i < size; i++) {
		hex[2 * i] = (uint8_t)digits[p[i] >> 4];
		hex[2 * i + 1] = (uint8_t)digits[p[i] & 15];
	}
	return size ? aif_perf_text_at(x, hex, 2 * size) : AIF_STR_NONE;
}

void aif_perf_bad(struct aif_perf_data *x)
{
	if (!x->bad++)
		x->first_bad = x->offset;
}
