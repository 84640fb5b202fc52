/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Performance counters: a group of metrics that can be streamed, without instructions' addresses. A GPU's counters are
 * wired for one group at a time, so it is the one that has most of what --counters names: by the group's name all of
 * it, else metrics by theirs. Named "default", it is the one that Intel's driver has for compute work, or the driver's first.
 *
 * The hardware makes a report each period; each is a row of values with a stamp of the device's clock.
 */

#define DEFAULT_GROUP  "ComputeBasic"
#define METRICS_MAX    1024 /* of a group */
#define COUNTERS_MAX   128  /* of it that are defined */
#define SETS_MAX       16   /* tiles */
#define COUNTER_NAME   96
#define COUNTER_UNIT   32
#define MORE_THAN_SOME 1000000

struct aif_ze_counters {
	uint32_t session;       /* that asked for them */
	uint32_t metrics, time; /* of a row; which is its stamp, or `metrics`: none is */
	uint32_t len, first; /* defined; the first one's id: those of each set follow one another */
	uint32_t sets;       /* that are defined, in the ring of: */
	const struct aif_thread *defined_by;
	uint32_t defined_gen;
	struct aif_ze_report_clock clocks[SETS_MAX];
	struct {
		uint32_t metric;
		char name[COUNTER_NAME], unit[COUNTER_UNIT];
	} at[COUNTERS_MAX];
};

/* ---- which group ----------------------------------------------------------------------------- */

struct candidate {
	void *group;
	char name[256];
	uint32_t metrics;
	bool all; /* of it is asked for */
};

static bool is_asked(const struct candidate *c, const struct aif_ze_metric_properties *m)
{
	if (!aif_ze_is_number(m))
		return false;
	if (aif_ze_list_has(aif_agent.session.counters, m->name))
		return true;
	/* A group's time stamps, and raw values that only the driver understands, are no
	 * counters. */
	return c->all && m->type != AIF_ZE_METRIC_TIME && m->type != AIF_ZE_METRIC_RAW;
}

/* Lists a group's metrics. Returns how many; 0: there are none, or too many. */
static uint32_t metrics_get(struct aif_level_zero *l0, void *group, void *ret[METRICS_MAX])
{
	uint32_t n = 0;

	if (l0->api.zetMetricGet(group, &n, NULL) != AIF_ZE_SUCCESS || !n || n > METRICS_MAX ||
	    l0->api.zetMetricGet(group, &n, ret) != AIF_ZE_SUCCESS || n > METRICS_MAX)
		return 0;
	return n;
}

static bool metric_describe(struct aif_level_zero *l0, void *metric,
			    struct aif_ze_metric_properties *ret)
{
	*ret = (struct aif_ze_metric_properties){.stype = AIF_ZE_METRIC_PROPS};
	if (l0->api.zetMetricGetProperties(metric, ret) != AIF_ZE_SUCCESS)
		return false;
	ret->name[sizeof(ret->name) - 1] = ret->units[sizeof(ret->units) - 1] = '\0';
	return true;
}

/* Returns how many of the group's metrics are asked for; 0: the group is of no use. */
static uint32_t worth(struct aif_level_zero *l0, const struct candidate *c,
		      void *metrics[METRICS_MAX])
{
	uint32_t n = metrics_get(l0, c->group, metrics), found = 0;
	struct aif_ze_metric_properties m;

	for (uint32_t i = 0; i < n; i++) {
		if (!metric_describe(l0, metrics[i], &m) || m.type == AIF_ZE_METRIC_IP)
			return 0;
		found += is_asked(c, &m);
	}
	return found;
}

static bool look_at(struct aif_level_zero *l0, void *group, struct candidate *ret)
{
	struct aif_ze_group_properties p = {.stype = AIF_ZE_GROUP_PROPS};
	const char *asked = aif_agent.session.counters;

	if (l0->api.zetMetricGroupGetProperties(group, &p) != AIF_ZE_SUCCESS ||
	    !(p.sampling & AIF_ZE_TIME_BASED))
		return false;
	p.name[sizeof(p.name) - 1] = '\0';
	*ret = (struct candidate){.group = group,
				  .all = aif_ze_list_has(asked, p.name) ||
					 aif_ze_list_has(asked, AIF_ZE_COUNTERS_DEFAULT)};
	memcpy(ret->name, p.name, sizeof(ret->name));
	return true;
}

static uint32_t rank(uint32_t worth, const struct candidate *c)
{
	const char *asked = aif_agent.session.counters;
	bool is_named = aif_ze_list_has(asked, c->name) ||
			(aif_ze_list_has(asked, AIF_ZE_COUNTERS_DEFAULT) &&
			 !strcmp(c->name, DEFAULT_GROUP));

	/* Groups that nobody named rank alike: the first one is taken. */
	return worth && is_named ? worth + MORE_THAN_SOME : worth && c->all ? 1 : worth;
}

