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

/* Blanks other than those that aif_name_sanitize() replaces. */
static bool is_blank(uint32_t code)
{
	return code == ' ' || code == 0xa0 || code == 0x1680 ||
	       (code >= 0x2000 && code <= 0x200a) || code == 0x202f || code == 0x205f ||
	       code == 0x3000;
}

static bool is_letter(uint8_t c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static void break_orders(uint8_t *line, size_t n)
{
	uint8_t *p = line, *end = n ? line + n : line;
	uint32_t code = 0;
	size_t len;

	while (p < end && (len = aif_utf8_char(p, (size_t)(end - p), &code)) && is_blank(code))
		p += len;
	if (end - p >= 4 && !memcmp(p, "::", 2) && memmem(p + 2, (size_t)(end - p) - 2, "::", 2))
		*p = '?';
	for (; end - p > 2 && (p = memmem(p, (size_t)(end - p), "##", 2)) != NULL; p++) {
		const uint8_t *to = p + 2;

		while (to < end && is_letter(*to))
			to++;
		if (to < end && *to == '[')
			*p = '?';
	}
}

void aif_name_break_orders(struct aif_buf *line, size_t begin)
{
	if (!aif_buf_failed(line) && line->len > begin)
		break_orders(line->data + begin, line->len - begin);
}

void aif_name_sanitize_lines(const void *bytes, size_t n, struct aif_buf *ret)
{
	const char *at = bytes, *end = at + n, *stop;

	for (; at < end; at = stop + 1) {
		size_t begin = ret->len;

		stop = memchr(at, '\n', (size_t)(end - at));
		aif_name_sanitize(at, (size_t)((stop ? stop : end) - at), ret);
		aif_name_break_orders(ret, begin);
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
	break_orders((uint8_t *)text, (size_t)(to - text));
}
