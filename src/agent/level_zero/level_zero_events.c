/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

/*
 * Events of ours: pools of 1024 per context, made when the last one is used up, which is on a launch path but once
 * in 1024 launches, and bounded; what has ended gives its event back. A context that has no more goes without times.
 * With a context its pools go, and their places here are free for others: no command keeps an event of it.
 *
 * The application's: a pool that the host may look at, and is not shared with other processes, is made with times. An
 * event then tells of the command that signals it until it is reset, destroyed or signalled by another.
 *
 * Stacks are of indices, with a change count that keeps a slow thread from taking back a head that has come and
 * gone.
 */

void aif_ze_push(struct aif_ze_stack *s, _Atomic uint32_t *next, uint32_t index)
{
	uint64_t old = atomic_load_explicit(&s->head, memory_order_relaxed), new;

	do {
		atomic_store_explicit(next, (uint32_t)old, memory_order_relaxed);
		new = ((old >> 32) + 1) << 32 | (index + 1);
	} while (!atomic_compare_exchange_weak_explicit(&s->head, &old, new, memory_order_release,
							memory_order_relaxed));
}

uint32_t aif_ze_pop(struct aif_ze_stack *s, void *base, size_t size, size_t next)
{
	uint64_t old = atomic_load_explicit(&s->head, memory_order_acquire), new;
	uint32_t index;

	do {
		if (!(uint32_t)old)
			return AIF_WIRE_NONE;
		index = (uint32_t)old - 1;
		new = ((old >> 32) + 1) << 32 |
		      atomic_load_explicit(
			      (_Atomic uint32_t *)((uint8_t *)base + index * size + next),
			      memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(&s->head, &old, new, memory_order_acquire,
							memory_order_acquire));
	return index;
}

static void give(struct aif_level_zero *l0, struct aif_ze_event *e)
{
	aif_ze_push(&e->context->free, &e->next, (uint32_t)(e - l0->events));
}

static bool make_pool(struct aif_level_zero *l0, struct aif_ze_context *c)
{
	const struct aif_ze_pool_desc desc = {.stype = AIF_ZE_POOL_DESC,
					      .flags = AIF_ZE_EVENTS_HOST | AIF_ZE_EVENTS_TIMED,
					      .count = AIF_ZE_POOL_EVENTS};
	uint32_t place = 0, first, n = 0;
	void *pool = NULL;

	while (place < AIF_ZE_POOLS_MAX && l0->pool_taken[place])
		place++;
	if (place == AIF_ZE_POOLS_MAX || c->pools_len == AIF_ARRAY_LEN(c->pools) ||
	    l0->api.zeEventPoolCreate(c->handle, &desc, 0, NULL, &pool) != AIF_ZE_SUCCESS)
		return false;
	first = place * AIF_ZE_POOL_EVENTS;
	for (; n < AIF_ZE_POOL_EVENTS; n++) {
		/* The host looks at it: its memory must have come to it. */
		const struct aif_ze_event_desc ed = {
			.stype = AIF_ZE_EVENT_DESC, .index = n, .signal = AIF_ZE_EVENT_TO_HOST};
		struct aif_ze_event *e = &l0->events[first + n];

		if (l0->api.zeEventCreate(pool, &ed, &e->handle) != AIF_ZE_SUCCESS)
			break;
		e->context = c;
		give(l0, e);
	}
	/* What is not made is not used either: the pool's places are taken all the same. */
	l0->pool_taken[place] = true;
	c->first[c->pools_len] = first;
	c->pools[c->pools_len++] = pool;
	return n > 0;
}

struct aif_ze_event *aif_ze_event_new(struct aif_level_zero *l0, struct aif_ze_context *c)
{
	uint32_t i;

	if (!c || c->gone)
		return NULL;
	for (;;) {
		i = aif_ze_pop(&c->free, l0->events, sizeof(*l0->events),
			       offsetof(struct aif_ze_event, next));
		if (aif_likely(i != AIF_WIRE_NONE))
			return &l0->events[i];
		pthread_mutex_lock(&l0->lock);
		if (!c->refused && !c->gone && !(uint32_t)atomic_load(&c->free.head))
			c->refused = !make_pool(l0, c);
		i = c->refused || c->gone;
		pthread_mutex_unlock(&l0->lock);
		if (i) /* one may have come back meanwhile */
			break;
	}
	i = aif_ze_pop(&c->free, l0->events, sizeof(*l0->events),
		       offsetof(struct aif_ze_event, next));
	return i == AIF_WIRE_NONE ? NULL : &l0->events[i];
}

/* The device is done with it, or never had it. */
void aif_ze_event_free(struct aif_level_zero *l0, struct aif_ze_event *e)
{
	if (e->context->gone || l0->api.zeEventHostReset(e->handle) != AIF_ZE_SUCCESS)
		return;
	give(l0, e);
}

void aif_ze_context_goes(const struct aif_ze_call *call)
{
	struct aif_level_zero *l0 = call->l0;
	struct aif_ze_context *c = aif_handles_get(&l0->contexts, AIF_ZE_ARG(call, 0, void *));

	if (!c)
		return;
	pthread_mutex_lock(&l0->lock);
	aif_ze_context_ask(l0, c);
	c->gone = true;
	aif_handles_put(&l0->contexts, c->handle, NULL);
	/* In the order that the driver asks for. */
	for (uint32_t p = 0; p < c->pools_len; p++) {
		for (uint32_t i = 0; i < AIF_ZE_POOL_EVENTS; i++) {
			struct aif_ze_event *e = &l0->events[c->first[p] + i];

			if (e->handle)
				l0->api.zeEventDestroy(e->handle);
			e->handle = NULL;
		}
		l0->api.zeEventPoolDestroy(c->pools[p]);
		l0->pool_taken[c->first[p] / AIF_ZE_POOL_EVENTS] = false;
	}
	c->pools_len = 0;
	atomic_store(&c->free.head, 0);
	pthread_mutex_unlock(&l0->lock);
}

/* ---- the application's ----------------------------------------------------------------------- */

void aif_ze_pool_creates(const struct aif_ze_call *c)
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
		*e = (struct aif_ze_app_event){.timed = true};
		aif_handles_put(&l0->app_events, *ret_event, e);
	}
	pthread_mutex_unlock(&l0->lock);
}

struct aif_ze_app_event *aif_ze_app_event_get(struct aif_level_zero *l0, void *event)
{
	return aif_handles_get(&l0->app_events, event);
}

void aif_ze_app_event_goes(struct aif_level_zero *l0, void *event, bool keeps)
{
	struct aif_ze_app_event *e = aif_ze_app_event_get(l0, event);
	struct aif_ze_command *c;

	if (aif_likely(!e || !atomic_load_explicit(&e->command, memory_order_acquire)))
		return;
	pthread_mutex_lock(&l0->lock);
	c = atomic_load(&e->command);
	if (c && !aif_ze_early_look(l0, c, event, keeps))
		aif_ze_last_look(l0, c, keeps);
	pthread_mutex_unlock(&l0->lock);
}

void aif_ze_app_event_destroys(const struct aif_ze_call *c)
{
	struct aif_level_zero *l0 = c->l0;
	void *event = AIF_ZE_ARG(c, 0, void *);
	struct aif_ze_app_event *e = aif_ze_app_event_get(l0, event);

	if (!e)
		return;
	aif_ze_app_event_goes(l0, event, false);
	pthread_mutex_lock(&l0->lock);
	aif_handles_put(&l0->app_events, event, NULL);
	e->next = l0->free_app_events;
	l0->free_app_events = e;
	pthread_mutex_unlock(&l0->lock);
}
