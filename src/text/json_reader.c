/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json_reader.h"

#include "base/buf.h"
#include "text/json_scan.h"

#include <errno.h>
#include <sys/types.h>

#define BUFFER (256u << 10)

int aif_json_init(struct aif_json *j)
{
	j->buf = malloc(BUFFER + AIF_JSON_SCAN_PADDING);
	if (!j->buf)
		return -ENOMEM;
	j->cap = BUFFER;
	j->at = j->end = j->buf;
	memset(j->end, 0, AIF_JSON_SCAN_PADDING);
	return 0;
}

void aif_json_finish(struct aif_json *j)
{
	free(j->buf);
	j->buf = j->at = j->end = j->keep = NULL;
}

uint64_t aif_json_offset(const struct aif_json *j)
{
	return j->base + (uint64_t)(j->at - j->buf);
}

static enum aif_json_token fail(struct aif_json *j, const char *why)
{
	if (!j->why) {
		j->why = why;
		j->why_at = aif_json_offset(j);
	}
	return AIF_JSON_ERROR;
}

/* ---- bytes --------------------------------------------------------------------------------------- */

/* More bytes behind j->end; what is before j->keep (NULL: before j->at) is let go. False at the end of the text, on
 * an error, and when what is kept gets too long. */
static AIF_NOINLINE bool refill(struct aif_json *j)
{
	uint8_t *from = j->keep ? j->keep : j->at;
	size_t kept = (size_t)(j->end - from), at = (size_t)(j->at - from);
	ssize_t n;

	if (j->is_eof)
		return false;
	if (kept > AIF_JSON_TOKEN_MAX) {
		fail(j, "a text of more than 1 MiB");
		return false;
	}
	j->base += (uint64_t)(from - j->buf);
	memmove(j->buf, from, kept);
	if (kept > j->cap / 2) {
		uint8_t *more = realloc(j->buf, j->cap * 2 + AIF_JSON_SCAN_PADDING);

		if (more) {
			j->buf = more;
			j->cap *= 2;
		}
	}
	n = kept < j->cap ? j->read(j->arg, j->buf + kept, j->cap - kept, &j->err) : -ENOMEM;
	if (n < 0)
		j->io = (int)n;
	j->is_eof = n <= 0;
	j->at = j->buf + at;
	j->keep = j->keep ? j->buf : NULL;
	j->end = j->buf + kept + (n > 0 ? (size_t)n : 0);
	memset(j->end, 0, AIF_JSON_SCAN_PADDING);
	if (j->io)
		fail(j, "it could not be read");
	return n > 0;
}

