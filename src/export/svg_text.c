/* SPDX-License-Identifier: Apache-2.0 */
#include "export/svg_text.h"

#include "export/names.h"

#include <stdio.h>

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

/* Close enough for fitting: the scripts that monospaced fonts draw two cells wide, and the marks that
 * take no cell. flame.js has the same table. */
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

void aif_text_count(struct aif_buf *b, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			aif_buf_putc(b, ',');
		aif_buf_putc(b, digits[i]);
	}
}

/* Three digits of v, or all before the point. */
static void scaled_put(struct aif_buf *b, double v, const char *unit)
{
	aif_buf_printf(b, "%.*f %s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, unit);
}

void aif_text_time(struct aif_buf *b, uint64_t ns)
{
	if (ns < 1000)
		aif_buf_printf(b, "%u ns", (unsigned)ns);
	else if (ns < 999500)
		scaled_put(b, (double)ns / 1e3, "\xc2\xb5s");
	else if (ns < 999500000)
		scaled_put(b, (double)ns / 1e6, "ms");
	else
		scaled_put(b, (double)ns / 1e9, "s");
}

void aif_text_bytes(struct aif_buf *b, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024) {
		aif_buf_printf(b, "%u B", (unsigned)bytes);
		return;
	}
	while (v >= 1023.5 && unit + 1 < AIF_ARRAY_LEN(units)) {
		v /= 1024;
		unit++;
	}
	scaled_put(b, v, units[unit]);
}
