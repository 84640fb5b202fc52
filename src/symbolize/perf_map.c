/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/perf_map.h"

#include <string.h>

/* Names given to wanted addresses, and bytes of names. A V8 process writes some 100,000 lines in
 * a day; each wanted address is in a few of them. */
#define WORK      (UINT64_C(1) << 26)
#define MAX_NAMES (UINT64_C(64) << 20)

void aif_perf_map_init(struct aif_perf_map *m, struct aif_perf_map_want *wants, size_t wants_len)
{
	*m = (struct aif_perf_map){.wants = wants, .wants_len = wants_len, .work = WORK};
}

void aif_perf_map_finish(struct aif_perf_map *m)
{
	aif_buf_finish(&m->names);
}

/* A number and the blank behind it. */
static bool read_number(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;
	uint64_t v = 0;

	/* perf's own reader takes "0x", too */
	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	*at = p;
	for (; p < end && *p != ' ' && *p != '\t'; p++) {
		unsigned digit = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
				 : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10
				 : *p >= 'A' && *p <= 'F' ? (unsigned)(*p - 'A') + 10
							  : 16;

		if (digit == 16 || v >> 60)
			return false;
		v = v << 4 | digit;
	}
	if (p == *at || p == end)
		return false;
	*ret = v;
	*at = p + 1;
	return true;
}

static size_t first_from(const struct aif_perf_map *m, uint64_t address)
{
	return AIF_BISECT(mid, 0, m->wants_len, m->wants[mid].address < address);
}

static bool take_line(struct aif_perf_map *m, const char *line, size_t len)
{
	const char *at = line, *end = line + len;
	size_t name = m->names.len, i;
	uint64_t lo, size;

	if (!read_number(&at, end, &lo) || !read_number(&at, end, &size) || at == end ||
	    size > UINT64_MAX - lo)
		return true;
	i = first_from(m, lo);
	if (i == m->wants_len || m->wants[i].address - lo >= size)
		return true;
	if (name + (size_t)(end - at) > MAX_NAMES)
		return false;
	aif_buf_append(&m->names, at, (size_t)(end - at));
	for (; i < m->wants_len && m->wants[i].address - lo < size; i++) {
		if (!m->work--) {
			m->work = 0;
			return false;
		}
		m->wants[i].name = name;
		m->wants[i].name_len = (size_t)(end - at);
	}
	return !aif_buf_failed(&m->names);
}

bool aif_perf_map_feed(struct aif_perf_map *m, const char *bytes, size_t len)
{
	while (len) {
		const char *end = memchr(bytes, '\n', len);
		size_t part = end ? (size_t)(end - bytes) : len,
		       room = sizeof(m->line) - m->line_len, kept = AIF_MIN(part, room);

		memcpy(m->line + m->line_len, bytes, kept);
		m->line_len += kept;
		if (!end)
			return true;
		part++;
		bytes += part;
		len -= part;
		kept = m->line_len;
		m->line_len = 0;
		if (!take_line(m, m->line, kept))
			return false;
	}
	return true;
}

void aif_perf_map_end(struct aif_perf_map *m)
{
	take_line(m, m->line, m->line_len);
	m->line_len = 0;
}
