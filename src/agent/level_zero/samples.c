/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/samples.h"

#include "base/hash.h"

#include <ctype.h>
#include <string.h>

/* A fuller table is slow. */
#define FULL (AIF_ZE_SUMS / 4 * 3)
/* Each XeCore's buffer has room for 8192 records. */
#define READ_RECORDS 4096
#define READ_MIN_NS  (5 * 1000 * 1000)
/* Longest interval, even if the driver reports a longer period. */
#define READ_MAX_NS (20 * 1000 * 1000)
/* Bits of an address without the lowest three, which are always 0. */
#define IP_BITS 61

void aif_ze_sums_clear(struct aif_ze_sums *s)
{
	for (size_t i = 0; i < AIF_ZE_SUMS && s->len; i++)
		if (s->at[i].used) {
			s->at[i] = (struct aif_ze_sum){.ip = 0};
			s->len--;
		}
	s->samples = s->bad = 0;
}

/* False: it is no number of events. */
static bool number(const struct aif_ze_value *v, uint64_t *ret)
{
	double d;

	switch (v->type) {
	case AIF_ZE_VALUE_32:
		*ret = v->u32;
		return true;
	case AIF_ZE_VALUE_64:
		*ret = v->u64;
		return true;
	case AIF_ZE_VALUE_BOOL:
		*ret = v->b8 != 0;
		return true;
	case AIF_ZE_VALUE_FLOAT:
	case AIF_ZE_VALUE_DOUBLE:
		d = v->type == AIF_ZE_VALUE_FLOAT ? (double)v->f32 : v->f64;
		if (!(d >= 0 && d < 18446744073709549568.0))
			return false;
		*ret = (uint64_t)d;
		return true;
	default:
		return false;
	}
}

static struct aif_ze_sum *sum_of(struct aif_ze_sums *s, uint64_t ip)
{
	size_t i = aif_mix64(ip) % AIF_ZE_SUMS;

	while (s->at[i].used && s->at[i].ip != ip)
		i = (i + 1) % AIF_ZE_SUMS;
	return &s->at[i];
}

struct row {
	uint64_t ip, all;
	uint32_t counts[AIF_ZE_REASONS_MAX];
};

static bool row_read(const struct aif_ze_layout *l, const struct aif_ze_value *values,
		     struct row *ret)
{
	uint64_t n;

	*ret = (struct row){.ip = 0};
	if (!number(&values[l->ip], &ret->ip) || ret->ip >> IP_BITS)
		return false;
	for (uint32_t k = 0; k < l->metrics; k++) {
		if (l->reason[k] == AIF_ZE_NO_REASON)
			continue;
		/* The hardware counts to 255, drivers add up what they have read. */
		if (!number(&values[k], &n) || n > UINT32_MAX / AIF_ZE_METRICS_MAX)
			return false;
		ret->counts[l->reason[k]] += (uint32_t)n;
		ret->all += n;
	}
	return true;
}

size_t aif_ze_sums_add(struct aif_ze_sums *s, const struct aif_ze_layout *l,
		       const struct aif_ze_value *values, size_t n)
{
	size_t at = 0;

	for (; l->metrics && n - at >= l->metrics; at += l->metrics) {
		struct aif_ze_sum *sum;
		struct row row;

		if (!row_read(l, values + at, &row)) {
			s->bad++;
			continue;
		}
		if (!row.all)
			continue;
		sum = sum_of(s, row.ip);
		if ((!sum->used && s->len >= FULL) || s->samples + row.all > UINT32_MAX)
			break;
		s->len += !sum->used;
		sum->used = true;
		sum->ip = row.ip;
		for (unsigned k = 0; k < AIF_ZE_REASONS_MAX; k++)
			sum->counts[k] += row.counts[k];
		s->samples += row.all;
	}
	return at;
}

/* ---- names --------------------------------------------------------------------------------------- */

/* Without what is between words, and the word that they all end with. */
static size_t letters(const char *name, char ret[32])
{
	static const char tail[] = "stall";
	size_t n = 0, tail_len = sizeof(tail) - 1;

	for (; *name && n < 31; name++)
		if (isalnum((unsigned char)*name))
			ret[n++] = (char)tolower((unsigned char)*name);
	if (n > tail_len && !*name && !memcmp(ret + n - tail_len, tail, tail_len) &&
	    (n != tail_len + 4 || memcmp(ret, "pipe", 4)))
		n -= tail_len;
	ret[n] = '\0';
	return n;
}

const char *aif_ze_stall_name(const char *metric)
{
	/* In the driver's spelling, and in that of its documentation. */
	static const char *const names[][2] = {
		{"active", "active"},
		{"psdep", "tdr"},
		{"tdr", "tdr"},
		{"control", "control"},
		{"pipestall", "pipestall"},
		{"send", "send"},
		{"dist", "dist_acc"},
		{"distacc", "dist_acc"},
		{"distoracc", "dist_acc"},
		{"sbid", "sbid"},
		{"scoreboardid", "sbid"},
		{"sync", "sync"},
		{"instrfetch", "inst_fetch"},
		{"instfetch", "inst_fetch"},
		{"other", "other"},
	};
	char text[32];

	letters(metric, text);
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		if (!strcmp(text, names[i][0]))
			return names[i][1];
	return metric;
}

uint64_t aif_ze_read_interval(uint64_t period_ns)
{
	uint64_t ns = AIF_MIN(period_ns, (uint64_t)READ_MAX_NS) * READ_RECORDS;

	return AIF_MAX(AIF_MIN(ns, (uint64_t)READ_MAX_NS), (uint64_t)READ_MIN_NS);
}