static void choose(struct aif_level_zero *l0, void **groups, uint32_t n, void *metrics[METRICS_MAX],
		   struct candidate *best)
{
	uint32_t best_rank = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct candidate c;
		uint32_t r = look_at(l0, groups[i], &c) ? rank(worth(l0, &c, metrics), &c) : 0;

		if (r <= best_rank)
			continue;
		best_rank = r;
		*best = c;
	}
}

static void take_metrics(struct aif_level_zero *l0, struct aif_ze_counters *c,
			 const struct candidate *of, void *metrics[METRICS_MAX])
{
	struct aif_ze_metric_properties m;

	*c = (struct aif_ze_counters){.session = l0->metrics.session};
	c->metrics = metrics_get(l0, of->group, metrics);
	c->time = c->metrics;
	for (uint32_t i = 0; i < c->metrics; i++) {
		if (!metric_describe(l0, metrics[i], &m))
			continue;
		if (m.type == AIF_ZE_METRIC_TIME && !strcmp(m.units, "ns"))
			c->time = i;
		if (!is_asked(of, &m) || c->len == COUNTERS_MAX)
			continue;
		c->at[c->len].metric = i;
		snprintf(c->at[c->len].name, COUNTER_NAME, "%.*s", COUNTER_NAME - 1, m.name);
		snprintf(c->at[c->len].unit, COUNTER_UNIT, "%.*s", COUNTER_UNIT - 1,
			 strcmp(m.units, "percent") != 0 ? m.units : "%");
		c->len++;
	}
	c->first = atomic_fetch_add(&l0->metrics.counters, c->len * SETS_MAX);
}

/* Names that nothing in the group has. */
static void report_missing(struct aif_ze_streamer *s, const struct candidate *of)
{
	const char *at = aif_agent.session.counters;
	struct aif_ze_counters *c = s->counters;
	struct aif_thread *t = aif_thread_enter();
	char text[AIF_SHM_COUNTERS + 600], name[256];
	uint64_t missing = 0;
	int n;

	if (!t)
		return;
	n = snprintf(text, sizeof(text), "%s, %s has no", s->device->desc.name, of->name);
	while (aif_ze_list_next(&at, name, sizeof(name))) {
		bool found =
			!strcasecmp(name, of->name) || !strcasecmp(name, AIF_ZE_COUNTERS_DEFAULT);

		for (uint32_t i = 0; i < c->len && !found; i++)
			found = !strcasecmp(name, c->at[i].name);
		if (found || n < 0 || (size_t)n >= sizeof(text) - sizeof(name) - 4)
			continue;
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s %s", missing ? "," : "",
			      name);
		missing++;
	}
	if (missing)
		aif_emit_note(t, AIF_REASON_ZE_COUNTERS_PART, missing, text);
	aif_thread_leave(t);
}

/* "has A, B ..." of groups that could be asked for. */
static void name_groups(struct aif_level_zero *l0, void **groups, uint32_t n,
			void *metrics[METRICS_MAX], char *ret, size_t size)
{
	size_t len = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct candidate c;

		if (!look_at(l0, groups[i], &c))
			continue;
		c.all = true;
		if (!worth(l0, &c, metrics))
			continue;
		if (len + strlen(c.name) + 8 > size) {
			snprintf(ret + len, size - len, " ...");
			return;
		}
		len += (size_t)snprintf(ret + len, size - len, "%s%s", len ? ", " : "has ", c.name);
	}
	if (!len)
		snprintf(ret, size, "has none");
}

static void find(struct aif_level_zero *l0, struct aif_ze_streamer *s, char *ret_others,
		 size_t size)
{
	void **metrics = aif_pages(METRICS_MAX * sizeof(*metrics)), **groups = NULL;
	struct candidate best = {.group = NULL};
	uint32_t n = 0;

	s->counting.group = NULL;
	if (!s->counters)
		s->counters = aif_pages(sizeof(*s->counters));
	if (metrics && s->counters)
		groups = aif_ze_groups_get(l0, s->root, &n);
	if (groups)
		choose(l0, groups, n, metrics, &best);
	if (best.group) {
		take_metrics(l0, s->counters, &best, metrics);
		s->counting.group = s->counters->len ? best.group : NULL;
	} else if (metrics) {
		name_groups(l0, groups, n, metrics, ret_others, size);
	}
	aif_ze_groups_free(groups);
	if (metrics)
		munmap(metrics, METRICS_MAX * sizeof(*metrics));
	if (s->counting.group)
		report_missing(s, &best);
}

bool aif_ze_counters_find(struct aif_level_zero *l0, struct aif_ze_streamer *s, char *ret_others,
			  size_t size)
{
	/* The group is kept: opening is tried again each second while another process has the
	 * counters. */
	if (!s->counting.group || s->counters->session != l0->metrics.session)
		find(l0, s, ret_others, size);
	return s->counting.group;
}

