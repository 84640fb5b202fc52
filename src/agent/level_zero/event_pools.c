/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

/*
 * Events of ours: pools of 1024 per context, made when the last one is used up, which is on a launch path but once
 * in 1024 launches, and bounded; what has ended gives its event back. A context that has no more goes without times.
 * With a context its pools are destroyed, and their places here are free for others: no command keeps an event of it.
 */

#define ALL_TAKEN UINT64_MAX
static_assert(AIF_ZE_POOLS_MAX == 64, "pools_taken");

static void give(struct aif_level_zero *l0, struct aif_ze_event *e)
{
	aif_ze_push(&e->context->free, &e->next, (uint32_t)(e - l0->events));
}

static bool make_pool(struct aif_level_zero *l0, struct aif_ze_context *c)
{
	const struct aif_ze_pool_desc desc = {.stype = AIF_ZE_POOL_DESC,
					      .flags = AIF_ZE_EVENTS_HOST | AIF_ZE_EVENTS_TIMED,
					      .count = AIF_ZE_POOL_EVENTS};
	uint64_t taken = atomic_load(&l0->pools_taken);
	uint32_t first, n = 0;
	void *pool = NULL;

	if (taken == ALL_TAKEN)
		return false;
	c->refused = l0->api.zeEventPoolCreate(c->handle, &desc, 0, NULL, &pool) != AIF_ZE_SUCCESS;
	if (c->refused)
		return false;
	first = (uint32_t)__builtin_ctzll(~taken) * AIF_ZE_POOL_EVENTS;
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
	/* The pool's places are taken even if fewer events could be made. */
	atomic_store(&l0->pools_taken, taken | (taken + 1));
	c->first[c->pools_len] = first;
	c->pools[c->pools_len++] = pool;
	c->refused = !n;
	return n > 0;
}

struct aif_ze_event *aif_ze_event_new(struct aif_level_zero *l0, struct aif_ze_context *c)
{
	bool more = c && !c->destroyed;

	while (more) {
		uint32_t i = aif_ze_pop(&c->free, l0->events, sizeof(*l0->events),
					offsetof(struct aif_ze_event, next));

		if (aif_likely(i != AIF_WIRE_NONE))
			return &l0->events[i];
		if (atomic_load(&l0->pools_taken) == ALL_TAKEN)
			break;
		pthread_mutex_lock(&l0->lock);
		more = !c->destroyed &&
		       ((uint32_t)atomic_load(&c->free.head) || (!c->refused && make_pool(l0, c)));
		pthread_mutex_unlock(&l0->lock);
	}
	return NULL;
}

/* The device is done with it, or never had it. */
void aif_ze_event_free(struct aif_level_zero *l0, struct aif_ze_event *e)
{
	if (e->context->destroyed || l0->api.zeEventHostReset(e->handle) != AIF_ZE_SUCCESS)
		return;
	give(l0, e);
}

void aif_ze_event_pools_destroy(struct aif_level_zero *l0, struct aif_ze_context *c)
{
	/* In the order that the driver asks for. */
	for (uint32_t p = 0; p < c->pools_len; p++) {
		for (uint32_t i = 0; i < AIF_ZE_POOL_EVENTS; i++) {
			struct aif_ze_event *e = &l0->events[c->first[p] + i];

			if (e->handle)
				l0->api.zeEventDestroy(e->handle);
			e->handle = NULL;
		}
		l0->api.zeEventPoolDestroy(c->pools[p]);
		atomic_fetch_and(&l0->pools_taken,
				 ~(UINT64_C(1) << c->first[p] / AIF_ZE_POOL_EVENTS));
	}
	c->pools_len = 0;
	atomic_store(&c->free.head, 0);
}
