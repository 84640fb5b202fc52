/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

/*
 * Commands that are appended to a list. The prologue writes the launch and sees to it that an event will have its
 * times; the epilogue knows whether it was accepted. The application gets what it would get without us: it never sees
 * an event of ours, and its own are left to it.
 */

static AIF_NOINLINE void launch(struct aif_level_zero *l0, struct aif_thread *t,
				struct aif_ze_command *c, const struct aif_regs *regs,
				const struct aif_emit_api *api, uint64_t now)
{
	struct aif_emit_launch l = {
		.kind = c->kind, .time = now, .stream = AIF_WIRE_NONE, .kernel = AIF_WIRE_NONE};
	struct aif_emit_cost cost;

	aif_emit_cost_begin(t, &cost, now);
	aif_capture_prefetch(t, regs);
	if (c->kind == AIF_EMIT_KERNEL)
		aif_emit_shape_prefetch(t, &c->shape);
	if (c->stream) {
		aif_ze_stream_define(l0, t, c->stream);
		l.stream = c->stream->id;
	}
	if (c->kernel)
		l.kernel = aif_ze_kernel_define(l0, t, c->kernel);
	l.stack = aif_capture(t, regs, api);
	if (c->kind ==
	    AIF_EMIT_KERNEL) /* after the stack, which may make shapes' numbers start anew */
		l.shape = aif_emit_shape(t, &c->shape);
	else
		l.bytes = c->bytes;
	c->generation = aif_emit_launch(t, &l, &c->launch) ? t->generation : 0;
	aif_emit_cost_end(&cost);
}

void aif_ze_launch_late(struct aif_thread *t, struct aif_ze_command *c, const struct aif_regs *regs,
			const struct aif_emit_api *api, uint64_t now)
{
	c->left_out = !aif_emit_wanted(t, now);
	if (!c->left_out)
		launch(L0, t, c, regs, api, now);
}

/* An event for its times: the application's, else one of ours in its place. */
static void give_event(struct aif_level_zero *l0, struct aif_ze_command *c,
		       const struct aif_ze_list *list, void **event)
{
	if (*event) {
		c->app = aif_ze_app_event_get(l0, *event);
		c->handle = c->app ? *event : NULL;
		if (!c->app)
			return;
		atomic_store_explicit(&c->calling, AIF_ZE_CALLING, memory_order_relaxed);
		atomic_store_explicit(&c->app->command, c, memory_order_release);
		return;
	}
	c->event = aif_ze_event_new(l0, list->context);
	c->handle = c->event ? c->event->handle : NULL;
	if (c->event)
		*event = c->event->handle;
}

void aif_ze_append_begin(const struct aif_ze_call *call, const struct aif_ze_append *a)
{
	struct aif_level_zero *l0 = call->l0;
	bool asleep = aif_thread_asleep();
	struct aif_ze_list *list;
	struct aif_ze_command *c;
	struct aif_thread *t;
	uint64_t now;

	if (*a->event)
		aif_ze_app_event_reuse(l0, *a->event, false);
	list = aif_ze_list_get(l0, a->list);
	if (!list && !asleep)
		atomic_fetch_add(&l0->unknown, 1);
	/* A command that runs at once is not needed while nobody records; a regular list may be executed later. */
	if (!list || (asleep && (list->stream || aif_agent.env.level == AIF_LEVEL_OFF)))
		return;
	t = aif_thread_enter();
	if (!t && list->stream) {
		aif_emit_missed();
		return;
	}
	now = aif_now_ns();
	if (t && !aif_emit_wanted(t, now)) {
		aif_thread_leave(t);
		return;
	}
	c = aif_ze_command_new(l0);
	if (!c) {
		atomic_fetch_add(&l0->timeless, 1);
		if (t)
			aif_thread_leave(t);
		return;
	}
	c->kind = a->kind;
	c->kernel = a->kernel;
	c->shape = a->shape;
	c->bytes = a->bytes;
	c->stream = list->stream;
	c->once = list->stream;
	if (t)
		launch(l0, t, c, call->regs, call->api, now);
	give_event(l0, c, list, a->event);
	if (t) {
		aif_ze_query_begin(l0, t, c, list);
		aif_launching_set(c->generation ? c->launch + 1 : 0);
		aif_thread_leave(t);
	}
	*call->instance = c;
}

static void failed(void)
{
	struct aif_thread *t = aif_thread_enter();

	if (!t)
		return;
	aif_emit_note(t, AIF_REASON_FAILED_COMMAND, 1, "");
	aif_thread_leave(t);
}

void aif_ze_append_end(const struct aif_ze_call *call)
{
	struct aif_level_zero *l0 = call->l0;
	struct aif_ze_command *c = *call->instance;
	struct aif_ze_list *list;

	aif_launching_set(0);
	if (!c)
		return;
	*call->instance = NULL;
	aif_ze_query_end(l0, c, AIF_ZE_ARG(call, 0, void *));
	if (call->result != AIF_ZE_SUCCESS) {
		failed();
		/* Another thread may just have found it by its event. */
		pthread_mutex_lock(&l0->lock);
		aif_ze_command_free(l0, c);
		pthread_mutex_unlock(&l0->lock);
		return;
	}
	if (c->once) {
		if (c->handle) {
			aif_ze_command_launched(l0, c);
		} else {
			atomic_fetch_add(&l0->timeless, 1);
			aif_ze_command_free(l0, c);
		}
		return;
	}
	aif_ze_command_appended(c);
	list = aif_ze_list_get(l0, AIF_ZE_ARG(call, 0, void *));
	if (!list) {
		aif_ze_command_free(l0, c);
		return;
	}
	if (list->last)
		list->last->down = c;
	else
		list->commands = c;
	list->last = c;
}

/* ---- barriers -------------------------------------------------------------------------------- */

void aif_ze_barrier_begin(const struct aif_ze_call *call)
{
	if (!aif_thread_asleep())
		*call->instance = (void *)(uintptr_t)aif_now_ns();
}

void aif_ze_barrier_end(const struct aif_ze_call *call, const char *name)
{
	uint64_t since = (uintptr_t)*call->instance;
	struct aif_thread *t;

	*call->instance = NULL;
	t = since && call->result == AIF_ZE_SUCCESS ? aif_thread_enter() : NULL;
	if (!t)
		return;
	if (aif_budget_is_on(aif_budget_block(&aif_agent.budget, since)))
		aif_emit_mark(t, AIF_MARK_CALL, aif_capture(t, call->regs, call->api), since, name);
	aif_thread_leave(t);
}
