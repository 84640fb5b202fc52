/* SPDX-License-Identifier: Apache-2.0 */
#include "base/name_sanitize.h"

#include "base/utf8.h"

#include <string.h>

static bool misleads(uint32_t code)
{
	return (code >= 0x80 && code <= 0x9f) ||     /* control characters */
	       code == 0x61c ||                      /* a direction mark */
	       (code >= 0x200e && code <= 0x200f) || /* direction marks */
	       (code >= 0x2028 && code <= 0x202e) || /* separators of lines, direction */
	       (code >= 0x2066 && code <= 0x2069) || /* direction */
	       (code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef) || code == 0xfeff;
}

void aif_name_sanitize(const void *bytes, size_t n, struct aif_buf *ret)
{
	const uint8_t *p = bytes, *end = n ? p + n : p;

	while (p < end) {
		uint32_t code = 0;
		size_t len = aif_utf8_char(p, (size_t)(end - p), &code);

		if (len && code < 0x20) {
			uint8_t picture[3] = {0xe2, 0x90, (uint8_t)(0x80 + code)};

			aif_buf_append(ret, picture, sizeof(picture));
		} else if (len && code == 0x7f)
			aif_buf_puts(ret, "\u2421");
		else if (!len || misleads(code))
			aif_buf_puts(ret, "\ufffd");
		else
			aif_buf_append(ret, p, len);
		p += len ? len : 1;
	}
}

void aif_name_sanitize_lines(const void *bytes, size_t n, struct aif_buf *ret)
{
	const char *at = bytes, *end = at + n, *stop;

	for (; at < end; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		aif_name_sanitize(at, (size_t)((stop ? stop : end) - at), ret);
		if (!stop)
			return;
		aif_buf_putc(ret, '\n');
	}
}

void aif_name_sanitize_in_place(char *text)
{
	const uint8_t *from = (const uint8_t *)text, *end = from + strlen(text);
	char *to = text;

	while (from < end) {
		uint32_t code = 0;
		size_t len = aif_utf8_char(from, (size_t)(end - from), &code);

		if (len && (code == '\n' || code == '\t' || code == '\r')) {
			*to++ = ' ';
		} else if (!len || code < 0x20 || code == 0x7f || misleads(code)) {
			*to++ = '?';
		} else {
			memmove(to, from, len);
			to += len;
		}
		from += len ? len : 1;
	}
	*to = '\0';
}
