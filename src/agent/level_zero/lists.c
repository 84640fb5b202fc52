/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

/*
 * Command lists. An application appends to one, resets or executes it, from one thread at a time, as Level Zero asks
 * of it; so its chain of commands needs no lock while it is appended to, and what looks at it under the lock is not
 * there yet.
 */

/* Flags of a queue: since 1.9, an immediate list may keep the order of its commands. */
#define IN_ORDER 2u

void aif_ze_list_created(const struct aif_ze_call *c, bool immediate)
{
	const struct aif_ze_queue_desc *desc = AIF_ZE_ARG(c, 2, const struct aif_ze_queue_desc *);
	void **ret_list = AIF_ZE_ARG(c, 3, void **);
	struct aif_level_zero *l0 = c->l0;
	struct aif_ze_list *list;

	if (c->result != AIF_ZE_SUCCESS || !ret_list)
		return;
	pthread_mutex_lock(&l0->lock);
	list = l0->free_lists;
	if (list)
		l0->free_lists = list->next;
	else
		list = aif_arena_alloc(&l0->arena, sizeof(*list));
	if (list) {
		*list = (struct aif_ze_list){.handle = *ret_list};
		list->context = aif_ze_context_get(l0, AIF_ZE_ARG(c, 0, void *));
		list->device = aif_ze_device_get(l0, AIF_ZE_ARG(c, 1, void *));
		if (immediate)
			list->stream = aif_ze_stream_new(l0, list->device,
							 !desc || !(desc->flags & IN_ORDER));
		/* An immediate list that could not be described would look like a regular one. */
		aif_handles_put(&l0->lists, *ret_list, immediate && !list->stream ? NULL : list);
	}
	pthread_mutex_unlock(&l0->lock);
}

/* Under the lock. */
static void forget_commands(struct aif_level_zero *l0, struct aif_ze_list *list)
{
	struct aif_ze_command *next;

	if (!list->commands)
		return;
	aif_ze_pending_poll(l0);
	for (struct aif_ze_command *c = list->commands; c; c = next) {
		next = c->down;
		/* The application has seen to it that the device is done with it. */
		aif_ze_command_forget(l0, c);
	}
	list->commands = list->last = NULL;
}

void aif_ze_list_reset(const struct aif_ze_call *c)
{
	struct aif_ze_list *list = aif_ze_list_get(c->l0, AIF_ZE_ARG(c, 0, void *));

	if (!list || !list->commands)
		return;
	pthread_mutex_lock(&c->l0->lock);
	forget_commands(c->l0, list);
	pthread_mutex_unlock(&c->l0->lock);
}

void aif_ze_list_destroy_begin(const struct aif_ze_call *c)
{
	struct aif_level_zero *l0 = c->l0;
	struct aif_ze_list *list = aif_ze_list_get(l0, AIF_ZE_ARG(c, 0, void *));

	if (!list)
		return;
	pthread_mutex_lock(&l0->lock);
	forget_commands(l0, list);
	aif_handles_put(&l0->lists, list->handle, NULL);
	pthread_mutex_unlock(&l0->lock);
	*c->instance = list;
}

void aif_ze_list_destroy_end(const struct aif_ze_call *c)
{
	struct aif_level_zero *l0 = c->l0;
	struct aif_ze_list *list = *c->instance;

	if (!list)
		return;
	pthread_mutex_lock(&l0->lock);
	if (list->stream)
		aif_ze_stream_settle(l0, list->stream);
	list->next = l0->free_lists;
	l0->free_lists = list;
	pthread_mutex_unlock(&l0->lock);
}

void aif_ze_queue_created(const struct aif_ze_call *c)
{
	void **ret_queue = AIF_ZE_ARG(c, 3, void **);
	struct aif_level_zero *l0 = c->l0;
	struct aif_ze_stream *s;

	if (c->result != AIF_ZE_SUCCESS || !ret_queue)
		return;
	pthread_mutex_lock(&l0->lock);
	(void)aif_ze_context_get(l0, AIF_ZE_ARG(c, 0, void *));
	s = aif_ze_stream_new(l0, aif_ze_device_get(l0, AIF_ZE_ARG(c, 1, void *)), false);
	aif_handles_put(&l0->queues, *ret_queue, s);
	pthread_mutex_unlock(&l0->lock);
}