static inline bool is_space(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The next byte that is no space, 0 at the end of the text. */
static inline __attribute__((always_inline)) uint8_t peek(struct aif_json *j)
{
	for (;;) {
		while (is_space(*j->at))
			j->at++;
		if (aif_likely(*j->at))
			return *j->at;
		if (j->at < j->end || !refill(j))
			return 0;
	}
}

/* At a zero byte: is it the text's, or where the buffer ends? */
static enum aif_json_token at_zero(struct aif_json *j, const char *why)
{
	return fail(j, j->at < j->end ? "a zero byte" : why);
}

/* ---- tokens -------------------------------------------------------------------------------------- */

/* Returns the length of the UTF-8 character at p, which has n >= 2 bytes; 0: it is none. */
static unsigned utf8_len(const uint8_t *p, size_t n)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	uint32_t c = p[0] & (0x7fu >> len);

	if (p[0] < 0xc2 || p[0] > 0xf4 || n < len)
		return 0;
	for (unsigned i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	return c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : len;
}

static int hex4(const uint8_t *p, size_t n)
{
	int v = 0;

	for (unsigned i = 0; i < 4; i++) {
		uint8_t c = i < n ? p[i] : 0, l = c | 0x20;

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if (l >= 'a' && l <= 'f')
			v = v << 4 | (l - 'a' + 10);
		else
			return -1;
	}
	return v;
}

/* Is the string token what RFC 8259 allows? */
static bool string_check(struct aif_json *j)
{
	const uint8_t *p = j->text, *end = p + j->len;

	while (p < end) {
		unsigned n = 1;

		if (*p == '\\') {
			if (!memchr("\"\\/bfnrtu", p[1], 9))
				break;
			n = 2;
			if (p[1] == 'u') {
				if (hex4(p + 2, (size_t)(end - p - 2)) < 0)
					break;
				n = 6;
			}
		} else if (*p < 0x20) {
			break;
		} else if (*p >= 0x80) {
			n = utf8_len(p, (size_t)(end - p));
		}
		if (!n)
			break;
		p += n;
	}
	if (p == end)
		return true;
	j->why_at = j->base + (uint64_t)(p - j->buf);
	j->why = "a string with a forbidden character";
	return false;
}

/* At the byte behind the opening quote: the token is what is before the closing one. */
static inline __attribute__((always_inline)) bool string(struct aif_json *j)
{
	j->keep = j->at;
	j->escaped = false;
	for (;;) {
		const uint8_t *p = aif_json_scan_string(j->at);

		j->at = j->buf + (p - j->buf);
		if (aif_likely(*p == '"'))
			break;
		if (*p == '\\' && (p + 1 < j->end || refill(j))) {
			j->escaped = true;
			j->at += 2;
		} else if (p == j->end) {
			if (!refill(j)) {
				fail(j, "the text ends in a string");
				j->keep = NULL;
				return false;
			}
		} else {
			j->at++; /* a control character: strictly none, see string_check() */
		}
	}
	j->text = j->keep;
	j->len = (size_t)(j->at - j->keep);
	j->keep = NULL;
	j->at++;
	return !j->strict || string_check(j);
}

static inline bool is_number_byte(uint8_t c)
{
	static const bool is[256] = {['0' ... '9'] = true, ['.'] = true, ['-'] = true,
				     ['+'] = true,         ['e'] = true, ['E'] = true};

	return is[c];
}

static bool number_check(const uint8_t *p, size_t n)
{
	size_t i = 0, digits;

#define DIGITS()                                                   \
	for (digits = 0; i < n && p[i] >= '0' && p[i] <= '9'; i++) \
		digits++;                                          \
	if (!digits)                                               \
		return false;
	i += i < n && p[i] == '-';
	if (i + 1 < n && p[i] == '0' && p[i + 1] >= '0' && p[i + 1] <= '9')
		return false;
	DIGITS();
	if (i < n && p[i] == '.') {
		i++;
		DIGITS();
	}
	if (i < n && (p[i] | 0x20) == 'e') {
		i++;
		i += i < n && (p[i] == '-' || p[i] == '+');
		DIGITS();
	}
#undef DIGITS
	return i == n;
}

static AIF_NOINLINE enum aif_json_token number(struct aif_json *j)
{
	j->keep = j->at;
	for (;;) {
		while (is_number_byte(*j->at))
			j->at++;
		if (j->at < j->end || !refill(j))
			break;
	}
	j->text = j->keep;
	j->len = (size_t)(j->at - j->keep);
	j->keep = NULL;
	/* Outside of strict mode the number is checked only by those who read its value. */
	if (aif_unlikely(j->why != NULL) || (j->strict && !number_check(j->text, j->len)))
		return fail(j, "a malformed number");
	return AIF_JSON_NUMBER;
}

static enum aif_json_token word(struct aif_json *j)
{
	static const struct {
		const char *text;
		uint8_t len, token;
		bool lax;
	} words[] = {
		{"true", 4, AIF_JSON_TRUE, false}, {"false", 5, AIF_JSON_FALSE, false},
		{"null", 4, AIF_JSON_NULL, false}, {"NaN", 3, AIF_JSON_NULL, true},
		{"nan", 3, AIF_JSON_NULL, true},   {"Infinity", 8, AIF_JSON_NULL, true},
		{"inf", 3, AIF_JSON_NULL, true},   {"-Infinity", 9, AIF_JSON_NULL, true},
		{"-inf", 4, AIF_JSON_NULL, true},  {"-nan", 4, AIF_JSON_NULL, true},
	};

	while (j->end - j->at < 10 && refill(j))
		;
	for (size_t i = 0; i < AIF_ARRAY_LEN(words); i++) {
		if (memcmp(j->at, words[i].text, words[i].len) || (words[i].lax && j->strict))
			continue;
		j->text = j->at;
		j->len = words[i].len;
		j->at += words[i].len;
		return words[i].token;
	}
	return j->at[0] == '-' && !j->why ? number(j) : fail(j, "not a value");
}

static enum aif_json_token enter(struct aif_json *j, bool is_array)
{
	if (j->depth == AIF_JSON_DEPTH_MAX)
		return fail(j, "more than 256 levels");
	j->is_array[j->depth++] = is_array;
	j->state = is_array ? AIF_JSON_VALUE_OR_CLOSE : AIF_JSON_KEY_OR_CLOSE;
	j->at++;
	return is_array ? AIF_JSON_ARRAY : AIF_JSON_OBJECT;
}

static inline void after_value(struct aif_json *j)
{
	j->state = j->depth ? AIF_JSON_COMMA_OR_CLOSE : AIF_JSON_DONE;
}

static enum aif_json_token value(struct aif_json *j, uint8_t c)
{
	enum aif_json_token t;

	switch (c) {
	case '{':
	case '[':
		return enter(j, c == '[');
	case '"':
		j->at++;
		if (!string(j))
			return AIF_JSON_ERROR;
		t = AIF_JSON_STRING;
		break;
	case '0' ... '9':
		t = number(j);
		break;
	case 0:
		return at_zero(j, "the text ends where a value should be");
	default:
		t = word(j);
		break;
	}
	after_value(j);
	return t;
}

static inline __attribute__((always_inline)) enum aif_json_token key(struct aif_json *j, uint8_t c)
{
	const uint8_t *text;
	size_t len;
	bool escaped;

	if (c != '"')
		return c ? fail(j, "not a key") : at_zero(j, "the text ends in an object");
	j->at++;
	if (!string(j))
		return AIF_JSON_ERROR;
	/* The colon may be in the next bufferful: the key's text is kept with it. */
	text = j->text;
	len = j->len;
	escaped = j->escaped;
	if (aif_likely(*j->at == ':')) {
		j->at++;
	} else {
		j->keep = j->buf + (text - j->buf);
		c = peek(j);
		text = j->keep;
		j->keep = NULL;
		if (c != ':')
			return c ? fail(j, "no colon behind a key")
				 : at_zero(j, "the text ends in an object");
		j->at++;
	}
	j->text = text;
	j->len = len;
	j->escaped = escaped;
	j->state = AIF_JSON_VALUE;
	return AIF_JSON_KEY;
}

static enum aif_json_token close_it(struct aif_json *j)
{
	j->at++;
	j->depth--;
	after_value(j);
	return AIF_JSON_CLOSE;
}

/* Moves to the next key, value or close and takes a comma. Returns the byte there; 0 with an error set or at the
 * end. */
static inline __attribute__((always_inline)) uint8_t advance(struct aif_json *j)
{
	uint8_t c = peek(j);

	if (j->state != AIF_JSON_COMMA_OR_CLOSE)
		return c;
	if (aif_likely(c == ',')) {
		bool is_array = j->is_array[j->depth - 1];

		j->at++;
		c = peek(j);
		j->state = is_array ? AIF_JSON_VALUE : AIF_JSON_KEY_NEXT;
		if (!j->strict && c == (is_array ? ']' : '}'))
			j->state = is_array ? AIF_JSON_VALUE_OR_CLOSE : AIF_JSON_KEY_OR_CLOSE;
	} else if (c == (j->is_array[j->depth - 1] ? ']' : '}')) {
		j->state =
			j->is_array[j->depth - 1] ? AIF_JSON_VALUE_OR_CLOSE : AIF_JSON_KEY_OR_CLOSE;
	} else if (c) {
		fail(j, "no comma between two values");
	} else {
		at_zero(j, j->is_array[j->depth - 1] ? "the text ends in an array"
						     : "the text ends in an object");
	}
	return c;
}

enum aif_json_token aif_json_next(struct aif_json *j)
{
	uint8_t c = advance(j);

	if (aif_unlikely(j->why != NULL))
		return AIF_JSON_ERROR;
	switch (j->state) {
	case AIF_JSON_KEY_OR_CLOSE:
		return c == '}' ? close_it(j) : key(j, c);
	case AIF_JSON_KEY_NEXT:
		return key(j, c);
	case AIF_JSON_VALUE_OR_CLOSE:
		return c == ']' ? close_it(j) : value(j, c);
	case AIF_JSON_DONE:
		return c || j->at < j->end ? fail(j, "data behind the end") : AIF_JSON_END;
	default:
		return value(j, c);
	}
}

/* ---- skipping ------------------------------------------------------------------------------------ */

/* Passes a string of which only the end matters. */
static bool string_pass(struct aif_json *j)
{
	for (;;) {
		const uint8_t *p = aif_json_scan_string(j->at);

		j->at = j->buf + (p - j->buf);
		if (*p == '"') {
			j->at++;
			return true;
		}
		if (*p == '\\' && (p + 1 < j->end || refill(j))) {
			j->at += 2;
		} else if (p == j->end) {
			if (!refill(j)) {
				fail(j, "the text ends in a string");
				return false;
			}
		} else {
			j->at++;
		}
	}
}

/*
 * Passes an object or an array. A quote that should have been escaped turns inside and outside around, and
 * would let us run far ahead: what stands behind each string is the check that finds it.
 */
static bool nested_pass(struct aif_json *j)
{
	uint64_t open = 0;

	do {
		const uint8_t *p = aif_json_scan_brackets(j->at);
		uint8_t c;

		j->at = j->buf + (p - j->buf);
		switch (*p) {
		case '"':
			j->at++;
			if (!string_pass(j))
				return false;
			c = *j->at;
			if (c != ',' && c != ':' && c != ']' && c != '}') {
				c = peek(j);
				if (c != ',' && c != ':' && c != ']' && c != '}') {
					if (c)
						fail(j, "a string is followed by neither comma nor "
							"end");
					else
						at_zero(j, "the text ends in an object");
					return false;
				}
			}
			break;
		case '{':
		case '[':
			open++;
			j->at++;
			break;
		case 0:
			if (j->at < j->end || !refill(j)) {
				at_zero(j, "the text ends in an object");
				return false;
			}
			break;
		default:
			open--;
			j->at++;
			break;
		}
	} while (open);
	return true;
}

static enum aif_json_token skip_strictly(struct aif_json *j)
{
	unsigned depth = j->depth;
	enum aif_json_token first = aif_json_next(j), t = first;

	while (t != AIF_JSON_ERROR && t != AIF_JSON_END && j->depth > depth)
		t = aif_json_next(j);
	return t == AIF_JSON_ERROR ? t : first;
}

enum aif_json_token aif_json_skip(struct aif_json *j)
{
	uint8_t c;

	if (j->strict)
		return skip_strictly(j);
	c = advance(j);
	if (j->why)
		return AIF_JSON_ERROR;
	if (j->state == AIF_JSON_VALUE && (is_number_byte(c) && c != '-')) {
		after_value(j);
		do {
			while (is_number_byte(*j->at))
				j->at++;
		} while (j->at == j->end && refill(j));
		return j->why ? AIF_JSON_ERROR : AIF_JSON_NUMBER;
	}
	if (j->state == AIF_JSON_DONE || j->state == AIF_JSON_KEY_NEXT ||
	    j->state == AIF_JSON_KEY_OR_CLOSE ||
	    (j->state == AIF_JSON_VALUE_OR_CLOSE && c == ']') || (c != '{' && c != '[' && c != '"'))
		return aif_json_next(j);
	if (c == '"')
		j->at++;
	if (!(c == '"' ? string_pass(j) : nested_pass(j)))
		return AIF_JSON_ERROR;
	after_value(j);
	return c == '"' ? AIF_JSON_STRING : c == '{' ? AIF_JSON_OBJECT : AIF_JSON_ARRAY;
}

enum aif_json_token aif_json_raw(struct aif_json *j)
{
	enum aif_json_token t;
	bool strict = j->strict;
	uint8_t c = advance(j);

	if (j->why)
		return AIF_JSON_ERROR;
	if (c != '{' && c != '[')
		return aif_json_next(j);
	j->keep = j->at;
	j->strict = false; /* tokens of its own would move what is kept */
	t = aif_json_skip(j);
	j->strict = strict;
	j->text = j->keep;
	j->len = (size_t)(j->at - j->keep);
	j->keep = NULL;
	return t;
}

/* ---- going on behind an error -------------------------------------------------------------------- */

bool aif_json_resync(struct aif_json *j, unsigned depth,
		     bool (*is_first)(const uint8_t *key, size_t len))
{
	uint8_t before = 0;

	if (j->io)
		return false;
	j->why = NULL;
	j->keep = NULL;
	for (;;) {
		uint8_t c = peek(j);

		if (!c) {
			if (j->at == j->end)
				return false;
			before = 0;
			j->at++;
			continue;
		}
		if (c == '{' && (before == ',' || before == '[')) {
			bool found;
			uint8_t *start;

			/* A key is short: with 64 bytes more it is seen, or is none of ours. */
			while (j->end - j->at < 64 && refill(j))
				;
			if (j->io)
				return false;
			start = j->at + 1;
			while (is_space(*start))
				start++;
			found = *start == '"';
			if (found) {
				const uint8_t *key_end =
					memchr(start + 1, '"', (size_t)(j->end - start - 1));

				found = key_end &&
					is_first(start + 1, (size_t)(key_end - start - 1));
			}
			if (found) {
				j->depth = depth;
				j->state = AIF_JSON_VALUE;
				return true;
			}
		}
		before = c;
		j->at++;
	}
}

/* ---- what tokens mean ---------------------------------------------------------------------------- */

static void utf8_put(struct aif_buf *b, uint32_t c)
{
	if (c < 0x80) {
		aif_buf_putc(b, (char)c);
	} else if (c < 0x800) {
		aif_buf_putc(b, (char)(0xc0 | c >> 6));
		aif_buf_putc(b, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		aif_buf_putc(b, (char)(0xe0 | c >> 12));
		aif_buf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
		aif_buf_putc(b, (char)(0x80 | (c & 0x3f)));
	} else {
		aif_buf_putc(b, (char)(0xf0 | c >> 18));
		aif_buf_putc(b, (char)(0x80 | (c >> 12 & 0x3f)));
		aif_buf_putc(b, (char)(0x80 | (c >> 6 & 0x3f)));
		aif_buf_putc(b, (char)(0x80 | (c & 0x3f)));
	}
}

void aif_json_text(const struct aif_json *j, struct aif_buf *ret)
{
	const uint8_t *p = j->text, *end = p + j->len;

	if (!j->escaped) {
		aif_buf_append(ret, p, j->len);
		return;
	}
	while (p < end) {
		const uint8_t *back = memchr(p, '\\', (size_t)(end - p));
		static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
		const char *known;
		int c, low;

		if (!back)
			back = end;
		aif_buf_append(ret, p, (size_t)(back - p));
		if (end - back < 2)
			break;
		p = back + 2;
		if (back[1] != 'u') {
			known = strchr(from, back[1]);
			aif_buf_putc(ret, known && *known ? to[known - from] : (char)back[1]);
			continue;
		}
		c = hex4(p, (size_t)(end - p));
		if (c < 0) {
			aif_buf_putc(ret, 'u');
			continue;
		}
		p += 4;
		if (c >= 0xd800 && c < 0xe000) {
			low = c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u'
				      ? hex4(p + 2, 4)
				      : -1;
			if (low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				p += 6;
			} else {
				c = 0xfffd;
			}
		}
		utf8_put(ret, (uint32_t)c);
	}
}
