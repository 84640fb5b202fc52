/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/values.h"

#include <string.h>
#include <strings.h>

/* Clocks of computers drift by less. */
#define DRIFT_PPM 200
/* Reports are read within less; a stamp further away is of a clock that has come around, or was set anew. */
#define FAR_NS UINT64_C(10000000000)

double aif_ze_number(const struct aif_ze_value *v)
{
	double d;

	switch (v->type) {
	case AIF_ZE_VALUE_32:
		return v->u32;
	case AIF_ZE_VALUE_64:
		return (double)v->u64;
	case AIF_ZE_VALUE_BOOL:
		return v->b8 != 0;
	case AIF_ZE_VALUE_FLOAT:
		d = (double)v->f32;
		break;
	case AIF_ZE_VALUE_DOUBLE:
		d = v->f64;
		break;
	default:
		return __builtin_nan("");
	}
	return __builtin_isfinite(d) ? d : __builtin_nan("");
}

bool aif_ze_list_next(const char **at, char *ret, size_t size)
{
	const char *s = *at + strspn(*at, ", ");
	size_t n = strcspn(s, ","), kept;

	*at = s + n;
	while (n && s[n - 1] == ' ')
		n--;
	kept = AIF_MIN(n, size - 1);
	memcpy(ret, s, kept);
	ret[kept] = '\0';
	return n > 0;
}

bool aif_ze_list_has(const char *list, const char *name)
{
	char one[256];

	while (aif_ze_list_next(&list, one, sizeof(one)))
		if (!strcasecmp(one, name))
			return true;
	return false;
}

void aif_ze_report_read(struct aif_ze_report_clock *c, uint64_t last_stamp, uint64_t now)
{
	uint64_t offset = now - last_stamp, least;

	if (c->is_set) {
		least = c->offset + (now > c->now ? (now - c->now) / 1000000 * DRIFT_PPM : 0);
		/* A greater offset than the least one means that the report was read late. */
		if (offset != least && offset - least <= FAR_NS)
			offset = least;
	}
	*c = (struct aif_ze_report_clock){.is_set = true, .now = now, .offset = offset};
}

uint64_t aif_ze_report_time(const struct aif_ze_report_clock *c, uint64_t stamp, uint64_t now)
{
	uint64_t at = stamp + c->offset;

	return at > now || now - at > FAR_NS ? now : at;
}
