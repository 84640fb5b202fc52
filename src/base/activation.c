/* SPDX-License-Identifier: Apache-2.0 */
#include "base/activation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_S 86400

static bool digits(const char **text, unsigned most, unsigned *ret)
{
	const char *at = *text;

	*ret = 0;
	for (; *at >= '0' && *at <= '9' && at < *text + 2; at++)
		*ret = *ret * 10 + (unsigned)(*at - '0');
	if (at != *text + 2 || *ret > most)
		return false;
	*text = at;
	return true;
}

/* Finds the next moment of a time of the day. */
static int next_time(const char *text, uint64_t now, uint64_t *ret)
{
	time_t seconds = (time_t)(now / AIF_NS_PER_S), at;
	unsigned hour, minute, second = 0;
	struct tm tm;

	if (!digits(&text, 23, &hour) || *text++ != ':' || !digits(&text, 59, &minute))
		return -EINVAL;
	if (*text && (*text++ != ':' || !digits(&text, 59, &second) || *text))
		return -EINVAL;
	for (unsigned day = 0; day < 3; day++) {
		if (!localtime_r(&seconds, &tm))
			return -EINVAL;
		tm.tm_mday += (int)day;
		tm.tm_hour = (int)hour;
		tm.tm_min = (int)minute;
		tm.tm_sec = (int)second;
		tm.tm_isdst = -1;
		at = mktime(&tm);
		if (at > 0 && (uint64_t)at * AIF_NS_PER_S > now) {
			*ret = (uint64_t)at * AIF_NS_PER_S;
			return 0;
		}
	}
	return -EINVAL;
}

/* Reads "10", "10s", "500ms", "2m", "1h". */
static int period(const char *text, uint64_t *ret)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {{"", AIF_NS_PER_S},
		     {"s", AIF_NS_PER_S},
		     {"ms", AIF_NS_PER_S / 1000},
		     {"m", 60 * AIF_NS_PER_S},
		     {"h", 3600 * AIF_NS_PER_S}};
	unsigned long n;
	char *end;

	if (*text < '1' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoul(text, &end, 10);
	for (size_t i = 0; i < AIF_ARRAY_LEN(units) && !errno; i++)
		if (!strcmp(end, units[i].unit) && n <= DAY_S * AIF_NS_PER_S / units[i].ns) {
			*ret = n * units[i].ns;
			return *ret < AIF_NS_PER_S / 10 ? -EINVAL : 0;
		}
	return -EINVAL;
}

int aif_activation_parse(const char *text, uint64_t now, struct aif_activation *ret)
{
	struct aif_activation a = {0};
	unsigned long long seconds;
	char *end;
	int r;

	if (*text == '/') {
		r = period(text + 1, &a.every_ns);
	} else if (*text == '@') {
		errno = 0;
		seconds = text[1] >= '1' && text[1] <= '9' ? strtoull(text + 1, &end, 10) : 0;
		if (!seconds || errno || *end || seconds > UINT64_MAX / AIF_NS_PER_S)
			return -EINVAL;
		a.at_ns = seconds * AIF_NS_PER_S;
		r = a.at_ns <= now ? -ERANGE : 0;
	} else {
		r = next_time(text, now, &a.at_ns);
	}
	if (!r)
		*ret = a;
	return r;
}

bool aif_activation_look(const struct aif_activation *a, uint64_t now, uint64_t *due,
			 bool *ret_is_new)
{
	const uint64_t was = *due;
	bool is_time;

	if (!a->every_ns)
		*due = a->at_ns;
	else if (!*due || *due > now + a->every_ns || now > *due + AIF_ACTIVATION_LATE_NS)
		*due = now - now % a->every_ns + a->every_ns;
	is_time = now >= *due;
	*ret_is_new = *due != was;
	return is_time;
}
