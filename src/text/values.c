/* SPDX-License-Identifier: Apache-2.0 */
#include "text/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Reads digits with an optional fraction as a count of 1/1,000,000,000; stops at the unit. */
static int read_decimal(const char **s, unsigned __int128 *ret_nano)
{
	const char *p = *s;
	unsigned __int128 n = 0;
	uint64_t place = AIF_NS_PER_S;
	bool digits = false;

	for (; isdigit((unsigned char)*p); p++, digits = true) {
		n = n * 10 + (unsigned)(*p - '0');
		if (n > UINT64_MAX)
			return -EINVAL;
	}
	n *= AIF_NS_PER_S;
	if (*p == '.') {
		for (p++; isdigit((unsigned char)*p); p++, digits = true) {
			place /= 10;
			n += place * (unsigned)(*p - '0');
		}
	}
	if (!digits)
		return -EINVAL;
	*s = p;
	*ret_nano = n;
	return 0;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static int read_with_unit(const char *s, const struct unit *units, uint64_t *ret)
{
	unsigned __int128 nano;

	if (read_decimal(&s, &nano) < 0)
		return -EINVAL;
	for (const struct unit *u = units; u->name; u++) {
		unsigned __int128 v;

		if (strcmp(s, u->name))
			continue;
		if (u->factor && nano > ~(unsigned __int128)0 / u->factor)
			return -EINVAL;
		v = nano * u->factor / AIF_NS_PER_S;
		if (v > UINT64_MAX)
			return -EINVAL;
		*ret = (uint64_t)v;
		return 0;
	}
	return -EINVAL;
}

int aif_parse_time(const char *s, uint64_t *ret_ns)
{
	static const struct unit units[] = {
		{"", AIF_NS_PER_S},
		{"s", AIF_NS_PER_S},
		{"ms", 1000000},
		{"us", 1000},
		{"ns", 1},
		{"m", 60 * AIF_NS_PER_S},
		{"h", 3600 * AIF_NS_PER_S},
		{NULL, 0},
	};

	return read_with_unit(s, units, ret_ns);
}

int aif_parse_bytes(const char *s, uint64_t *ret)
{
	static const struct unit units[] = {
		{"", 1},
		{"K", UINT64_C(1) << 10},
		{"M", UINT64_C(1) << 20},
		{"G", UINT64_C(1) << 30},
		{"T", UINT64_C(1) << 40},
		{NULL, 0},
	};

	return read_with_unit(s, units, ret);
}

int aif_parse_count(const char *s, uint32_t *ret)
{
	uint64_t n = 0;

	if (!*s)
		return -EINVAL;
	for (; *s; s++) {
		if (!isdigit((unsigned char)*s))
			return -EINVAL;
		n = n * 10 + (unsigned)(*s - '0');
		if (n > UINT32_MAX)
			return -EINVAL;
	}
	*ret = (uint32_t)n;
	return 0;
}

int aif_parse_percent(const char *s, uint32_t *ret_ppm)
{
	unsigned __int128 nano;

	if (read_decimal(&s, &nano) < 0 || (*s && strcmp(s, "%")) ||
	    nano > 100 * (unsigned __int128)AIF_NS_PER_S)
		return -EINVAL;
	*ret_ppm = (uint32_t)(nano / 100000);
	return 0;
}

/* "step:3", "steps:3-5" */
static int parse_steps(const char *s, struct aif_run_part *ret)
{
	struct aif_run_part span = {.part = AIF_PART_STEPS};
	const char *dash = strchr(s, '-');
	char first[16];
	int r;

	if (!strncmp(s, "step:", 5)) {
		r = aif_parse_count(s + 5, &span.first);
		span.last = span.first;
	} else {
		s += strlen("steps:");
		if (!dash || dash < s || (size_t)(dash - s) >= sizeof(first))
			return -EINVAL;
		memcpy(first, s, (size_t)(dash - s));
		first[dash - s] = '\0';
		r = aif_parse_count(first, &span.first);
		if (!r)
			r = aif_parse_count(dash + 1, &span.last);
	}
	if (r < 0 || !span.first)
		return -EINVAL;
	if (span.last < span.first)
		return -ERANGE;
	*ret = span;
	return 0;
}

/* Parts by their names. */
static bool parse_part(const char *s, struct aif_run_part *ret)
{
	static const struct {
		const char *name;
		enum aif_part part;
	} parts[] = {
		{"startup", AIF_PART_STARTUP},
		{"loop", AIF_PART_LOOP},
		{"tail", AIF_PART_TAIL},
		{"all", AIF_PART_ALL},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(parts); i++)
		if (!strcmp(s, parts[i].name)) {
			*ret = (struct aif_run_part){.part = parts[i].part};
			return true;
		}
	return false;
}

int aif_parse_span(const char *s, struct aif_run_part *ret)
{
	struct aif_run_part span = {0};
	const char *comma = strchr(s, ',');
	char from[64];

	if (parse_part(s, ret))
		return 0;
	if (!strncmp(s, "step:", 5) || !strncmp(s, "steps:", 6))
		return parse_steps(s, ret);
	if (!comma || (size_t)(comma - s) >= sizeof(from))
		return -EINVAL;
	memcpy(from, s, (size_t)(comma - s));
	from[comma - s] = '\0';
	if (from[0] && aif_parse_time(from, &span.from_ns) < 0)
		return -EINVAL;
	if (comma[1] && aif_parse_time(comma + 1, &span.to_ns) < 0)
		return -EINVAL;
	/* An empty span would read as "everything". */
	if (comma[1] && span.to_ns <= span.from_ns)
		return span.to_ns < span.from_ns ? -ERANGE : -EINVAL;
	*ret = span;
	return 0;
}

int aif_parse_cpus(const char *who, const char *list, cpu_set_t *ret, struct aif_err *err)
{
	const char *at = list;

	CPU_ZERO(ret);
	while (*at) {
		char *end;
		unsigned long from = strtoul(at, &end, 10), to = from;

		if (end != at && isdigit((unsigned char)*at) && *end == '-') {
			at = end + 1;
			to = strtoul(at, &end, 10);
		}
		if (end == at || !isdigit((unsigned char)*at) || (*end && *end != ',') ||
		    from > to || to >= CPU_SETSIZE)
			return aif_err_set(err, -EINVAL,
					   "%s: --cpus: '%s' is no list of CPUs; give one as 0-3,8",
					   who, list);
		for (unsigned long i = from; i <= to; i++)
			CPU_SET(i, ret);
		at = end + (*end == ',');
	}
	return 0;
}

void aif_iso_time_now(struct aif_buf *out)
{
	struct timespec now;
	char text[32] = "";
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	if (gmtime_r(&now.tv_sec, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	aif_buf_printf(out, "%s.%06ld+00:00", text, now.tv_nsec / 1000);
}