/* ---- what they are --------------------------------------------------------------------------- */

/* All of all sets that there are; of several the name says which. */
static bool define_names(struct aif_ze_counters *c, const struct aif_ze_device *device,
			 struct aif_thread *t, uint32_t sets)
{
	char name[COUNTER_NAME + 16];

	if (c->defined_gen == t->generation && c->defined_by == t && c->sets >= sets)
		return true;
	for (uint32_t k = 0; k < sets; k++)
		for (uint32_t i = 0; i < c->len; i++) {
			if (sets > 1)
				snprintf(name, sizeof(name), "%s, tile %u", c->at[i].name, k);
			else
				snprintf(name, sizeof(name), "%s", c->at[i].name);
			if (!aif_emit_counter(t, c->first + k * c->len + i, device->desc.id, name,
					      c->at[i].unit))
				return false;
		}
	c->defined_gen = t->generation;
	c->defined_by = t;
	c->sets = sets;
	return true;
}

static bool has_stamp(const struct aif_ze_counters *c, const struct aif_ze_value *row)
{
	return c->time < c->metrics && row[c->time].type == AIF_ZE_VALUE_64;
}

static uint64_t time_of(const struct aif_ze_streamer *s, const struct aif_ze_report_clock *clock,
			const struct aif_ze_value *row, size_t behind, uint64_t now)
{
	const struct aif_ze_counters *c = s->counters;

	if (has_stamp(c, row))
		return aif_ze_report_time(clock, row[c->time].u64, now);
	/* Without a stamp, reports are one period apart. */
	return now - AIF_MIN(behind * s->counting.period_ns, now);
}

static void take(struct aif_level_zero *l0, struct aif_ze_streamer *s, struct aif_ze_set set,
		 const struct aif_ze_value *values, size_t n)
{
	struct aif_ze_counters *c = s->counters;
	size_t rows = n / c->metrics;
	struct aif_thread *t;
	uint64_t now = aif_now_ns();
	const struct aif_ze_value *last;
	double v[COUNTERS_MAX];

	if (!rows)
		return;
	t = aif_thread_enter();
	if (!t || set.index >= SETS_MAX || !aif_ze_metrics_device_define(l0, t, s->device) ||
	    !define_names(c, s->device, t, AIF_MIN(set.of, (uint32_t)SETS_MAX))) {
		s->counting.lost += rows;
		rows = 0;
	}
	last = values + (rows ? rows - 1 : 0) * c->metrics;
	if (rows && has_stamp(c, last))
		aif_ze_report_read(&c->clocks[set.index], last[c->time].u64, now);
	for (size_t i = 0; i < rows; i++) {
		const struct aif_ze_value *row = values + i * c->metrics;

		for (uint32_t k = 0; k < c->len; k++)
			v[k] = aif_ze_number(&row[c->at[k].metric]);
		if (!aif_emit_values(t, c->first + set.index * c->len,
				     time_of(s, &c->clocks[set.index], row, rows - 1 - i, now), 0,
				     v, c->len))
			s->counting.lost++;
	}
	if (t)
		aif_thread_leave(t);
}

bool aif_ze_counters_describe(struct aif_level_zero *l0, void *group, struct aif_ze_counters **c)
{
	void **metrics = aif_pages(METRICS_MAX * sizeof(*metrics));
	const struct candidate of = {.group = group, .all = true};

	if (!*c)
		*c = aif_pages(sizeof(**c));
	if (!metrics || !*c)
		return false;
	take_metrics(l0, *c, &of, metrics);
	munmap(metrics, METRICS_MAX * sizeof(*metrics));
	return (*c)->len;
}

bool aif_ze_counters_emit(struct aif_level_zero *l0, struct aif_thread *t,
			  struct aif_ze_counters *c, struct aif_ze_device *device, uint64_t launch,
			  const struct aif_ze_value *values, size_t n)
{
	double v[COUNTERS_MAX];

	aif_ze_device_define_locked(l0, t, device);
	if (n < c->metrics || !define_names(c, device, t, 1))
		return false;
	for (uint32_t k = 0; k < c->len; k++)
		v[k] = aif_ze_number(&values[c->at[k].metric]);
	return aif_emit_values(t, c->first, aif_now_ns(), 1 + launch, v, c->len);
}

bool aif_ze_counters_read(struct aif_level_zero *l0, struct aif_ze_streamer *s)
{
	return aif_ze_read(l0, s, &s->counting, take);
}

void aif_ze_counters_define(struct aif_ze_streamer *s)
{
	struct aif_ze_reading *r = &s->counting;
	struct aif_thread *t = aif_thread_enter();
	uint64_t n = r->dropped + r->unread + r->lost;

	if (!t)
		return;
	aif_ze_metrics_note(t, s, AIF_REASON_ZE_COUNTERS_LOST, &n);
	if (!n)
		r->dropped = r->unread = r->lost = 0;
	aif_thread_leave(t);
}
