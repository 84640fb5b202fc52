/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "text/json_reader.h"
#include "text/json_scan.h"

/*
 * The common cases of aif_json_next() and aif_json_skip() inside of an object, for callers that read millions of them
 * (a trace has 27 tokens an event; these take half the time). Whatever is not common, the end of the buffer among it, is
 * left to them, untouched. Not for strict readers.
 */

/* In an object, where a key or its end comes next. */
static inline enum aif_json_token aif_json_key(struct aif_json *j)
{
	const uint8_t *p = j->at, *q;

	if (j->state == AIF_JSON_COMMA_OR_CLOSE) {
		if (aif_unlikely(*p != ','))
			return aif_json_next(j);
		p++;
	} else if (aif_unlikely(j->state != AIF_JSON_KEY_OR_CLOSE)) {
		return aif_json_next(j);
	}
	while (*p == ' ' || *p == '\n')
		p++;
	if (aif_unlikely(*p != '"'))
		return aif_json_next(j);
	q = aif_json_scan_string(++p);
	if (aif_unlikely(*q != '"' || q[1] != ':'))
		return aif_json_next(j);
	j->text = p;
	j->len = (size_t)(q - p);
	j->escaped = false;
	j->at = (uint8_t *)(uintptr_t)q + 2;
	j->state = AIF_JSON_VALUE;
	return AIF_JSON_KEY;
}

static inline bool aif_json_is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* Reads the value behind such a key. */
static inline enum aif_json_token aif_json_value(struct aif_json *j)
{
	const uint8_t *p = j->at, *q;
	enum aif_json_token t;

	p += *p == ' ';
	if (*p == '"') {
		q = aif_json_scan_string(++p);
		if (aif_unlikely(*q != '"'))
			return aif_json_next(j);
		j->len = (size_t)(q - p);
		q++;
		t = AIF_JSON_STRING;
	} else if (aif_json_is_digit(*p)) {
		for (q = p; aif_json_is_digit(*q) || *q == '.';)
			q++;
		/* An exponent, or the end of the buffer. */
		if (aif_unlikely(*q != ',' && *q != '\n' && *q != '}' && *q != ' '))
			return aif_json_next(j);
		j->len = (size_t)(q - p);
		t = AIF_JSON_NUMBER;
	} else {
		return aif_json_next(j);
	}
	j->text = p;
	j->escaped = false;
	j->at = (uint8_t *)(uintptr_t)q;
	j->state = AIF_JSON_COMMA_OR_CLOSE;
	return t;
}

/* The same, of which nothing is wanted. */
static inline bool aif_json_pass(struct aif_json *j)
{
	uint8_t c = j->at[*j->at == ' '];

	return (c == '"' || aif_json_is_digit(c) ? aif_json_value(j) : aif_json_skip(j)) !=
	       AIF_JSON_ERROR;
}
