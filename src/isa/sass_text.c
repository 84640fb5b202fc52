/* SPDX-License-Identifier: Apache-2.0 */
#include "isa/sass_text.h"

#include <string.h>

struct span {
	const char *at, *end;
};

static struct span trim(struct span s)
{
	while (s.at < s.end && (*s.at == ' ' || *s.at == '\t'))
		s.at++;
	while (s.at < s.end && (s.end[-1] == ' ' || s.end[-1] == '\t' || s.end[-1] == '\r'))
		s.end--;
	return s;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* The offset that a line begins with; moves behind it. */
static bool take_offset(struct span *s, uint64_t *ret)
{
	uint64_t v = 0;
	const char *p = s->at;

	if (s->end - p < 5 || p[0] != '/' || p[1] != '*')
		return false;
	for (p += 2; p < s->end && hex_digit(*p) >= 0; p++) {
		if (v >> 60)
			return false;
		v = v << 4 | (uint64_t)hex_digit(*p);
	}
	if (s->end - p < 2 || p[0] != '*' || p[1] != '/')
		return false;
	s->at = p + 2;
	*ret = v;
	return true;
}

static struct span one_line(const char **at, const char *end)
{
	struct span s = {*at, memchr(*at, '\n', (size_t)(end - *at))};

	if (!s.end)
		s.end = end;
	*at = s.end < end ? s.end + 1 : end;
	return trim(s);
}

size_t aif_sass_listing(const char *text, size_t len, unsigned unit, struct aif_sass_line *ret,
			size_t n)
{
	const char *at = text, *end = text + len;
	size_t found = 0;

	memset(ret, 0, n * sizeof(*ret));
	while (at < end) {
		struct span s = one_line(&at, end);
		uint64_t offset;
		const char *stop;

		if (!take_offset(&s, &offset) || offset % unit || offset / unit >= n)
			continue;
		/* the last: Intel's operands may have some too */
		stop = memrchr(s.at, ';', (size_t)(s.end - s.at));
		if (stop)
			s.end = stop;
		s = trim(s);
		if (s.at == s.end)
			continue;
		found += !ret[offset / unit].text;
		ret[offset / unit] = (struct aif_sass_line){s.at, (size_t)(s.end - s.at)};
	}
	return found;
}
