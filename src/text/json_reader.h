/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/*
 * A pull reader of JSON: the caller asks for the next key or value; nothing is built. Memory is one buffer,
 * whatever the size of the text: 256 KiB, up to AIF_JSON_TOKEN_MAX more for a long string. No recursion.
 *
 * Strict, it takes what RFC 8259 calls JSON (UTF-8, no byte order mark, no NUL in names' escapes is special) and
 * nothing else. Otherwise it also takes what profilers really write: control characters and bytes that are no UTF-8 in
 * strings, a comma before a closing bracket, NaN and Infinity; numbers are checked by who asks for their value; and values
 * that are skipped are only looked through for where they end. After an error aif_json_resync() goes on behind it.
 */

enum aif_json_token {
	AIF_JSON_ERROR,
	AIF_JSON_END, /* of the text, whole */
	AIF_JSON_OBJECT,
	AIF_JSON_ARRAY,
	AIF_JSON_CLOSE, /* of the object or array that was open */
	AIF_JSON_KEY,   /* its value comes next */
	AIF_JSON_STRING,
	AIF_JSON_NUMBER,
	AIF_JSON_TRUE,
	AIF_JSON_FALSE,
	AIF_JSON_NULL, /* also NaN and the infinities: no number that could be used */
};

#define AIF_JSON_TOKEN_MAX (1u << 20)
/* The depth that may be entered; skipped values may be nested to any depth unless strict. */
#define AIF_JSON_DEPTH_MAX 256

/* The tokens that may come next; internal. */
enum aif_json_state {
	AIF_JSON_VALUE,
	AIF_JSON_VALUE_OR_CLOSE,
	AIF_JSON_KEY_OR_CLOSE,
	AIF_JSON_KEY_NEXT,
	AIF_JSON_COMMA_OR_CLOSE,
	AIF_JSON_DONE,
};

struct aif_json {
	/* Up to n bytes more; 0 at the end, -errno with *err. */
	ssize_t (*read)(void *arg, void *buf, size_t n, struct aif_err *err);
	void *arg;
	bool strict;

	/* The token's text as it stands, without quotes; valid until the next call. `escaped`: aif_json_text()
	 * gives what it means. */
	const uint8_t *text;
	size_t len;
	bool escaped;

	/* The error, and the byte of the text where it was found. A `read` that failed: io is
	 * its result and err its words. */
	const char *why;
	uint64_t why_at;
	int io;
	struct aif_err err;

	/* inside */
	uint8_t *buf, *at, *end, *keep;
	size_t cap;
	uint64_t base; /* of buf[0] in the text */
	unsigned depth;
	uint8_t state;
	bool is_eof;
	uint8_t is_array[AIF_JSON_DEPTH_MAX];
};

/* .read, .arg and .strict are the caller's, the rest is zero. 0 or -ENOMEM. */
int aif_json_init(struct aif_json *j);
void aif_json_finish(struct aif_json *j);

enum aif_json_token aif_json_next(struct aif_json *j);

/* Skips the next value as a whole and returns its type: OBJECT and ARRAY with all that is in
 * them. CLOSE or END if there is none left. */
enum aif_json_token aif_json_skip(struct aif_json *j);
/* The same, and its text in .text and .len: an ERROR if that is longer than AIF_JSON_TOKEN_MAX. */
enum aif_json_token aif_json_raw(struct aif_json *j);

/* After an error: goes to the next object that can be an element of the array that was `depth` deep (1: of the
 * outermost array): one behind '[' or ',', with a first key that is_first() takes. The next token is that OBJECT.
 * False: there is none. `why` is cleared. */
bool aif_json_resync(struct aif_json *j, unsigned depth,
		     bool (*is_first)(const uint8_t *key, size_t len));

uint64_t aif_json_offset(const struct aif_json *j); /* bytes of the text behind us */
static inline unsigned aif_json_depth(const struct aif_json *j)
{
	return j->depth;
}

static inline bool aif_json_is(const struct aif_json *j, const char *word, size_t len)
{
	return j->len == len && !__builtin_memcmp(j->text, word, len);
}
#define AIF_JSON_IS(j, word) aif_json_is(j, word, sizeof(word) - 1)

struct aif_buf;
/* Appends what the string or key token means: escapes resolved, surrogates joined (a lone one becomes U+FFFD). */
void aif_json_text(const struct aif_json *j, struct aif_buf *ret);

/* Numbers, of a NUMBER or a STRING token that holds one (64-bit ids are written so): decimal, and of strings also
 * 0x. 0; -EINVAL: it is none; -ERANGE. *ret is then untouched. */
int aif_json_i64(const struct aif_json *j, int64_t *ret);
int aif_json_u64(const struct aif_json *j, uint64_t *ret); /* a negative one as its 64 bits */
/* A number of thousands (microseconds) as a whole number of units (nanoseconds), exact in decimal: "12.3456" is 12345
 * (cut, not rounded), "1.5e3" is 1500000. */
int aif_json_thousandths(const struct aif_json *j, int64_t *ret);
/* The same with another power of ten: the number times 10^shift, which is 0 to 9. */
int aif_json_decimal(const struct aif_json *j, int shift, int64_t *ret);
