/* SPDX-License-Identifier: Apache-2.0 */
#include "page/file.h"

#include "flame/palette.h"
#include "names/tree.h"
#include "text/svg_text.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

static const char script_of_profile[] =
#include "page.js.inc"
	;
static const char script_of_sides[] =
#include "sides.js.inc"
	;
static const char style[] =
#include "page.css.inc"
	;
static const char body[] =
#include "page.html.inc"
	;
/* The page runs and shows what has these hashes, and nothing else. */
static const struct script {
	const char *text;
	size_t len;
	const char *hash;
} scripts[] = {
	[AIF_PAGE_OF_PROFILE] =
		{
			script_of_profile,
			sizeof(script_of_profile) - 1,
#include "page.js.hash.inc"
		},
	[AIF_PAGE_OF_SIDES] =
		{
			script_of_sides,
			sizeof(script_of_sides) - 1,
#include "sides.js.hash.inc"
		},
};
static const char style_hash[] =
#include "page.css.hash.inc"
	;

struct packer {
	z_stream z;
	struct aif_out *out;
	uint8_t rest[3]; /* bytes that are no group of base64 yet */
	unsigned rest_len;
};

static void base64_put(struct packer *k, const uint8_t *bytes, size_t n, bool is_last)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct aif_buf *b = aif_out_buf(k->out);

	for (size_t i = 0; i <= n; i++) {
		bool is_end = i == n;
		uint32_t v;
		char four[4];

		if (!is_end)
			k->rest[k->rest_len++] = bytes[i];
		if (k->rest_len < 3 && !(is_end && is_last && k->rest_len))
			continue;
		v = (uint32_t)k->rest[0] << 16 | (uint32_t)(k->rest_len > 1 ? k->rest[1] : 0) << 8 |
		    (k->rest_len > 2 ? k->rest[2] : 0);
		four[0] = digits[v >> 18];
		four[1] = digits[v >> 12 & 63];
		four[2] = k->rest_len > 1 ? digits[v >> 6 & 63] : '=';
		four[3] = k->rest_len > 2 ? digits[v & 63] : '=';
		aif_buf_append(b, four, 4);
		aif_out_flush_if_full(k->out);
		k->rest_len = 0;
	}
}

static int pack(struct packer *k, const void *bytes, size_t n, bool is_last)
{
	uint8_t packed[16384];
	int r = Z_OK;

	k->z.next_in = (void *)bytes;
	do {
		if (!k->z.avail_in && n) {
			k->z.avail_in = (uInt)AIF_MIN(n, (size_t)1 << 30);
			n -= k->z.avail_in;
		}
		k->z.next_out = packed;
		k->z.avail_out = sizeof(packed);
		r = deflate(&k->z, is_last && !n ? Z_FINISH : Z_NO_FLUSH);
		if (r == Z_STREAM_ERROR)
			return -EIO;
		base64_put(k, packed, sizeof(packed) - k->z.avail_out, r == Z_STREAM_END);
	} while (k->z.avail_in || n || !k->z.avail_out || (is_last && r != Z_STREAM_END));
	return 0;
}

/* The object's length in four bytes, the object, zeros up to a multiple of eight, the columns. */
static int data_write(const char *id, const struct aif_page_data *data, struct aif_out *out)
{
	const struct aif_buf *json = data->json;

	struct packer k = {.out = out};
	uint32_t len = (uint32_t)json->len;
	uint8_t head[4] = {(uint8_t)len, (uint8_t)(len >> 8), (uint8_t)(len >> 16),
			   (uint8_t)(len >> 24)};
	int r;

	if (json->len > UINT32_MAX / 2)
		return -EFBIG;
	aif_buf_printf(aif_out_buf(out), "<script type=\"application/octet-stream\" id=\"%s\">",
		       id);
	if (deflateInit2(&k.z, 6, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	r = pack(&k, head, sizeof(head), false);
	if (r == 0)
		r = pack(&k, json->data, json->len, false);
	if (r == 0)
		r = pack(&k, "\0\0\0\0\0\0\0", (12 - len % 8) % 8, false);
	if (r == 0)
		r = pack(&k, data->columns->bytes.data, data->columns->bytes.len, true);
	deflateEnd(&k.z);
	aif_buf_puts(aif_out_buf(out), "</script>\n");
	return r;
}

void aif_page_palette_write(struct aif_buf *json, bool has_operators)
{
	size_t len;
	const struct aif_palette_colour *c = aif_palette(&len);

	aif_buf_puts(json, "\"palette\":[");
	for (size_t i = 0; i < len; i++)
		aif_buf_printf(
			json,
			"%s{\"name\":\"%s\",\"letter\":\"%s\",\"low\":[%u,%u,%u],\"high\":[%u,%u,%u]}",
			i ? "," : "",
			i == AIF_TREE_CXX && has_operators ? "C++, operator" : c[i].name,
			c[i].letter, c[i].low[0], c[i].low[1], c[i].low[2], c[i].high[0],
			c[i].high[1], c[i].high[2]);
	aif_buf_putc(json, ']');
}

int aif_page_file_write(enum aif_page_of of, const char *title, const struct aif_page_data *data,
			const struct aif_page_data *later, struct aif_out *out)
{
	struct aif_buf *b = aif_out_buf(out);
	int r;

	aif_buf_printf(b,
		       "<!doctype html>\n<!-- made by aiflame " AIF_VERSION " -->\n"
		       "<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		       "script-src 'sha256-%s'; style-src 'sha256-%s'; worker-src blob:; "
		       "img-src data: blob:; base-uri 'none'; form-action 'none'\">\n"
		       "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		       "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
		       scripts[of].hash, style_hash);
	aif_svg_text(b, title, strlen(title), SIZE_MAX);
	aif_buf_puts(b, " \xe2\x80\x93 aiflame</title>\n<style>");
	aif_buf_append(b, style, sizeof(style) - 1);
	aif_buf_puts(
		b,
		"</style></head>\n<body><noscript>This page needs JavaScript: it is in the page, "
		"and asks for nothing outside it.</noscript>\n");
	aif_buf_append(b, body, sizeof(body) - 1);
	r = data_write("data", data, out);
	if (r == 0 && later)
		r = data_write("later", later, out);
	aif_buf_puts(b, "<script>");
	aif_buf_append(b, scripts[of].text, scripts[of].len);
	aif_buf_puts(b, "</script></body></html>\n");
	aif_out_flush_if_full(out);
	return r;
}
