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
 * Groups of performance counters are of another unit of the hardware, so that one of them can be read beside it.
 * What of a device is active is one list, set anew as a whole; where a driver refuses both, samples go first.
 */

#define WINDOW_NS AIF_NS_PER_S
#define RETRY_NS  AIF_NS_PER_S
/* The hardware's buffer holds thousands of reports of counters, which are a millisecond apart or more. */
#define COUNTERS_READ_NS 100000000
/* A program may be over soon: in the first second of a session, until the recorder says who may read them. */
#define EAGER_NS  AIF_NS_PER_S
#define GLANCE_NS 2000000
/* At exit somebody may be in the middle of a call. */
#define LEAVE_TRIES 3

void aif_ze_metrics_init(struct aif_ze_metrics *m)
{
	const char *set = getenv("ZET_ENABLE_METRICS");

	pthread_mutex_init(&m->lock, NULL);
	/* In the thread that initialises the driver, which reads it, too. */
	m->enabled = set && !strcmp(set, "1");
	m->disabled = set && !m->enabled;
	snprintf(m->value, sizeof(m->value), "%s", set ? set : "");
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

static void refused(struct aif_ze_streamer *s, struct aif_ze_reading *r, enum aif_reason reason,
		    const char *what, uint32_t error)
{
	struct aif_thread *t;
	char text[400];
	int n;

	/* Another process that has the streamer may close it. */
	if (error == AIF_ZE_UNAVAILABLE || error == AIF_ZE_OBJECT_IN_USE)
		r->retry_at = aif_now_ns() + RETRY_NS;
	else
		r->refused = true;
	if (r->reported)
		return;
	t = aif_thread_enter();
	if (!t)
		return;
	n = snprintf(text, sizeof(text), "%s", s->device->desc.name);
	if (*what)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ": %s", what);
	if (*what && error)
		snprintf(text + n, sizeof(text) - (size_t)n, ": %#x", error);
	r->reported = aif_emit_note(t, reason, 1, text);
	aif_thread_leave(t);
}

/* Reports what the call `what` has returned. */
static void failed(struct aif_ze_streamer *s, struct aif_ze_reading *r, const char *what,
		   uint32_t error)
{
	enum aif_reason reason =
		r == &s->counting ? AIF_REASON_ZE_COUNTERS_FAILED : reason_of(error);

	refused(s, r, reason,
		reason == AIF_REASON_ZE_METRICS_DENIED || reason == AIF_REASON_ZE_METRICS_BUSY
			? ""
			: what,
		error);
}

/* `reason` where the variable is not set. What the user has set is one reason for both kinds, reported once. */
static void switched_off(const struct aif_ze_metrics *m, struct aif_ze_streamer *s,
			 struct aif_ze_reading *r, enum aif_reason reason)
{
	char set[64];

	snprintf(set, sizeof(set), "ZET_ENABLE_METRICS=%s", m->value);
	r->reported |= m->disabled && (s->stalls.reported || s->counting.reported);
	refused(s, r, m->disabled ? AIF_REASON_ZE_METRICS_UNWANTED : reason, m->disabled ? set : "",
		0);
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
	m->defined_gen = 0;
	return (uint8_t)i;
}

struct described {
	uint32_t n;
	struct aif_ze_metric_properties at[AIF_ZE_METRICS_MAX];
};

/* Returns the index of the address metric, or the number of metrics if there is none. */
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
	s->stalls.group = group;
	return true;
}

static bool find_group(struct aif_level_zero *l0, struct aif_ze_streamer *s)
{
	struct described *metrics = aif_pages(sizeof(*metrics));
	uint32_t n = 0;
	void **groups = metrics ? aif_ze_groups_get(l0, s->root, &n) : NULL;

	s->stalls.group = NULL;
	for (uint32_t i = 0; groups && i < n && !s->stalls.group; i++)
		(void)group_fits(l0, s, groups[i], metrics);
	aif_ze_groups_free(groups);
	if (metrics)
		munmap(metrics, sizeof(*metrics));
	return s->stalls.group;
}

/* ---- the streamer ---------------------------------------------------------------------------- */

