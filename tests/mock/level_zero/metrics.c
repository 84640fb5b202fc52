/* SPDX-License-Identifier: Apache-2.0 */
#include "counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The simulated driver's metrics, with ZET_ENABLE_METRICS=1 only, as Intel's (without it on top of that): groups of which one can be streamed and
 * has instructions' addresses. It is not the first one, nor has it the name that another one has; its metrics have an
 * order of their own, and one of them is new.
 *
 * ZE_MOCK_STALLS=SCRIPT: lines "DEVICE ADDRESS METRIC=N ...", or "DEVICE drop". A streamer makes SCRIPT.open.DEVICE, in
 * which its period is (groups are asked for: SCRIPT.asked.DEVICE), gives all of its lines when SCRIPT.go.0 is there, and makes SCRIPT.done.DEVICE when it has none
 * left.
 *
 * ZE_MOCK's words: no_metrics (no such group), groups_fail (they are counted, but not listed), other_order (of groups), metrics_denied, metrics_busy (twice),
 * metrics_odd (an error that nobody has heard of), read_fails, read_hangs (for ever), calculate_fails, one_set (no function for several sets),
 * drops_in_records, two_sets (as of a device with tiles).
 */
void mock_fill_metrics(const char *name, void *at);
unsigned mock_device(const void *device);

enum { METRICS = 13, IP = 3, TIME = 12, RECORDS = 12000, GROUPS = 4 };

static const char *const names[METRICS] = {
	"Active",     "PSDepStall",  "ControlStall", "IP",        "PipeStall",
	"SendStall",  "DistStall",   "SbidStall",    "SyncStall", "InstrFetchStall",
	"OtherStall", "BubbleStall", "GpuTime"};

struct record { /* as the hardware's, 64 bytes */
	uint64_t ip;
	uint32_t counts[METRICS];
	uint32_t drop;
};
_Static_assert(sizeof(struct record) == 64, "64 bytes");

static struct group {
	const char *name;
	uint32_t sampling;
	int has_ip;
	struct metric {
		struct group *group;
		unsigned index;
	} metrics[METRICS];
} groups[GROUPS] = {
	{.name = "RenderBasic", .sampling = ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED},
	{.name = "EuStallQuery",
	 .sampling = ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED,
	 .has_ip = 1},
	{.name = "EuStallSampling", .sampling = ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED},
	{.name = "EU stalls",
	 .sampling = ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED,
	 .has_ip = 1},
};

static struct streamer {
	int open;
	unsigned device, at, len;
	int over;
	struct record records[RECORDS];
} streamers[2];

static void path_of(const char *what, unsigned device, char path[512])
{
	const char *script = getenv("ZE_MOCK_STALLS");

	snprintf(path, 512, "%s.%s.%u", script ? script : "/nowhere", what, device);
}

void mock_say(const char *what, unsigned device, uint32_t number)
{
	char path[512], part[520];
	FILE *f;

	path_of(what, device, path);
	snprintf(part, sizeof(part), "%s.part", path);
	f = fopen(part, "w");
	if (!f)
		return;
	fprintf(f, "%u\n", number);
	fclose(f);
	rename(part, path);
}

static int may_go(void)
{
	char path[512];

	path_of("go", 0, path);
	return access(path, F_OK) == 0;
}

static void read_script(struct streamer *s)
{
	const char *path = getenv("ZE_MOCK_STALLS");
	FILE *f = path ? fopen(path, "r") : NULL;
	char line[512];

	s->len = s->at = 0;
	while (f && fgets(line, sizeof(line), f) && s->len < RECORDS) {
		char *save, *word = strtok_r(line, " \n", &save);
		struct record *r = &s->records[s->len];

		if (!word || strtoul(word, NULL, 10) != s->device)
			continue;
		memset(r, 0, sizeof(*r));
		word = strtok_r(NULL, " \n", &save);
		r->drop = word && !strcmp(word, "drop");
		r->ip = word && !r->drop ? strtoull(word, NULL, 16) >> 3 : 0;
		while ((word = strtok_r(NULL, " \n", &save)))
			for (unsigned i = 0; i < METRICS; i++)
				if (!strncmp(word, names[i], strlen(names[i])) &&
				    word[strlen(names[i])] == '=')
					r->counts[i] = (uint32_t)strtoul(
						word + strlen(names[i]) + 1, NULL, 10);
		s->len++;
	}
	if (f)
		fclose(f);
}

/* ---- groups ---- */