/* Writes the launches of what was appended when nobody recorded, or to another recorder. True if there were any. */
static bool report_late(const struct aif_ze_call *call, struct aif_ze_list *list,
			struct aif_ze_stream *s)
{
	struct aif_thread *t = NULL;
	uint64_t now = 0;

	for (struct aif_ze_command *c = list->commands; c; c = c->down) {
		uint32_t current = atomic_load_explicit(&aif_agent.session.armed->generation,
							memory_order_relaxed);

		if (c->generation == current)
			continue;
		if (!t) {
			t = aif_thread_enter();
			now = aif_now_ns();
		}
		if (!t)
			return false;
		c->stream = s;
		aif_ze_launch_late(t, c, call->regs, call->api, now);
	}
	if (t)
		aif_thread_leave(t);
	return t;
}

/* Under the lock. late: the list may have been executed when nobody looked at its events. */
static void await_commands(struct aif_level_zero *l0, struct aif_ze_list *list,
			   struct aif_ze_stream *s, bool late)
{
	uint64_t since = 0;

	/* Executions that have ended are reported before their events are used again. */
	aif_ze_pending_poll(l0);
	if (late && !aif_ze_device_clock(l0, s->device, &since))
		since = 0;
	for (struct aif_ze_command *c = list->commands; c; c = c->down) {
		c->stream = s;
		aif_ze_command_executed(l0, c, since);
	}
	/* Resets events that are signalled yet, before the device may signal them again. */
	if (late)
		aif_ze_pending_poll(l0);
}

/* s NULL: it is not known. */
static void execute(const struct aif_ze_call *call, struct aif_ze_stream *s)
{
	struct aif_level_zero *l0 = call->l0;
	uint32_t n = AIF_ZE_ARG(call, 1, uint32_t);
	void **lists = AIF_ZE_ARG(call, 2, void **);
	struct aif_thread *t;

	if (aif_thread_asleep() || !lists)
		return;
	if (!s) {
		atomic_fetch_add(&l0->unknown, n);
		return;
	}
	t = aif_thread_enter();
	if (t) {
		aif_ze_stream_define(l0, t, s);
		aif_thread_leave(t);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct aif_ze_list *list = aif_ze_list_get(l0, lists[i]);
		bool late;

		if (!list)
			atomic_fetch_add(&l0->unknown, 1);
		if (!list || !list->commands)
			continue;
		late = report_late(call, list, s);
		pthread_mutex_lock(&l0->lock);
		await_commands(l0, list, s, late);
		pthread_mutex_unlock(&l0->lock);
	}
}

void aif_ze_execute_begin(const struct aif_ze_call *call)
{
	execute(call, aif_handles_get(&call->l0->queues, AIF_ZE_ARG(call, 0, void *)));
}

void aif_ze_lists_append(const struct aif_ze_call *call)
{
	struct aif_ze_list *list = aif_ze_list_get(call->l0, AIF_ZE_ARG(call, 0, void *));

	/* Signalled when all of them have ended; it may have been a launch's before. */
	if (AIF_ZE_ARG(call, 3, void *))
		aif_ze_app_event_reuse(call->l0, AIF_ZE_ARG(call, 3, void *), false);
	execute(call, list ? list->stream : NULL);
}

void aif_ze_execute_end(const struct aif_ze_call *call)
{
	void **lists = AIF_ZE_ARG(call, 2, void **);
	uint32_t n = AIF_ZE_ARG(call, 1, uint32_t);
	struct aif_thread *t;

	if (call->result == AIF_ZE_SUCCESS || aif_thread_asleep() || !lists)
		return;
	/* A call that fails has executed nothing: its commands are awaited in vain, and forgotten with the list. */
	t = aif_thread_enter();
	if (!t)
		return;
	aif_emit_note(t, AIF_REASON_FAILED_COMMAND, n, "");
	aif_thread_leave(t);
}
