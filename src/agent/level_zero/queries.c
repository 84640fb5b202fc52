/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

#include <stdio.h>
#include <string.h>

#define RAW_BYTES (64u << 10)
/* A query of a device with tiles has a row of values for each; the first is read. */
#define VALUES_MAX 4096

struct aif_ze_query_pool {
	const struct aif_ze_context *context; /* NULL: free */
	void *root, *group, *pool;
	struct aif_ze_device *device;
	_Atomic uint32_t session; /* in which its group is active; 0 = in none */
	bool refused;
	struct aif_ze_counters *counters; /* kept for the next one */
	struct aif_ze_stack free;
	_Atomic uint32_t used;
	struct aif_ze_query queries[AIF_ZE_QUERIES];
};

struct aif_ze_queries {
	struct aif_ze_query_pool pools[AIF_ZE_QUERY_POOLS];
	uint8_t raw[RAW_BYTES]; /* under `lock` */
	struct aif_ze_value values[VALUES_MAX];
};

static const char *group_name(void)
{
	return aif_agent.session.counters + strlen(AIF_ZE_QUERY_PREFIX);
}

bool aif_ze_queries_wanted(void)
{
	return !strncmp(aif_agent.session.counters, AIF_ZE_QUERY_PREFIX,
			strlen(AIF_ZE_QUERY_PREFIX));
}

static bool functions_are_there(const struct aif_ze_functions *f)
{
	return f->zetMetricGroupGet && f->zetMetricGroupGetProperties && f->zetMetricGet &&
	       f->zetMetricGetProperties && f->zetContextActivateMetricGroups &&
	       f->zetMetricGroupCalculateMetricValues && f->zetMetricQueryPoolCreate &&
	       f->zetMetricQueryPoolDestroy && f->zetMetricQueryCreate &&
	       f->zetMetricQueryDestroy && f->zetMetricQueryReset && f->zetMetricQueryGetData &&
	       f->zetCommandListAppendMetricQueryBegin && f->zetCommandListAppendMetricQueryEnd;
}

/* ---- pools ----------------------------------------------------------------------------------- */

static void give(struct aif_ze_query *q)
{
	struct aif_ze_query_pool *p = q->pool;

	atomic_fetch_sub(&p->used, 1);
	aif_ze_push(&p->free, &q->next, (uint32_t)(q - p->queries));
}

/* Returns the group of that name that can be queried, or NULL. */
static void *find_group(struct aif_level_zero *l0, void *root)
{
	uint32_t n = 0;
	void **groups = aif_ze_groups_get(l0, root, &n), *found = NULL;

	for (uint32_t i = 0; groups && i < n && !found; i++) {
		struct aif_ze_group_properties p = {.stype = AIF_ZE_GROUP_PROPS};

		if (l0->api.zetMetricGroupGetProperties(groups[i], &p) != AIF_ZE_SUCCESS ||
		    !(p.sampling & AIF_ZE_EVENT_BASED))
			continue;
		p.name[sizeof(p.name) - 1] = '\0';
		if (!strcasecmp(p.name, group_name()))
			found = groups[i];
	}
	aif_ze_groups_free(groups);
	return found;
}

static void refuse(struct aif_thread *t, struct aif_ze_query_pool *p, enum aif_reason reason,
		   const char *what, uint32_t error)
{
	char text[400];

	p->refused = true;
	if (error)
		snprintf(text, sizeof(text), "%s: %s: %#x", p->device->desc.name, what, error);
	else
		snprintf(text, sizeof(text), "%s%s%s", p->device->desc.name, *what ? ": " : "",
			 what);
	aif_emit_note(t, reason, 1, text);
}

static bool make_queries(struct aif_level_zero *l0, struct aif_thread *t,
			 struct aif_ze_query_pool *p)
{
	const struct aif_ze_query_pool_desc desc = {.stype = AIF_ZE_QUERY_POOL_DESC,
						    .count = AIF_ZE_QUERIES};
	uint32_t n = 0, e = l0->api.zetMetricQueryPoolCreate(p->context->handle, p->root, p->group,
							     &desc, &p->pool);

	if (e != AIF_ZE_SUCCESS) {
		p->pool = NULL;
		refuse(t, p, AIF_REASON_ZE_COUNTERS_FAILED, "zetMetricQueryPoolCreate", e);
		return false;
	}
	for (; n < AIF_ZE_QUERIES; n++) {
		struct aif_ze_query *q = &p->queries[n];

		*q = (struct aif_ze_query){.pool = p};
		e = l0->api.zetMetricQueryCreate(p->pool, n, &q->handle);
		if (e != AIF_ZE_SUCCESS) {
			q->handle = NULL;
			break;
		}
		aif_ze_push(&p->free, &q->next, n);
	}
	if (!n)
		refuse(t, p, AIF_REASON_ZE_COUNTERS_FAILED, "zetMetricQueryCreate", e);
	return n;
}

