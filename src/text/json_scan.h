/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <string.h>

/*
 * Looking for the next byte that matters, many at a time: 16 with SSE2, which every x86-64 has, else 8 in a word.
 * (539 MB of Kineto: 0.50 s with 32, 0.53 s with 16, 1.1 s byte by byte.) Both read past what they find, up to
 * AIF_JSON_SCAN_PADDING bytes behind the last: a buffer ends with as many zero bytes, which stop either.
 */
#define AIF_JSON_SCAN_PADDING 32

#define AIF_SWAR(c)      (UINT64_C(0x0101010101010101) * (uint8_t)(c))
#define AIF_SWAR_ZERO(x) (((x)-AIF_SWAR(1)) & ~(x)&AIF_SWAR(0x80))

/* With a word: which byte of it is the first is found by looking, whatever the byte order. */
static inline const uint8_t *aif_json_scan_string_word(const uint8_t *p)
{
	for (;; p += 8) {
		uint64_t x;

		memcpy(&x, p, 8);
		/* Less than 0x20: no bit of the upper three is set. */
		if (AIF_SWAR_ZERO(x ^ AIF_SWAR('"')) | AIF_SWAR_ZERO(x ^ AIF_SWAR('\\')) |
		    AIF_SWAR_ZERO(x & AIF_SWAR(0xe0)))
			break;
	}
	while (*p != '"' && *p != '\\' && *p >= 0x20)
		p++;
	return p;
}

static inline const uint8_t *aif_json_scan_brackets_word(const uint8_t *p)
{
	for (;; p += 8) {
		uint64_t x;

		memcpy(&x, p, 8);
		/* '[' and '{', ']' and '}' differ in one bit. */
		if (AIF_SWAR_ZERO(x ^ AIF_SWAR('"')) |
		    AIF_SWAR_ZERO((x | AIF_SWAR(0x20)) ^ AIF_SWAR('{')) |
		    AIF_SWAR_ZERO((x | AIF_SWAR(0x20)) ^ AIF_SWAR('}')) | AIF_SWAR_ZERO(x))
			break;
	}
	while (*p && *p != '"' && (*p | 0x20) != '{' && (*p | 0x20) != '}')
		p++;
	return p;
}

#ifdef __SSE2__
#include <emmintrin.h>

/* The first '"', '\' or control character. */
static inline const uint8_t *aif_json_scan_string(const uint8_t *p)
{
	const __m128i quote = _mm_set1_epi8('"'), back = _mm_set1_epi8('\\'),
		      control = _mm_set1_epi8(0x1f);

	for (;; p += 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i hit = _mm_or_si128(
			_mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, back)),
			_mm_cmpeq_epi8(_mm_min_epu8(x, control), x));
		unsigned bits = (unsigned)_mm_movemask_epi8(hit);

		if (bits)
			return p + __builtin_ctz(bits);
	}
}

/* The first '"', bracket, brace or zero byte. */
static inline const uint8_t *aif_json_scan_brackets(const uint8_t *p)
{
	const __m128i quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'),
		      close = _mm_set1_epi8('}'), bit = _mm_set1_epi8(0x20);

	for (;; p += 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i y = _mm_or_si128(x, bit);
		__m128i hit = _mm_or_si128(
			_mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(y, open)),
			_mm_or_si128(_mm_cmpeq_epi8(y, close),
				     _mm_cmpeq_epi8(x, _mm_setzero_si128())));
		unsigned bits = (unsigned)_mm_movemask_epi8(hit);

		if (bits)
			return p + __builtin_ctz(bits);
	}
}
#else
#define aif_json_scan_string   aif_json_scan_string_word
#define aif_json_scan_brackets aif_json_scan_brackets_word
#endif
