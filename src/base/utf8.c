/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

size_t aif_utf8_char(const uint8_t *s, size_t n, uint32_t *ret_code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = s[0] < 0x80             ? 1
		     : (s[0] & 0xe0) == 0xc0 ? 2
		     : (s[0] & 0xf0) == 0xe0 ? 3
		     : (s[0] & 0xf8) == 0xf0 ? 4
					     : 0;
	uint32_t code;

	if (!len || len > n)
		return 0;
	code = len == 1 ? s[0] : s[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return len;
}

/* Returns how many bytes from the start are valid UTF-8 without zero bytes. */
static size_t text_len(const uint8_t *s, size_t n)
{
	size_t at = 0;

	while (at < n) {
		uint32_t code;
		size_t len = s[at] && s[at] < 0x80 ? 1 : aif_utf8_char(s + at, n - at, &code);

		if (!len || !s[at])
			break;
		at += len;
	}
	return at;
}

bool aif_utf8_is_text(const void *bytes, size_t n)
{
	return text_len(bytes, n) == n;
}

void aif_utf8_put(struct aif_buf *b, const void *bytes, size_t n)
{
	const uint8_t *s = bytes;

	for (size_t at = 0; at < n; at++) {
		size_t len = text_len(s + at, n - at);

		aif_buf_append(b, s + at, len);
		at += len;
		if (at < n)
			aif_buf_puts(b, s[at] ? "\ufffd" : "\u2400");
	}
}

void aif_utf8_put_char(struct aif_buf *b, uint32_t c)
{
	/* Half of a surrogate pair stands for a byte that was no UTF-8. */
	if ((c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = 0xfffd;
	if (c < 0x80) {
		aif_buf_putc(b, (char)c);
		return;
	}
	if (c < 0x800) {
		aif_buf_putc(b, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			aif_buf_putc(b, (char)(0xe0 | c >> 12));
		} else {
			aif_buf_putc(b, (char)(0xf0 | c >> 18));
			aif_buf_putc(b, (char)(0x80 | (c >> 12 & 63)));
		}
		aif_buf_putc(b, (char)(0x80 | (c >> 6 & 63)));
	}
	aif_buf_putc(b, (char)(0x80 | (c & 63)));
}