/* Activates the group, in the application's context, where the queries are. */
static void begin_session(struct aif_level_zero *l0, struct aif_thread *t,
			  struct aif_ze_query_pool *p)
{
	uint32_t e;

	p->refused = false;
	atomic_store(&p->session, t->generation);
	if (!functions_are_there(&l0->api) || !l0->metrics.enabled) {
		refuse(t, p, AIF_REASON_ZE_COUNTERS_OFF, "", 0);
		return;
	}
	p->group = find_group(l0, p->root);
	if (!p->group || !aif_ze_counters_describe(l0, p->group, &p->counters)) {
		refuse(t, p, AIF_REASON_ZE_COUNTERS_NONE, aif_agent.session.counters, 0);
		return;
	}
	e = l0->api.zetContextActivateMetricGroups(p->context->handle, p->root, 1, &p->group);
	if (e != AIF_ZE_SUCCESS)
		refuse(t, p, AIF_REASON_ZE_COUNTERS_FAILED, "zetContextActivateMetricGroups", e);
	else if (!p->pool)
		(void)make_queries(l0, t, p);
}

/* Under `lock`. NULL: there are too many. */
static struct aif_ze_query_pool *pool_get(struct aif_level_zero *l0, const struct aif_ze_list *list)
{
	struct aif_ze_query_pool *p = NULL;

	if (!l0->queries)
		l0->queries = aif_pages(sizeof(*l0->queries));
	for (uint32_t i = 0; l0->queries && i < AIF_ZE_QUERY_POOLS; i++) {
		struct aif_ze_query_pool *at = &l0->queries->pools[i];

		if (at->context == list->context && at->root == list->device->root)
			return at;
		if (!at->context && !p)
			p = at;
	}
	if (!p)
		return NULL;
	p->context = list->context;
	p->root = list->device->root;
	p->device = list->device;
	return p;
}

static void destroy(struct aif_level_zero *l0, struct aif_ze_query_pool *p)
{
	if (p->pool && atomic_load(&p->session))
		l0->api.zetContextActivateMetricGroups(p->context->handle, p->root, 0, NULL);
	for (uint32_t i = 0; p->pool && i < AIF_ZE_QUERIES && p->queries[i].handle; i++) {
		l0->api.zetMetricQueryDestroy(p->queries[i].handle);
		p->queries[i].handle = NULL;
	}
	if (p->pool)
		l0->api.zetMetricQueryPoolDestroy(p->pool);
	p->pool = NULL;
	p->context = NULL;
	atomic_store(&p->session, 0);
	atomic_store(&p->used, 0);
	atomic_store(&p->free.head, 0);
}

void aif_ze_queries_destroy(struct aif_level_zero *l0, const struct aif_ze_context *context)
{
	for (uint32_t i = 0; l0->queries && i < AIF_ZE_QUERY_POOLS; i++)
		if (l0->queries->pools[i].context == context)
			destroy(l0, &l0->queries->pools[i]);
}

void aif_ze_queries_stop(struct aif_level_zero *l0)
{
	pthread_mutex_lock(&l0->lock);
	for (uint32_t i = 0; l0->queries && i < AIF_ZE_QUERY_POOLS && !aif_ze_has_left(); i++) {
		struct aif_ze_query_pool *p = &l0->queries->pools[i];

		/* Queries on lists need their group to be active. */
		if (!p->context || !p->pool || atomic_load(&p->used) ||
		    !atomic_exchange(&p->session, 0))
			continue;
		l0->api.zetContextActivateMetricGroups(p->context->handle, p->root, 0, NULL);
	}
	pthread_mutex_unlock(&l0->lock);
}

/* ---- around a kernel ------------------------------------------------------------------------- */

static struct aif_ze_query_pool *pool_of(struct aif_level_zero *l0, struct aif_thread *t,
					 struct aif_ze_list *list)
{
	struct aif_ze_query_pool *p = list->queries;

	if (p && atomic_load_explicit(&p->session, memory_order_acquire) == t->generation)
		return p;
	pthread_mutex_lock(&l0->lock);
	if (!p)
		p = pool_get(l0, list);
	if (p && atomic_load(&p->session) != t->generation)
		begin_session(l0, t, p);
	list->queries = p;
	pthread_mutex_unlock(&l0->lock);
	return p;
}

void aif_ze_query_begin(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_command *c,
			struct aif_ze_list *list)
{
	struct aif_ze_query_pool *p;
	struct aif_ze_query *q;
	uint32_t i;

