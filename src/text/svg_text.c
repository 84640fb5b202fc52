/* SPDX-License-Identifier: Apache-2.0 */
#include "text/svg_text.h"

#include "base/name_sanitize.h"

/* One character of valid UTF-8, which aif_name_sanitize() gives. */
static uint32_t utf8_decode(const uint8_t *s, size_t *ret_size)
{
	size_t size = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t c = size == 1 ? s[0] : s[0] & (0x7fu >> size);

	for (size_t i = 1; i < size; i++)
		c = c << 6 | (s[i] & 0x3f);
	*ret_size = size;
	return c;
}

/* Close enough for fitting: the scripts that monospaced fonts draw two cells wide, and the marks
 * that take no cell. flame.js has the same table. */
static unsigned columns(uint32_t c)
{
	static const uint32_t wide[][2] = {
		{0x1100, 0x115f}, {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
		{0xf900, 0xfaff}, {0xfe30, 0xfe6f},   {0xff00, 0xff60},
		{0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
	};

	if (c >= 0x300 && c <= 0x36f)
		return 0;
	for (size_t i = 0; c >= wide[0][0] && i < AIF_ARRAY_LEN(wide); i++)
		if (c >= wide[i][0] && c <= wide[i][1])
			return 2;
	return 1;
}

static void char_put(struct aif_buf *b, const uint8_t *s, size_t size)
{
	switch (*s) {
	case '<':
		aif_buf_puts(b, "&lt;");
		break;
	case '>':
		aif_buf_puts(b, "&gt;");
		break;
	case '&':
		aif_buf_puts(b, "&amp;");
		break;
	case '"':
		aif_buf_puts(b, "&quot;");
		break;
	case '\'':
		aif_buf_puts(b, "&#39;");
		break;
	default:
		aif_buf_append(b, s, size);
	}
}

void aif_svg_text(struct aif_buf *b, const char *s, size_t len, size_t max)
{
	struct aif_buf clean = {0};
	size_t size, wanted = 0, used = 0, room;

	aif_name_sanitize(s, len, &clean);
	b->failed |= aif_buf_failed(&clean);
	for (size_t i = 0; i < clean.len && wanted <= max; i += size)
		wanted += columns(utf8_decode(clean.data + i, &size));
	room = wanted > max ? max - AIF_MIN(max, 1) : max;
	for (size_t i = 0; i < clean.len; i += size) {
		used += columns(utf8_decode(clean.data + i, &size));
		if (used > room)
			break;
		char_put(b, clean.data + i, size);
	}
	if (wanted > max && max)
		aif_buf_puts(b, "\u2026");
	aif_buf_finish(&clean);
}
