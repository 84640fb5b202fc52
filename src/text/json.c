/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json.h"

#include "base/name_sanitize.h"

#include <string.h>

enum { DIGITS_MAX = 20 };

/* Writes the digits of v, of which there are `least` or more, at `to`; returns where they end. */
static uint8_t *digits(uint8_t *to, uint64_t v, size_t least)
{
	uint8_t field[DIGITS_MAX], *at = field + DIGITS_MAX;

	do {
		*--at = (uint8_t)('0' + v % 10);
		v /= 10;
	} while (v || (size_t)(field + DIGITS_MAX - at) < least);
	memcpy(to, at, (size_t)(field + DIGITS_MAX - at));
	return to + (field + DIGITS_MAX - at);
}

void aif_out_json_u64(struct aif_buf *b, uint64_t v)
{
	uint8_t *to = aif_buf_reserve(b, DIGITS_MAX);

	if (to)
		b->len = (size_t)(digits(to, v, 1) - b->data);
}

void aif_out_json_i64(struct aif_buf *b, int64_t v)
{
	if (v < 0)
		aif_buf_putc(b, '-');
	aif_out_json_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void aif_out_json_decimal(struct aif_buf *b, int64_t ns, unsigned decimals)
{
	uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns,
		 unit = decimals == 3 ? 1000 : 1000000;
	uint8_t *to = aif_buf_reserve(b, 2 * DIGITS_MAX);

	assert(decimals == 3 || decimals == 6);
	if (!to)
		return;
	if (ns < 0)
		*to++ = '-';
	to = digits(to, v / unit, 1);
	if (v % unit) {
		*to++ = '.';
		to = digits(to, v % unit, decimals);
	}
	b->len = (size_t)(to - b->data);
}

/* Printable ASCII that needs no escape. */
static bool is_plain(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] < ' ' || bytes[i] > '~' || bytes[i] == '"' || bytes[i] == '\\')
			return false;
	return true;
}

void aif_out_json_string(struct aif_buf *b, const char *bytes, size_t n)
{
	struct aif_buf clean = {0};

	aif_buf_putc(b, '"');
	if (is_plain(bytes, n)) {
		aif_buf_append(b, bytes, n);
	} else {
		aif_name_sanitize(bytes, n, &clean);
		b->failed |= aif_buf_failed(&clean);
		for (size_t i = 0; i < clean.len; i++) {
			if (clean.data[i] == '"' || clean.data[i] == '\\')
				aif_buf_putc(b, '\\');
			aif_buf_putc(b, (char)clean.data[i]);
		}
		aif_buf_finish(&clean);
	}
	aif_buf_putc(b, '"');
}

void aif_out_json_text(struct aif_buf *b, const char *text)
{
	aif_out_json_string(b, text, strlen(text));
}

static void put_escape(struct aif_buf *b, unsigned char c)
{
	switch (c) {
	case '\n':
		aif_buf_puts(b, "\\n");
		break;
	case '\t':
		aif_buf_puts(b, "\\t");
		break;
	case '\r':
		aif_buf_puts(b, "\\r");
		break;
	default:
		aif_buf_printf(b, "\\u%04x", c);
	}
}

void aif_out_json_escaped(struct aif_buf *b, const char *bytes, size_t n)
{
	struct aif_buf run = {0};

	aif_buf_putc(b, '"');
	for (size_t i = 0, len; i < n; i += len + 1) {
		for (len = 0; i + len < n && (unsigned char)bytes[i + len] >= ' ';)
			len++;
		aif_buf_clear(&run);
		aif_out_json_string(&run, bytes + i, len);
		if (run.len > 2)
			aif_buf_append(b, run.data + 1, run.len - 2);
		if (i + len < n)
			put_escape(b, (unsigned char)bytes[i + len]);
	}
	b->failed |= aif_buf_failed(&run);
	aif_buf_putc(b, '"');
	aif_buf_finish(&run);
}

void aif_out_json_escaped_text(struct aif_buf *b, const char *text)
{
	aif_out_json_escaped(b, text, strlen(text));
}

bool aif_json_is_lists(const char *text)
{
	size_t depth = 0;
	char last = ',', before = ',';

	if (*text != '[')
		return false;
	for (; *text; text++) {
		bool is_digit = *text >= '0' && *text <= '9';

		if (*text == ' ' && last == ',')
			continue;
		if (*text == '['   ? last != '[' && last != ','
		    : is_digit     ? last == ']' || (last == '0' && (before < '0' || before > '9'))
		    : *text == '-' ? last != '[' && last != ','
		    : *text == ',' ? !depth || last == '[' || last == ',' || last == '-'
		    : *text == ']' ? !depth || last == ',' || last == '-'
				   : true)
			return false;
		depth += *text == '[';
		depth -= *text == ']';
		before = last;
		last = *text;
		if (!depth && text[1])
			return false;
	}
	return !depth;
}

void aif_out_json_key(struct aif_buf *b, const char *name)
{
	if (b->len && !strchr("{[,", b->data[b->len - 1]))
		aif_buf_putc(b, ',');
	aif_out_json_text(b, name);
	aif_buf_putc(b, ':');
}

void aif_json_put_u64(struct aif_buf *b, const char *name, uint64_t v)
{
	aif_out_json_key(b, name);
	aif_out_json_u64(b, v);
}

void aif_json_put_text(struct aif_buf *b, const char *name, const char *text)
{
	aif_out_json_key(b, name);
	aif_out_json_text(b, text);
}