static uint32_t activate(struct aif_level_zero *l0, struct aif_ze_streamer *s, bool stalls,
			 bool counting)
{
	void *groups[2];
	uint32_t n = 0;

	if (stalls)
		groups[n++] = s->stalls.group;
	if (counting)
		groups[n++] = s->counting.group;
	return l0->api.zetContextActivateMetricGroups(s->context, s->root, n, n ? groups : NULL);
}

/* Leaves active the groups of open streamers, and destroys the context when none is open. */
static void settle(struct aif_level_zero *l0, struct aif_ze_streamer *s)
{
	if (!s->context)
		return;
	activate(l0, s, s->stalls.streamer, s->counting.streamer);
	if (s->stalls.streamer || s->counting.streamer)
		return;
	l0->api.zeContextDestroy(s->context);
	s->context = NULL;
}

static void close_streamer(struct aif_level_zero *l0, struct aif_ze_streamer *s,
			   struct aif_ze_reading *r)
{
	if (r->streamer)
		l0->api.zetMetricStreamerClose(r->streamer);
	r->streamer = NULL;
	settle(l0, s);
}

static uint32_t activate_with(struct aif_level_zero *l0, struct aif_ze_streamer *s,
			      const struct aif_ze_reading *r)
{
	bool stalls = r == &s->stalls || s->stalls.streamer,
	     counting = r == &s->counting || s->counting.streamer;
	uint32_t e = activate(l0, s, stalls, counting);

	if (e == AIF_ZE_SUCCESS || r != &s->stalls || !counting)
		return e;
	aif_ze_counters_define(s);
	l0->api.zetMetricStreamerClose(s->counting.streamer);
	s->counting.streamer = NULL;
	failed(s, &s->counting, "zetContextActivateMetricGroups", e);
	return activate(l0, s, true, false);
}

static uint32_t open_parts(struct aif_level_zero *l0, struct aif_ze_streamer *s,
			   struct aif_ze_reading *r, struct aif_ze_streamer_desc *desc,
			   const char **ret_what)
{
	const struct aif_ze_context_desc cd = {.stype = AIF_ZE_CONTEXT_DESC};
	uint32_t e = AIF_ZE_SUCCESS;

	/* The application's contexts come and go. */
	*ret_what = "zeContextCreate";
	if (!s->context)
		e = l0->api.zeContextCreate(s->driver, &cd, &s->context);
	if (e == AIF_ZE_SUCCESS) {
		*ret_what = "zetContextActivateMetricGroups";
		e = activate_with(l0, s, r);
	}
	if (e == AIF_ZE_SUCCESS) {
		*ret_what = "zetMetricStreamerOpen";
		e = l0->api.zetMetricStreamerOpen(s->context, s->root, r->group, desc, NULL,
						  &r->streamer);
	}
	if (e == AIF_ZE_SUCCESS && r->streamer)
		return e;
	r->streamer = NULL;
	settle(l0, s);
	return e == AIF_ZE_SUCCESS ? AIF_ZE_UNINITIALIZED : e;
}

/* False: it was not, and that is reported. */
static bool open_reading(struct aif_level_zero *l0, struct aif_ze_streamer *s,
			 struct aif_ze_reading *r, uint64_t period_ns)
{
	struct aif_ze_streamer_desc desc = {
		.stype = AIF_ZE_STREAMER_DESC, .notify = 1, .period_ns = (uint32_t)period_ns};
	const char *what;
	uint32_t e = open_parts(l0, s, r, &desc, &what);

	if (e != AIF_ZE_SUCCESS) {
		failed(s, r, what, e);
		return false;
	}
	r->period_ns = desc.period_ns;
	r->errors = 0;
	return true;
}

static void open_stalls(struct aif_level_zero *l0, struct aif_ze_streamer *s)
{
	struct aif_ze_reading *r = &s->stalls;

	if (!functions_are_there(&l0->api) || !s->driver || !find_group(l0, s)) {
		if (l0->metrics.enabled)
			refused(s, r, AIF_REASON_ZE_METRICS_NONE, "", 0);
		else
			switched_off(&l0->metrics, s, r, AIF_REASON_ZE_METRICS_OFF);
		return;
	}
	if (!s->sums)
		s->sums = aif_pages(sizeof(*s->sums));
	/* The hardware takes the nearest of its own: what is asked for by default is the slowest. */
	if (!s->sums ||
	    !open_reading(l0, s, r,
			  AIF_MAX(AIF_NS_PER_S / aif_agent.session.stall_rate, UINT64_C(1))))
		return;
	r->read_ns = aif_ze_read_interval(r->period_ns);
	s->since = aif_now_ns();
	r->read_at = s->since + r->read_ns;
}