static ze_result_t group_get(zet_device_handle_t d, uint32_t *n, zet_metric_group_handle_t *to)
{
	const char *on = getenv("ZET_ENABLE_METRICS");
	uint32_t have = GROUPS - (mock_has("no_metrics") != 0),
		 counters = (uint32_t)mock_counters_groups();

	/* Intel's own driver, below, would crash. */
	if ((!on || strcmp(on, "1") != 0) && !getenv("ZE_MOCK_REAL"))
		have = counters = 0;
	mock_say("asked", mock_device(d), have);
	if (!*n || !to) {
		*n = have + counters;
		return ZE_RESULT_SUCCESS;
	}
	if (mock_has("groups_fail"))
		return ZE_RESULT_ERROR_UNKNOWN;
	*n = *n < have + counters ? *n : have + counters;
	for (uint32_t i = 0; i < *n; i++) {
		struct group *g = &groups[mock_has("other_order") ? have - 1 - i : i];

		/* Groups of counters follow the others. */
		if (i >= have) {
			to[i] = mock_counters_group(i - have);
			continue;
		}
		to[i] = (void *)g;
		for (unsigned k = 0; k < METRICS; k++)
			g->metrics[k] = (struct metric){.group = g, .index = k};
	}
	return ZE_RESULT_SUCCESS;
}