	/* A kernel without a known event is never looked at. */
	if (c->kind != AIF_EMIT_KERNEL || !c->generation || !c->handle ||
	    !aif_ze_queries_wanted() || !list->context || !list->device)
		return;
	p = pool_of(l0, t, list);
	if (p && p->refused)
		return;
	i = p ? aif_ze_pop(&p->free, p->queries, sizeof(*p->queries),
			   offsetof(struct aif_ze_query, next))
	      : AIF_WIRE_NONE;
	if (i == AIF_WIRE_NONE) {
		atomic_fetch_add(&l0->queries_lost, 1);
		return;
	}
	atomic_fetch_add(&p->used, 1);
	q = &p->queries[i];
	q->pending = false;
	q->event = aif_ze_event_new(l0, list->context);
	if (q->event && l0->api.zetCommandListAppendMetricQueryBegin(list->handle, q->handle) ==
				AIF_ZE_SUCCESS) {
		c->query = q;
		return;
	}
	if (q->event)
		aif_ze_event_free(l0, q->event);
	give(q);
	atomic_fetch_add(&l0->queries_lost, 1);
}

void aif_ze_query_end(struct aif_level_zero *l0, struct aif_ze_command *c, void *list)
{
	struct aif_ze_query *q = c->query;

	if (!q)
		return;
	if (l0->api.zetCommandListAppendMetricQueryEnd(list, q->handle, q->event->handle, 0,
						       NULL) == AIF_ZE_SUCCESS) {
		q->pending = c->once;
		return;
	}
	/* A query without an end is left to the list that has begun it. */
	aif_ze_event_free(l0, q->event);
	c->query = NULL;
	atomic_fetch_add(&l0->queries_lost, 1);
}

void aif_ze_query_executed(struct aif_ze_command *c)
{
	if (c->query)
		c->query->pending = true;
}

bool aif_ze_query_is_over(struct aif_level_zero *l0, const struct aif_ze_command *c)
{
	return !c->query || !c->query->pending ||
	       l0->api.zeEventQueryStatus(c->query->event->handle) == AIF_ZE_SUCCESS;
}

bool aif_ze_query_is_of(const struct aif_ze_command *c, const struct aif_ze_context *context)
{
	return c->query && c->query->pool->context == context;
}

/* Returns the number of values in l0->queries->values; 0: they cannot be had. */
static uint32_t read_values(struct aif_level_zero *l0, const struct aif_ze_query *q)
{
	struct aif_ze_queries *all = l0->queries;
	void *group = q->pool->group;
	size_t size = 0;
	uint32_t n = 0;

	if (l0->api.zetMetricQueryGetData(q->handle, &size, NULL) != AIF_ZE_SUCCESS || !size ||
	    size > RAW_BYTES ||
	    l0->api.zetMetricQueryGetData(q->handle, &size, all->raw) != AIF_ZE_SUCCESS ||
	    size > RAW_BYTES ||
	    l0->api.zetMetricGroupCalculateMetricValues(group, 0, size, all->raw, &n, NULL) !=
		    AIF_ZE_SUCCESS ||
	    !n || n > VALUES_MAX ||
	    l0->api.zetMetricGroupCalculateMetricValues(group, 0, size, all->raw, &n,
							all->values) != AIF_ZE_SUCCESS)
		return 0;
	return AIF_MIN(n, VALUES_MAX);
}

void aif_ze_query_report(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_command *c)
{
	struct aif_ze_query *q = c->query;
	uint32_t n;

	if (!q || !q->pending)
		return;
	n = aif_ze_query_is_over(l0, c) ? read_values(l0, q) : 0;
	if (!n || !t || c->generation != t->generation ||
	    !aif_ze_counters_emit(l0, t, q->pool->counters, q->pool->device, c->launch,
				  l0->queries->values, n))
		atomic_fetch_add(&l0->queries_lost, 1);
	if (!aif_ze_query_is_over(l0, c))
		return;
	q->pending = false;
	/* A regular list's is written anew when the list is executed again. */
	l0->api.zetMetricQueryReset(q->handle);
	l0->api.zeEventHostReset(q->event->handle);
}

void aif_ze_query_free(struct aif_level_zero *l0, struct aif_ze_command *c)
{
	struct aif_ze_query *q = c->query;
	bool is_over = q && aif_ze_query_is_over(l0, c);

	c->query = NULL;
	if (!q)
		return;
	if (q->pending)
		atomic_fetch_add(&l0->queries_lost, 1);
	if (!is_over)
		return;
	l0->api.zetMetricQueryReset(q->handle);
	aif_ze_event_free(l0, q->event);
	give(q);
}