static void open_counters(struct aif_level_zero *l0, struct aif_ze_streamer *s)
{
	struct aif_ze_reading *r = &s->counting;
	char others[300] = "";

	if (!functions_are_there(&l0->api) || !s->driver ||
	    !aif_ze_counters_find(l0, s, others, sizeof(others))) {
		if (l0->metrics.enabled)
			refused(s, r, AIF_REASON_ZE_COUNTERS_NONE, others, 0);
		else
			switched_off(&l0->metrics, s, r, AIF_REASON_ZE_COUNTERS_OFF);
		return;
	}
	if (!open_reading(l0, s, r, aif_agent.session.counters_period_ns))
		return;
	r->read_ns = COUNTERS_READ_NS;
	r->read_at = aif_now_ns() + r->read_ns;
}

/* Under the lock of both. A device and its parts have one. */
static void find_streamers(struct aif_level_zero *l0, uint64_t stalls, uint64_t counting)
{
	struct aif_ze_metrics *m = &l0->metrics;

	for (uint32_t i = 0; i < m->len; i++)
		m->streamers[i].may_stall = m->streamers[i].may_count = false;
	for (struct aif_ze_device *d = l0->devices; d; d = d->next) {
		uint32_t i = 0;

		if (d->desc.id > 63 || !((stalls | counting) >> d->desc.id & 1) ||
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
		m->streamers[i].may_stall |= stalls >> d->desc.id & 1;
		m->streamers[i].may_count |= counting >> d->desc.id & 1;
	}
}

/* Forgets in a new session what an earlier one was refused. */
static void begin_session(struct aif_ze_metrics *m)
{
	if (m->session == aif_agent.session.generation)
		return;
	m->session = aif_agent.session.generation;
	for (uint32_t i = 0; i < m->len; i++) {
		struct aif_ze_reading *both[] = {&m->streamers[i].stalls,
						 &m->streamers[i].counting};

		for (unsigned k = 0; k < 2; k++) {
			both[k]->refused = both[k]->reported = false;
			both[k]->retry_at = 0;
		}
	}
}

static bool is_to_open(const struct aif_ze_reading *r, bool may, uint64_t now)
{
	return may && !r->streamer && !r->refused && now >= r->retry_at;
}

static void streamer_tick(struct aif_level_zero *l0, struct aif_ze_streamer *s, uint64_t now)
{
	/* Samples first: what is active is set anew for each. */
	if (is_to_open(&s->stalls, s->may_stall, now))
		open_stalls(l0, s);
	else if (s->stalls.streamer && now >= s->since && now - s->since >= WINDOW_NS)
		aif_ze_stalls_report(l0, s);
	if (is_to_open(&s->counting, s->may_count, now))
		open_counters(l0, s);
	else if (s->counting.streamer)
		aif_ze_counters_define(s);
}

/* Reads which devices the recorder lets this process read. True if that has changed since the last
 * call. */
static bool look(struct aif_ze_metrics *m)
{
	const struct aif_session *session = &aif_agent.session;
	const struct aif_shm *shm = session->shm;
	uint64_t stalls = 0, counting = 0;
	bool is_new;

	if (shm && session->stall_rate)
		stalls = atomic_load_explicit(&shm->streamers, memory_order_acquire);
	if (shm && *session->counters && !aif_ze_queries_wanted())
		counting = atomic_load_explicit(&shm->counting, memory_order_acquire);
	is_new = stalls != m->may_stall || counting != m->may_count;
	m->may_stall = stalls;
	m->may_count = counting;
	return is_new;
}

void aif_ze_metrics_tick(struct aif_level_zero *l0, uint64_t now)
{
	struct aif_ze_metrics *m = &l0->metrics;

	(void)look(m);
	if (!m->may_stall && !m->may_count)
		return;
	pthread_mutex_lock(&m->lock);
	begin_session(m);
	pthread_mutex_lock(&l0->lock);
	find_streamers(l0, m->may_stall, m->may_count);
	pthread_mutex_unlock(&l0->lock);
	for (uint32_t i = 0; i < m->len && !aif_ze_has_left(); i++)
		streamer_tick(l0, &m->streamers[i], now);
	pthread_mutex_unlock(&m->lock);
}

static void read_one(struct aif_level_zero *l0, struct aif_ze_streamer *s, struct aif_ze_reading *r)
{
	bool is_counting = r == &s->counting;

	r->read_at = aif_now_ns() + r->read_ns;
	if (is_counting ? aif_ze_counters_read(l0, s) : aif_ze_stalls_read(l0, s))
		return;
	if (is_counting)
		aif_ze_counters_define(s);
	else
		aif_ze_stalls_report(l0, s);
	close_streamer(l0, s, r);
	refused(s, r, is_counting ? AIF_REASON_ZE_COUNTERS_FAILED : AIF_REASON_ZE_METRICS_FAILED,
		"zetMetricStreamerReadData", r->error);
	r->refused = true;
}

/* Returns when to look for the recorder's permission again: a write to shared memory does not wake
 * the helper. */
static uint64_t next_look(struct aif_ze_metrics *m, uint64_t now)
{
	const struct aif_session *session = &aif_agent.session;

	if (m->eager != session->generation) {
		m->eager = session->generation;
		m->eager_until = now + EAGER_NS;
	}
	return *session->counters && !aif_ze_queries_wanted() && !m->may_count &&
			       now < m->eager_until
		       ? now + GLANCE_NS
		       : UINT64_MAX;
}

uint64_t aif_ze_metrics_poll(struct aif_level_zero *l0, uint64_t now)
{
	struct aif_ze_metrics *m = &l0->metrics;
	uint64_t next;

	if (look(m))
		aif_ze_metrics_tick(l0, now);
	next = next_look(m, now);
	pthread_mutex_lock(&m->lock);
	for (uint32_t i = 0; i < m->len && !aif_ze_has_left(); i++) {
		struct aif_ze_streamer *s = &m->streamers[i];
		struct aif_ze_reading *both[] = {&s->stalls, &s->counting};

		for (unsigned k = 0; k < 2; k++) {
			if (both[k]->streamer && now >= both[k]->read_at)
				read_one(l0, s, both[k]);
			if (both[k]->streamer)
				next = AIF_MIN(next, both[k]->read_at);
		}
	}
	pthread_mutex_unlock(&m->lock);
	return next;
}

/* Under the lock. */
static void stop(struct aif_level_zero *l0)
{
	for (uint32_t i = 0; i < l0->metrics.len; i++) {
		struct aif_ze_streamer *s = &l0->metrics.streamers[i];

		if (s->stalls.streamer) {
			(void)aif_ze_stalls_read(l0, s);
			aif_ze_stalls_report(l0, s);
			close_streamer(l0, s, &s->stalls);
		}
		if (s->counting.streamer) {
			(void)aif_ze_counters_read(l0, s);
			aif_ze_counters_define(s);
			close_streamer(l0, s, &s->counting);
		}
	}
}

void aif_ze_metrics_stop(struct aif_level_zero *l0)
{
	pthread_mutex_lock(&l0->metrics.lock);
	if (!aif_ze_has_left())
		stop(l0);
	pthread_mutex_unlock(&l0->metrics.lock);
}

/* Counts the last samples as lost: the helper is in the middle of reading them. */
static void left_behind(void)
{
	struct aif_thread *t = aif_thread_enter();

	if (!t)
		return;
	aif_emit_note(t, AIF_REASON_ZE_METRICS_LAST, 1, "");
	aif_thread_leave(t);
}

void aif_ze_metrics_at_exit(struct aif_level_zero *l0)
{
	for (int i = 0; pthread_mutex_trylock(&l0->metrics.lock); i++) {
		const struct timespec step = {.tv_nsec = 1000000};

		if (i == LEAVE_TRIES) {
			left_behind();
			return;
		}
		nanosleep(&step, NULL);
	}
	stop(l0);
	pthread_mutex_unlock(&l0->metrics.lock);
}
