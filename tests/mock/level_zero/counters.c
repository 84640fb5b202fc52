/* SPDX-License-Identifier: Apache-2.0 */
#include "counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The simulated driver's performance counters: groups that can be streamed and have no instructions' addresses.
 *
 * ZE_MOCK_COUNTERS=SCRIPT: lines "DEVICE STAMP METRIC=VALUE ...", or "DEVICE drop": reports, which are there as soon as
 * the streamer is open. It makes ZE_MOCK_STALLS's SCRIPT.counting.DEVICE, in which its period is, and SCRIPT.counted.DEVICE
 * when it has given all.
 *
 * ZE_MOCK's words: no_counters (no such group), counters_alone (not beside stalls), counters_denied, counters_busy (twice),
 * counters_fail (to be read), no_stamps, counters_tiles (each report is of two tiles, of which the second has one more of
 * everything).
 */
enum { MOST = 7, REPORTS = 4000 };

static const struct kind {
	const char *name, *units;
	zet_metric_type_t type;
	zet_value_type_t result;
} kinds[][MOST] = {
	{{"QueryBeginTime", "ns", ZET_METRIC_TYPE_TIMESTAMP, ZET_VALUE_TYPE_UINT64},
	 {"GpuBusy", "percent", ZET_METRIC_TYPE_RATIO, ZET_VALUE_TYPE_FLOAT32},
	 {"GpuMemoryByteRead", "bytes", ZET_METRIC_TYPE_THROUGHPUT, ZET_VALUE_TYPE_UINT64}},
	{{"GpuTime", "ns", ZET_METRIC_TYPE_DURATION, ZET_VALUE_TYPE_UINT64},
	 {"GpuBusy", "percent", ZET_METRIC_TYPE_RATIO, ZET_VALUE_TYPE_FLOAT32},
	 {"AvgGpuCoreFrequencyMHz", "MHz", ZET_METRIC_TYPE_EVENT, ZET_VALUE_TYPE_UINT32},
	 {"QueryBeginTime", "ns", ZET_METRIC_TYPE_TIMESTAMP, ZET_VALUE_TYPE_UINT64},
	 {"XveActive", "percent", ZET_METRIC_TYPE_RATIO, ZET_VALUE_TYPE_FLOAT64},
	 {"StreamMarker", "", ZET_METRIC_TYPE_RAW, ZET_VALUE_TYPE_UINT32},
	 {"Stalled", "", ZET_METRIC_TYPE_FLAG, ZET_VALUE_TYPE_BOOL8}},
};
static const char *const names[] = {"MemoryProfile", "ComputeBasic"};

static struct mock_counters {
	const struct kind *kinds;
	const char *name;
	unsigned metrics;
} groups[2];

struct report { /* as the hardware's, of whatever size */
	uint64_t stamp;
	double values[MOST];
	uint32_t drop, zero;
};

static struct stream {
	struct mock_counters *group;
	int open, over;
	unsigned device, at, len;
	struct report reports[REPORTS];
} streams[2];

int mock_counters_groups(void)
{
	for (unsigned i = 0; i < 2; i++) {
		groups[i] = (struct mock_counters){kinds[i], names[i], 0};
		while (groups[i].metrics < MOST && kinds[i][groups[i].metrics].name)
			groups[i].metrics++;
	}
	return mock_has("no_counters") ? 0 : 2;
}

void *mock_counters_group(unsigned i)
{
	return &groups[i];
}

int mock_counters_is(const void *h)
{
	return h == &groups[0] || h == &groups[1] || h == &streams[0] || h == &streams[1] ||
	       ((const char *)h >= (const char *)kinds &&
		(const char *)h < (const char *)kinds + sizeof(kinds));
}

void mock_counters_properties(const void *group, zet_metric_group_properties_t *p)
{
	const struct mock_counters *g = group;

	snprintf(p->name, sizeof(p->name), "%s", g->name);
	snprintf(p->description, sizeof(p->description), "what %s\tis\nfor", g->name);
	p->samplingType = ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED;
	if (g == &groups[1])
		p->samplingType |= ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED;
	p->domain = (uint32_t)(g - groups) + 1;
	p->metricCount = g->metrics;
}

void mock_counters_metrics(const void *group, uint32_t *n, zet_metric_handle_t *to)
{
	const struct mock_counters *g = group;

	*n = to && *n < g->metrics ? *n : g->metrics;
	for (uint32_t i = 0; to && i < *n; i++)
		to[i] = (void *)&g->kinds[i];
}

void mock_counters_metric(const void *metric, zet_metric_properties_t *p)
{
	const struct kind *k = metric;

	snprintf(p->name, sizeof(p->name), "%s", k->name);
	snprintf(p->description, sizeof(p->description), "%s of the GPU", k->name);
	snprintf(p->resultUnits, sizeof(p->resultUnits), "%s", k->units);
	p->metricType = k->type;
	p->resultType = k->result;
}

