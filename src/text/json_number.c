/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json_reader.h"

#include <errno.h>

/* A double has 53 bits, which are too few for ids of 64, and for nanoseconds since 1970: all of this is decimal. */

struct decimal {
	uint64_t whole; /* of the digits before the point */
	bool negative;
	const uint8_t *at, *end; /* what follows them */
};

static int digits(const struct aif_json *j, struct decimal *d)
{
	const uint8_t *p = j->text, *end = p + j->len, *first;
	uint64_t v = 0;

	d->negative = p < end && *p == '-';
	p += d->negative;
	first = p;
	if (aif_likely(end - p <= 18)) /* it has room for them */
		for (; p < end && *p >= '0' && *p <= '9'; p++)
			v = v * 10 + (uint64_t)(*p - '0');
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v))
			return -ERANGE;
	if (p == first)
		return -EINVAL;
	d->whole = v;
	d->at = p;
	d->end = end;
	return 0;
}

static int hex(const struct aif_json *j, uint64_t *ret)
{
	uint64_t v = 0;

	if (j->len < 3 || j->text[0] != '0' || j->text[1] != 'x')
		return -EINVAL;
	if (j->len > 18)
		return -ERANGE;
	for (size_t i = 2; i < j->len; i++) {
		uint8_t c = j->text[i], l = c | 0x20;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (l >= 'a' && l <= 'f')
			v = v << 4 | (uint64_t)(l - 'a' + 10);
		else
			return -EINVAL;
	}
	*ret = v;
	return 0;
}

/* With a fraction or an exponent: times 10^shift, cut. */
int aif_json_decimal(const struct aif_json *j, int shift, int64_t *ret)
{
	struct decimal d;
	int r = digits(j, &d), exponent = 0;
	uint64_t v;
	const uint8_t *p, *fraction, *fraction_end;

	if (r < 0)
		return r;
	v = d.whole;
	p = fraction = fraction_end = d.at;
	if (p < d.end && *p == '.') {
		fraction = ++p;
		while (p < d.end && *p >= '0' && *p <= '9')
			p++;
		fraction_end = p;
	}
	if (p < d.end && (*p | 0x20) == 'e') {
		bool minus;

		p++;
		minus = p < d.end && *p == '-';
		p += p < d.end && (*p == '-' || *p == '+');
		if (p == d.end)
			return -EINVAL;
		for (; p < d.end && *p >= '0' && *p <= '9'; p++)
			exponent = AIF_MIN(exponent * 10 + (*p - '0'), 10000);
		shift += minus ? -exponent : exponent;
	}
	if (p != d.end)
		return -EINVAL;
	for (; shift > 0; shift--) {
		unsigned digit = fraction < fraction_end ? (unsigned)(*fraction++ - '0') : 0;

		if (!v && !digit && fraction == fraction_end)
			break;
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
			return -ERANGE;
	}
	for (; shift < 0 && v; shift++)
		v /= 10;
	if (v > INT64_MAX)
		return -ERANGE;
	*ret = d.negative ? -(int64_t)v : (int64_t)v;
	return 0;
}

int aif_json_thousandths(const struct aif_json *j, int64_t *ret)
{
	return aif_json_decimal(j, 3, ret);
}

int aif_json_u64(const struct aif_json *j, uint64_t *ret)
{
	struct decimal d;
	int64_t thousandths;
	int r;

	if (aif_unlikely(j->len > 2 && j->text[1] == 'x')) {
		r = hex(j, ret);
		if (r != -EINVAL)
			return r;
	}
	r = digits(j, &d);
	if (r < 0)
		return r;
	if (d.at != d.end) { /* 7.0 is 7 */
		r = aif_json_thousandths(j, &thousandths);
		if (r < 0)
			return r;
		*ret = (uint64_t)(thousandths / 1000);
		return 0;
	}
	*ret = d.negative ? -d.whole : d.whole;
	return 0;
}

int aif_json_i64(const struct aif_json *j, int64_t *ret)
{
	uint64_t v;
	int r = aif_json_u64(j, &v);

	if (r < 0)
		return r;
	if (j->len && j->text[0] != '-' && v > INT64_MAX)
		return -ERANGE;
	*ret = (int64_t)v;
	return 0;
}
