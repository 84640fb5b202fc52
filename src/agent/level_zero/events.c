/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

/*
 * Events of the application's: a pool that the host may look at, and is not shared with other processes, is made with
 * times. An event then tells of the command that signals it until it is reset, destroyed or signalled by another.
 */

void aif_ze_context_destroy_begin(const struct aif_ze_call *call)
{
	struct aif_level_zero *l0 = call->l0;
	struct aif_ze_context *c = aif_handles_get(&l0->contexts, AIF_ZE_ARG(call, 0, void *));

	if (!c)
		return;
	pthread_mutex_lock(&l0->lock);
	aif_ze_context_settle(l0, c);
	c->destroyed = true;
	aif_handles_put(&l0->contexts, c->handle, NULL);
	aif_ze_queries_destroy(l0, c);
	aif_ze_event_pools_destroy(l0, c);
	pthread_mutex_unlock(&l0->lock);
}

void aif_ze_pool_create_begin(const struct aif_ze_call *c)
{
	const struct aif_ze_pool_desc **desc = c->a[1];

	if (!*desc || !aif_session_wanted() || !((*desc)->flags & AIF_ZE_EVENTS_HOST) ||
	    ((*desc)->flags & (AIF_ZE_EVENTS_IPC | AIF_ZE_EVENTS_TIMED)))
		return;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(c->l0->pool_calls); i++) {
		struct aif_ze_pool_call *p = &c->l0->pool_calls[i];

		if (atomic_exchange_explicit(&p->used, true, memory_order_acquire))
			continue;
		p->desc = **desc;
		p->desc.flags |= AIF_ZE_EVENTS_TIMED;
		*desc = &p->desc;
		*c->instance = p;
		return;
	}
}

void aif_ze_pool_created(const struct aif_ze_call *c)
{
	const struct aif_ze_pool_desc *desc = AIF_ZE_ARG(c, 1, const struct aif_ze_pool_desc *);
	const uint32_t timed = AIF_ZE_EVENTS_HOST | AIF_ZE_EVENTS_TIMED;
	struct aif_ze_pool_call *p = *c->instance;
	struct aif_level_zero *l0 = c->l0;
	void **ret_pool = AIF_ZE_ARG(c, 4, void **);
	bool is_timed = desc && (desc->flags & timed) == timed;

	if (p)
		atomic_store_explicit(&p->used, false, memory_order_release);
	if (c->result != AIF_ZE_SUCCESS || !ret_pool)
		return;
	pthread_mutex_lock(&l0->lock);
	if (is_timed || aif_handles_get(&l0->pools, *ret_pool))
		aif_handles_put(&l0->pools, *ret_pool, is_timed ? l0 : NULL);
	pthread_mutex_unlock(&l0->lock);
}

void aif_ze_app_event_created(const struct aif_ze_call *c)
{
	struct aif_level_zero *l0 = c->l0;
	void *pool = AIF_ZE_ARG(c, 0, void *), **ret_event = AIF_ZE_ARG(c, 2, void **);
	struct aif_ze_app_event *e;

	if (c->result != AIF_ZE_SUCCESS || !ret_event || !aif_handles_get(&l0->pools, pool))
		return;
	pthread_mutex_lock(&l0->lock);
	e = l0->free_app_events;
	if (e)
		l0->free_app_events = e->next;
	else
		e = aif_arena_alloc(&l0->arena, sizeof(*e));
	if (e) {
		*e = (struct aif_ze_app_event){.command = NULL};
		aif_handles_put(&l0->app_events, *ret_event, e);
	}
	pthread_mutex_unlock(&l0->lock);
}

void aif_ze_app_event_reuse(struct aif_level_zero *l0, void *event, bool keeps)
{
	struct aif_ze_app_event *e = aif_ze_app_event_get(l0, event);
	struct aif_ze_command *c;

	if (aif_likely(!e || !atomic_load_explicit(&e->command, memory_order_acquire)))
		return;
	pthread_mutex_lock(&l0->lock);
	c = atomic_load(&e->command);
	if (c && !aif_ze_command_read_early(l0, c, event, keeps))
		aif_ze_command_read_last(l0, c, keeps);
	pthread_mutex_unlock(&l0->lock);
}

void aif_ze_app_event_destroy_begin(const struct aif_ze_call *c)
{
	struct aif_level_zero *l0 = c->l0;
	void *event = AIF_ZE_ARG(c, 0, void *);
	struct aif_ze_app_event *e = aif_ze_app_event_get(l0, event);

	if (!e)
		return;
	aif_ze_app_event_reuse(l0, event, false);
	pthread_mutex_lock(&l0->lock);
	aif_handles_put(&l0->app_events, event, NULL);
	e->next = l0->free_app_events;
	l0->free_app_events = e;
	pthread_mutex_unlock(&l0->lock);
}