static ze_result_t group_properties(zet_metric_group_handle_t h, zet_metric_group_properties_t *p)
{
	const struct group *g = (struct group *)h;

	if (mock_counters_is(h)) {
		mock_counters_properties(h, p);
		return ZE_RESULT_SUCCESS;
	}
	snprintf(p->name, sizeof(p->name), "%s", g->name);
	p->samplingType = g->sampling;
	p->domain = 100;
	p->metricCount = METRICS;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t metric_get(zet_metric_group_handle_t h, uint32_t *n, zet_metric_handle_t *to)
{
	struct group *g = (struct group *)h;

	if (mock_counters_is(h)) {
		mock_counters_metrics(h, n, to);
		return ZE_RESULT_SUCCESS;
	}
	*n = to && *n < METRICS ? *n : METRICS;
	for (uint32_t i = 0; to && i < *n; i++)
		to[i] = (void *)&g->metrics[i];
	return ZE_RESULT_SUCCESS;
}

static ze_result_t metric_properties(zet_metric_handle_t h, zet_metric_properties_t *p)
{
	const struct metric *m = (struct metric *)h;

	if (mock_counters_is(h)) {
		mock_counters_metric(h, p);
		return ZE_RESULT_SUCCESS;
	}
	snprintf(p->name, sizeof(p->name), "%s", names[m->index]);
	p->metricType = m->index == IP && m->group->has_ip ? (zet_metric_type_t)0x7ffffffe
			: m->index == TIME                 ? ZET_METRIC_TYPE_TIMESTAMP
							   : ZET_METRIC_TYPE_EVENT;
	p->resultType = ZET_VALUE_TYPE_UINT64;
	return ZE_RESULT_SUCCESS;
}

/* ---- the streamer ---- */

static void *active[2];

static int is_active(const void *group)
{
	return active[0] == group || active[1] == group;
}

int mock_is_active(const void *group)
{
	return is_active(group);
}

static ze_result_t activate(zet_context_handle_t c, zet_device_handle_t d, uint32_t n,
			    zet_metric_group_handle_t *g)
{
	(void)c, (void)d;
	active[0] = active[1] = NULL;
	if (n > 1 && mock_has("counters_alone"))
		return ZE_RESULT_ERROR_NOT_AVAILABLE;
	for (uint32_t i = 0; i < n && i < 2; i++)
		active[i] = g[i];
	return ZE_RESULT_SUCCESS;
}

static ze_result_t streamer_open(zet_context_handle_t c, zet_device_handle_t d,
				 zet_metric_group_handle_t g, zet_metric_streamer_desc_t *desc,
				 ze_event_handle_t event, zet_metric_streamer_handle_t *ret)
{
	static int busy = 2;
	struct streamer *s = &streamers[mock_device(d)];
	uint32_t unit = (desc->samplingPeriod + 83) / 167;

	(void)c, (void)event;
	if (!is_active(g))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	if (mock_counters_is(g))
		return mock_counters_open(mock_device(d), g, desc, ret);
	if (mock_has("metrics_denied"))
		return ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS;
	if (mock_has("metrics_odd"))
		return (ze_result_t)0x78765432;
	if (s->open || (mock_has("metrics_busy") && busy && busy--))
		return ZE_RESULT_ERROR_NOT_AVAILABLE;
	if ((struct group *)g != &groups[GROUPS - 1])
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	s->open = 1;
	s->over = 0;
	s->device = mock_device(d);
	read_script(s);
	desc->samplingPeriod = 167 * (unit < 1 ? 1 : unit > 7 ? 7 : unit);
	mock_say("open", s->device, desc->samplingPeriod);
	*ret = (void *)s;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t streamer_close(zet_metric_streamer_handle_t h)
{
	if (mock_counters_is(h))
		mock_counters_close(h);
	else
		((struct streamer *)h)->open = 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t streamer_read(zet_metric_streamer_handle_t h, uint32_t reports, size_t *size,
				 uint8_t *to)
{
	struct streamer *s = (struct streamer *)h;
	size_t n = 0;

	(void)reports;
	if (mock_counters_is(h))
		return mock_counters_read(h, size, to);
	if (!s->open)
		abort();
	while (mock_has("read_hangs")) /* until the process ends */
		pause();
	if (mock_has("read_fails"))
		return ZE_RESULT_ERROR_DEVICE_LOST;
	if (!*size) {
		*size = sizeof(s->records);
		return ZE_RESULT_SUCCESS;
	}
	if (may_go())
		while (s->at + n < s->len && !s->records[s->at + n].drop && (n + 1) * 64 <= *size)
			n++;
	*size = n * 64;
	if (n)
		memcpy(to, &s->records[s->at], n * 64);
	s->at += (unsigned)n;
	if (!n && may_go() && s->at < s->len) {
		s->at++;
		return ZE_RESULT_WARNING_DROPPED_DATA;
	}
	if (!n && may_go() && !s->over) {
		s->over = 1;
		mock_say("done", s->device, 0);
	}
	return ZE_RESULT_SUCCESS;
}

static void values_of(const struct record *r, zet_typed_value_t v[METRICS])
{
	for (unsigned i = 0; i < METRICS; i++) {
		v[i].type = ZET_VALUE_TYPE_UINT64;
		v[i].value.ui64 = i == IP ? r->ip : i == TIME ? 1234567 : r->counts[i];
	}
	/* Values of other types must be read as well. */
	v[0].type = ZET_VALUE_TYPE_UINT32;
	v[0].value.ui32 = r->counts[0];
	v[1].type = ZET_VALUE_TYPE_FLOAT64;
	v[1].value.fp64 = r->counts[1];
}

static ze_result_t calculate_sets(zet_metric_group_handle_t g,
				  zet_metric_group_calculation_type_t type, size_t size,
				  const uint8_t *raw, uint32_t *sets, uint32_t *n, uint32_t *counts,
				  zet_typed_value_t *values)
{
	uint32_t records = (uint32_t)(size / 64),
		 first = mock_has("two_sets") ? records / 2 : records;
	ze_result_t r0 = ZE_RESULT_SUCCESS;
	struct record r;

	(void)type;
	if (mock_counters_is(g))
		return mock_counters_calculate(g, size, raw, sets, n, counts, values);
	if (mock_has("calculate_fails"))
		return ZE_RESULT_ERROR_UNKNOWN;
	if (!*sets || !values) {
		*sets = first < records ? 2 : 1;
		*n = records * METRICS;
		return mock_has("drops_in_records") ? ZE_RESULT_WARNING_DROPPED_DATA
						    : ZE_RESULT_SUCCESS;
	}
	for (uint32_t i = 0; i < records && (i + 1) * METRICS <= *n; i++) {
		memcpy(&r, raw + (size_t)i * 64, 64);
		values_of(&r, values + (size_t)i * METRICS);
	}
	/* Drivers whose records say that some before them were dropped warn of it here. */
	if (mock_has("drops_in_records"))
		r0 = ZE_RESULT_WARNING_DROPPED_DATA;
	counts[0] = first * METRICS;
	if (first < records)
		counts[1] = (records - first) * METRICS;
	return r0;
}

static ze_result_t calculate(zet_metric_group_handle_t g, zet_metric_group_calculation_type_t type,
			     size_t size, const uint8_t *raw, uint32_t *n,
			     zet_typed_value_t *values)
{
	uint32_t sets = values ? 1 : 0, count;

	return calculate_sets(g, type, size, raw, &sets, n, &count, values);
}

void mock_fill_table(const char *name, const char *wanted, void *at, const void *table, size_t size)
{
	if (!strcmp(name, wanted))
		memcpy(at, table, size);
}

void mock_fill_metrics(const char *name, void *at)
{
#define TABLE(function, type, ...)            \
	if (!strcmp(name, #function)) {       \
		const type t = {__VA_ARGS__}; \
		memcpy(at, &t, sizeof(t));    \
	}
	TABLE(zetGetContextProcAddrTable, zet_context_dditable_t,
	      .pfnActivateMetricGroups = activate)
	TABLE(zetGetMetricGroupProcAddrTable, zet_metric_group_dditable_t, .pfnGet = group_get,
	      .pfnGetProperties = group_properties, .pfnCalculateMetricValues = calculate)
	TABLE(zetGetMetricGroupExpProcAddrTable, zet_metric_group_exp_dditable_t,
	      .pfnCalculateMultipleMetricValuesExp = mock_has("one_set") ? NULL : calculate_sets)
	TABLE(zetGetMetricProcAddrTable, zet_metric_dditable_t, .pfnGet = metric_get,
	      .pfnGetProperties = metric_properties)
	TABLE(zetGetMetricStreamerProcAddrTable, zet_metric_streamer_dditable_t,
	      .pfnOpen = streamer_open, .pfnReadData = streamer_read, .pfnClose = streamer_close)
#undef TABLE
	mock_fill_queries(name, at);
}