void mock_counters_report(unsigned base, size_t *size, uint8_t *to)
{
	struct report r = {.stamp = base};

	for (unsigned i = 0; i < MOST; i++)
		r.values[i] = base + i;
	if (to && *size >= sizeof(r))
		memcpy(to, &r, sizeof(r));
	*size = sizeof(r);
}

/* ---- the streamer ---- */

static void read_script(struct stream *s)
{
	const char *path = getenv("ZE_MOCK_COUNTERS");
	FILE *f = path ? fopen(path, "r") : NULL;
	char line[512];

	s->len = s->at = 0;
	while (f && fgets(line, sizeof(line), f) && s->len < REPORTS) {
		char *save, *word = strtok_r(line, " \n", &save);
		struct report *r = &s->reports[s->len];

		if (!word || strtoul(word, NULL, 10) != s->device)
			continue;
		memset(r, 0, sizeof(*r));
		word = strtok_r(NULL, " \n", &save);
		r->drop = word && !strcmp(word, "drop");
		r->stamp = word ? strtoull(word, NULL, 10) : 0;
		while ((word = strtok_r(NULL, " \n", &save)))
			for (unsigned i = 0; i < s->group->metrics; i++) {
				size_t n = strlen(s->group->kinds[i].name);

				if (!strncmp(word, s->group->kinds[i].name, n) && word[n] == '=')
					r->values[i] = strtod(word + n + 1, NULL);
			}
		s->len++;
	}
	if (f)
		fclose(f);
}

ze_result_t mock_counters_open(unsigned device, void *group, zet_metric_streamer_desc_t *desc,
			       zet_metric_streamer_handle_t *ret)
{
	struct stream *s = &streams[device];
	static int busy = 2;

	if (mock_has("counters_denied"))
		return ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS;
	if (s->open || (mock_has("counters_busy") && busy && busy--))
		return ZE_RESULT_ERROR_NOT_AVAILABLE;
	*s = (struct stream){.open = 1, .device = device, .group = group};
	read_script(s);
	mock_say("counting", device, desc->samplingPeriod);
	*ret = (void *)s;
	return ZE_RESULT_SUCCESS;
}

void mock_counters_close(void *h)
{
	((struct stream *)h)->open = 0;
}

ze_result_t mock_counters_read(void *h, size_t *size, uint8_t *to)
{
	struct stream *s = h;
	size_t n = 0;

	if (!s->open)
		abort();
	if (mock_has("counters_fail"))
		return ZE_RESULT_ERROR_DEVICE_LOST;
	while (s->at + n < s->len && !s->reports[s->at + n].drop &&
	       (n + 1) * sizeof(s->reports[0]) <= *size)
		n++;
	*size = n * sizeof(s->reports[0]);
	if (n)
		memcpy(to, &s->reports[s->at], *size);
	s->at += (unsigned)n;
	if (!n && s->at < s->len) {
		s->at++;
		return ZE_RESULT_WARNING_DROPPED_DATA;
	}
	if (!n && !s->over) {
		s->over = 1;
		mock_say("counted", s->device, 0);
	}
	return ZE_RESULT_SUCCESS;
}

static void value_of(const struct kind *k, const struct report *r, double v, zet_typed_value_t *to)
{
	to->type = k->result;
	if (k->type == ZET_METRIC_TYPE_TIMESTAMP && !mock_has("no_stamps"))
		to->value.ui64 = r->stamp;
	else if (k->result == ZET_VALUE_TYPE_FLOAT32)
		to->value.fp32 = (float)v;
	else if (k->result == ZET_VALUE_TYPE_FLOAT64)
		to->value.fp64 = v;
	else if (k->result == ZET_VALUE_TYPE_UINT32)
		to->value.ui32 = (uint32_t)v;
	else if (k->result == ZET_VALUE_TYPE_BOOL8)
		to->value.b8 = v != 0;
	else
		to->value.ui64 = (uint64_t)v;
	if (k->type == ZET_METRIC_TYPE_TIMESTAMP && mock_has("no_stamps"))
		to->type = ZET_VALUE_TYPE_FLOAT64;
}

ze_result_t mock_counters_calculate(const void *group, size_t size, const uint8_t *raw,
				    uint32_t *sets, uint32_t *n, uint32_t *counts,
				    zet_typed_value_t *values)
{
	const struct mock_counters *g = group;
	uint32_t of = mock_has("counters_tiles") ? 2 : 1, at = 0,
		 reports = (uint32_t)(size / sizeof(struct report));
	struct report r;

	if (!*sets || !values) {
		*sets = of;
		*n = of * reports * g->metrics;
		return ZE_RESULT_SUCCESS;
	}
	for (uint32_t k = 0; k < of; k++) {
		counts[k] = reports * g->metrics;
		for (uint32_t i = 0; i < reports; i++) {
			memcpy(&r, raw + i * sizeof(r), sizeof(r));
			for (uint32_t m = 0; m < g->metrics && at < *n; m++)
				value_of(&g->kinds[m], &r, r.values[m] + k, &values[at++]);
		}
	}
	return ZE_RESULT_SUCCESS;
}
