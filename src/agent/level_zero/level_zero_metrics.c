/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/*
 * The metric group is the one that can be streamed and has a metric that is an instruction's address: by what metrics
 * say of themselves, not by names or places, which differ from driver to driver. Its other metrics that count events
 * are the reasons.
 *
 * A metric group of a GPU's performance counters cannot be streamed at the same time on most hardware; none is asked
 * for.
 */

#define GROUPS_MAX 4096
#define WINDOW_NS  AIF_NS_PER_S
#define RETRY_NS   AIF_NS_PER_S
/* At exit somebody may be in the middle of a call. */
#define LEAVE_TRIES 3

void aif_ze_metrics_init(struct aif_ze_metrics *m)
{
	const char *set = getenv("ZET_ENABLE_METRICS");

	pthread_mutex_init(&m->lock, NULL);
	/* In the thread that initialises the driver, which reads it, too. */
	m->enabled = set && !strcmp(set, "1");
}

static bool has_left(void)
{
	return atomic_load(&aif_agent.left);
}

static bool functions_are_there(const struct aif_ze_functions *f)
{
	return f->zeContextCreate && f->zeContextDestroy && f->zetMetricGroupGet &&
	       f->zetMetricGroupGetProperties && f->zetMetricGet && f->zetMetricGetProperties &&
	       f->zetContextActivateMetricGroups && f->zetMetricStreamerOpen &&
	       f->zetMetricStreamerReadData && f->zetMetricStreamerClose &&
	       (f->zetMetricGroupCalculateMultipleMetricValuesExp ||
		f->zetMetricGroupCalculateMetricValues);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static enum aif_reason reason_of(uint32_t error)
{
	switch (error) {
	case AIF_ZE_DENIED:
		return AIF_REASON_ZE_METRICS_DENIED;
	case AIF_ZE_UNAVAILABLE:
	case AIF_ZE_OBJECT_IN_USE:
		return AIF_REASON_ZE_METRICS_BUSY;
	default:
		return AIF_REASON_ZE_METRICS_FAILED;
	}
}

static void refused(struct aif_ze_streamer *s, enum aif_reason reason, const char *what,
		    uint32_t error)
{
	struct aif_thread *t;
	char text[400];
	int n;

	/* Who has it may let it go. */
	if (reason == AIF_REASON_ZE_METRICS_BUSY)
		s->retry_at = aif_now_ns() + RETRY_NS;
	else
		s->refused = true;
	if (s->said)
		return;
	t = aif_thread_enter();
	if (!t)
		return;
	n = snprintf(text, sizeof(text), "%s", s->device->desc.name);
	if (reason == AIF_REASON_ZE_METRICS_FAILED)
		snprintf(text + n, sizeof(text) - (size_t)n, ": %s: %#x", what, error);
	s->said = aif_emit_note(t, reason, 1, text);
	aif_thread_leave(t);
}

/* ---- the group ------------------------------------------------------------------------------- */

/* A number for each name, the same for all devices. */
static uint8_t reason_number(struct aif_ze_metrics *m, const char *metric)
{
	const char *name = aif_ze_stall_name(metric);
	uint32_t i = 0;

	while (i < m->reasons_len && strncmp(m->reasons[i], name, sizeof(m->reasons[0]) - 1))
		i++;
	if (i < m->reasons_len)
		return (uint8_t)i;
	if (i == AIF_ZE_REASONS_MAX)
		return AIF_ZE_REASONS_MAX - 1;
	snprintf(m->reasons[i], sizeof(m->reasons[i]), "%s", name);
	m->reasons_len++;
	m->told = 0;
	return (uint8_t)i;
}

struct described {
	uint32_t n;
	struct aif_ze_metric_properties at[AIF_ZE_METRICS_MAX];
};

/* Its index, or the number of metrics: there is none. */
static uint32_t find_address(const struct described *metrics)
{
	uint32_t i = 0;

	while (i < metrics->n && metrics->at[i].type != AIF_ZE_METRIC_IP)
		i++;
	return i;
}

static bool describe(struct aif_level_zero *l0, void *group, struct described *ret)
{
	void *handles[AIF_ZE_METRICS_MAX];

	ret->n = 0;
	/* A group of more metrics is one of counters. */
	if (l0->api.zetMetricGet(group, &ret->n, NULL) != AIF_ZE_SUCCESS || !ret->n ||
	    ret->n > AIF_ZE_METRICS_MAX ||
	    l0->api.zetMetricGet(group, &ret->n, handles) != AIF_ZE_SUCCESS ||
	    ret->n > AIF_ZE_METRICS_MAX)
		return false;
	for (uint32_t i = 0; i < ret->n; i++) {
		ret->at[i] = (struct aif_ze_metric_properties){.stype = AIF_ZE_METRIC_PROPS};
		if (l0->api.zetMetricGetProperties(handles[i], &ret->at[i]) != AIF_ZE_SUCCESS)
			return false;
		ret->at[i].name[sizeof(ret->at[i].name) - 1] = '\0';
	}
	return true;
}

static bool group_fits(struct aif_level_zero *l0, struct aif_ze_streamer *s, void *group,
		       struct described *metrics)
{
	struct aif_ze_group_properties p = {.stype = AIF_ZE_GROUP_PROPS};
	struct aif_ze_layout *l = &s->layout;

	if (l0->api.zetMetricGroupGetProperties(group, &p) != AIF_ZE_SUCCESS ||
	    !(p.sampling & AIF_ZE_TIME_BASED) || !describe(l0, group, metrics))
		return false;
	*l = (struct aif_ze_layout){.metrics = metrics->n, .ip = find_address(metrics)};
	if (l->ip == l->metrics)
		return false;
	for (uint32_t i = 0; i < l->metrics; i++)
		l->reason[i] = metrics->at[i].type == AIF_ZE_METRIC_EVENT ||
					       metrics->at[i].type == AIF_ZE_METRIC_RANGE
				       ? reason_number(&l0->metrics, metrics->at[i].name)
				       : AIF_ZE_NO_REASON;
	s->group = group;
	return true;
}

static bool find_group(struct aif_level_zero *l0, struct aif_ze_streamer *s)
{
	struct described *metrics = aif_pages(sizeof(*metrics));
	void **groups = NULL;
	uint32_t n = 0, cap;

	s->group = NULL;
	if (metrics && l0->api.zetMetricGroupGet(s->root, &n, NULL) == AIF_ZE_SUCCESS && n)
		groups = aif_pages(AIF_MIN(n, GROUPS_MAX) * sizeof(*groups));
	cap = n = AIF_MIN(n, GROUPS_MAX);
	if (groups && l0->api.zetMetricGroupGet(s->root, &n, groups) == AIF_ZE_SUCCESS)
		for (uint32_t i = 0; i < AIF_MIN(n, cap) && !s->group; i++)
			(void)group_fits(l0, s, groups[i], metrics);
	if (groups)
		munmap(groups, cap * sizeof(*groups));
	if (metrics)
		munmap(metrics, sizeof(*metrics));
	return s->group;
}

/* ---- the streamer ---------------------------------------------------------------------------- */

static void close_streamer(struct aif_level_zero *l0, struct aif_ze_streamer *s)
{
	if (s->streamer)
		l0->api.zetMetricStreamerClose(s->streamer);
	if (s->context) {
		l0->api.zetContextActivateMetricGroups(s->context, s->root, 0, NULL);
		l0->api.zeContextDestroy(s->context);
	}
	s->streamer = s->context = NULL;
}

static uint32_t open_parts(struct aif_level_zero *l0, struct aif_ze_streamer *s,
			   struct aif_ze_streamer_desc *desc, const char **ret_what)
{
	const struct aif_ze_context_desc cd = {.stype = AIF_ZE_CONTEXT_DESC};
	uint32_t r;

	/* The application's contexts come and go. */
	*ret_what = "zeContextCreate";
	r = l0->api.zeContextCreate(s->driver, &cd, &s->context);
	if (r == AIF_ZE_SUCCESS) {
		*ret_what = "zetContextActivateMetricGroups";
		r = l0->api.zetContextActivateMetricGroups(s->context, s->root, 1, &s->group);
	}
	if (r == AIF_ZE_SUCCESS) {
		*ret_what = "zetMetricStreamerOpen";
		r = l0->api.zetMetricStreamerOpen(s->context, s->root, s->group, desc, NULL,
						  &s->streamer);
	}
	if (r == AIF_ZE_SUCCESS && s->streamer)
		return r;
	s->streamer = NULL;
	close_streamer(l0, s);
	return r == AIF_ZE_SUCCESS ? AIF_ZE_UNINITIALIZED : r;
}

static void open_streamer(struct aif_level_zero *l0, struct aif_ze_streamer *s)
{
	uint32_t rate = aif_agent.session.stall_rate;
	struct aif_ze_streamer_desc desc = {
		.stype = AIF_ZE_STREAMER_DESC,
		.notify = 1,
		/* The hardware takes the nearest of its own: what is asked for by default is the slowest. */
		.period_ns = (uint32_t)AIF_MAX(AIF_NS_PER_S / rate, UINT64_C(1))};
	const char *what;
	uint32_t r;

	if (!functions_are_there(&l0->api) || !s->driver || !find_group(l0, s)) {
		refused(s,
			l0->metrics.enabled ? AIF_REASON_ZE_METRICS_NONE
					    : AIF_REASON_ZE_METRICS_OFF,
			"", 0);
		return;
	}
	if (!s->sums)
		s->sums = aif_pages(sizeof(*s->sums));
	if (!s->sums)
		return;
	r = open_parts(l0, s, &desc, &what);
	if (r != AIF_ZE_SUCCESS) {
		refused(s, reason_of(r), what, r);
		return;
	}
	s->period_ns = desc.period_ns;
	s->read_ns = aif_ze_read_interval(desc.period_ns);
	s->errors = 0;
	s->since = aif_now_ns();
	s->read_at = s->since + s->read_ns;
}

/* Under the lock of both. A device and its parts have one. */
static void find_streamers(struct aif_level_zero *l0, uint64_t allowed)
{
	struct aif_ze_metrics *m = &l0->metrics;

	for (struct aif_ze_device *d = l0->devices; d; d = d->next) {
		uint32_t i = 0;

		if (d->desc.id > 63 || !(allowed >> d->desc.id & 1) ||
		    d->desc.kind != AIF_EMIT_DEVICE_GPU)
			continue;
		while (i < m->len && m->streamers[i].root != d->root)
			i++;
		if (i == AIF_ZE_STREAMERS)
			continue;
		if (i == m->len)
			m->streamers[m->len++] = (struct aif_ze_streamer){
				.root = d->root, .driver = d->driver, .device = d};
		m->streamers[i].tiles |= m->streamers[i].device != d;
	}
}

/* What an earlier recording was refused says nothing about this one. */
static void begin_session(struct aif_ze_metrics *m)
{
	if (m->session == aif_agent.session.generation)
		return;
	m->session = aif_agent.session.generation;
	for (uint32_t i = 0; i < m->len; i++) {
		m->streamers[i].refused = m->streamers[i].said = false;
		m->streamers[i].retry_at = 0;
	}
}

void aif_ze_metrics_tick(struct aif_level_zero *l0, uint64_t now)
{
	const struct aif_shm *shm = aif_agent.session.shm;
	struct aif_ze_metrics *m = &l0->metrics;
	uint64_t allowed = shm ? atomic_load_explicit(&shm->streamers, memory_order_acquire) : 0;

	if (!allowed || !aif_agent.session.stall_rate)
		return;
	pthread_mutex_lock(&m->lock);
	begin_session(m);
	pthread_mutex_lock(&l0->lock);
	find_streamers(l0, allowed);
	pthread_mutex_unlock(&l0->lock);
	for (uint32_t i = 0; i < m->len && !has_left(); i++) {
		struct aif_ze_streamer *s = &m->streamers[i];

		if (!s->streamer && !s->refused && now >= s->retry_at)
			open_streamer(l0, s);
		else if (s->streamer && now >= s->since && now - s->since >= WINDOW_NS)
			aif_ze_stalls_tell(l0, s);
	}
	pthread_mutex_unlock(&m->lock);
}

static void read_streamer(struct aif_level_zero *l0, struct aif_ze_streamer *s)
{
	if (aif_ze_stalls_read(l0, s))
		return;
	aif_ze_stalls_tell(l0, s);
	close_streamer(l0, s);
	refused(s, AIF_REASON_ZE_METRICS_FAILED, "zetMetricStreamerReadData", s->error);
}

uint64_t aif_ze_metrics_turn(struct aif_level_zero *l0, uint64_t now)
{
	struct aif_ze_metrics *m = &l0->metrics;
	uint64_t next = UINT64_MAX;

	pthread_mutex_lock(&m->lock);
	for (uint32_t i = 0; i < m->len && !has_left(); i++) {
		struct aif_ze_streamer *s = &m->streamers[i];

		if (s->streamer && now >= s->read_at) {
			read_streamer(l0, s);
			s->read_at = aif_now_ns() + s->read_ns;
		}
		if (s->streamer)
			next = AIF_MIN(next, s->read_at);
	}
	pthread_mutex_unlock(&m->lock);
	return next;
}

/* Under the lock. */
static void stop(struct aif_level_zero *l0)
{
	for (uint32_t i = 0; i < l0->metrics.len; i++) {
		struct aif_ze_streamer *s = &l0->metrics.streamers[i];

		if (!s->streamer)
			continue;
		(void)aif_ze_stalls_read(l0, s);
		aif_ze_stalls_tell(l0, s);
		close_streamer(l0, s);
	}
}

void aif_ze_metrics_stop(struct aif_level_zero *l0)
{
	pthread_mutex_lock(&l0->metrics.lock);
	if (!has_left())
		stop(l0);
	pthread_mutex_unlock(&l0->metrics.lock);
}

void aif_ze_metrics_leave(struct aif_level_zero *l0)
{
	for (int i = 0; pthread_mutex_trylock(&l0->metrics.lock); i++) {
		const struct timespec step = {.tv_nsec = 1000000};

		if (i == LEAVE_TRIES)
			return;
		nanosleep(&step, NULL);
	}
	stop(l0);
	pthread_mutex_unlock(&l0->metrics.lock);
}
