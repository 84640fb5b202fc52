/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

/*
 * From a launch to its end. What was launched is put on the inbox; whoever asks, under the lock, takes it from there
 * to the list of those that are awaited, and looks at each one's event: a word in memory that the device writes. The
 * helper asks when it has its turn; an application's thread does when an event or a list is about to be lost.
 *
 * A regular list's commands are awaited from one execution of the list to its end, and go back to the list. A list that
 * is executed again before that has one event for both: it tells of each that is looked at before the next has ended, and
 * of the last. Those that it did not tell of are counted when the list is about to forget them.
 */

struct aif_ze_command *aif_ze_command_new(struct aif_level_zero *l0)
{
	uint32_t i = aif_ze_pop(&l0->free, l0->commands, sizeof(*l0->commands),
				offsetof(struct aif_ze_command, next));
	struct aif_ze_command *c;

	if (aif_unlikely(i == AIF_WIRE_NONE)) {
		if (atomic_load_explicit(&l0->commands_made, memory_order_relaxed) >=
		    AIF_ZE_COMMANDS_MAX)
			return NULL;
		i = atomic_fetch_add_explicit(&l0->commands_made, 1, memory_order_relaxed);
		if (i >= AIF_ZE_COMMANDS_MAX)
			return NULL;
	}
	c = &l0->commands[i];
	c->down = NULL;
	c->generation = 0;
	c->kernel = NULL;
	c->event = NULL;
	c->app = NULL;
	c->handle = NULL;
	c->query = NULL;
	atomic_store_explicit(&c->calling, AIF_ZE_CALL_RETURNED, memory_order_relaxed);
	c->stream = NULL;
	c->last_start = c->since = 0;
	c->more = 0;
	c->once = c->left_out = c->chained = c->ended = c->forgotten = c->executed = c->reported =
		false;
	return c;
}

void aif_ze_command_free(struct aif_level_zero *l0, struct aif_ze_command *c)
{
	struct aif_ze_command *self = c;

	if (c->app)
		atomic_compare_exchange_strong(&c->app->command, &self, NULL);
	if (c->event)
		aif_ze_event_free(l0, c->event);
	aif_ze_query_free(l0, c);
	c->app = NULL;
	c->event = NULL;
	aif_ze_push(&l0->free, &c->next, (uint32_t)(c - l0->commands));
}

/* False: its event was lost meanwhile. */
static bool call_returned(struct aif_ze_command *c)
{
	uint32_t state = AIF_ZE_CALLING;

	return atomic_compare_exchange_strong(&c->calling, &state, AIF_ZE_CALL_RETURNED) ||
	       state == AIF_ZE_CALL_RETURNED;
}

void aif_ze_command_launched(struct aif_level_zero *l0, struct aif_ze_command *c)
{
	uint32_t calling = atomic_load_explicit(&c->calling, memory_order_relaxed);

	/* First, so that whoever finds that the call has returned finds it there. */
	aif_ze_push(&l0->inbox, &c->next, (uint32_t)(c - l0->commands));
	if (!calling || call_returned(c))
		return;
	atomic_store(&c->calling, atomic_load(&c->calling) == AIF_ZE_CALLING_EARLY
					  ? AIF_ZE_CALL_RETURNED_EARLY
					  : AIF_ZE_CALL_RETURNED_LOST);
}

void aif_ze_command_appended(struct aif_ze_command *c)
{
	if (call_returned(c))
		return;
	c->app = NULL;
	c->handle = NULL;
	atomic_store(&c->calling, AIF_ZE_CALL_RETURNED);
}

static void no_times_of(struct aif_level_zero *l0, const struct aif_ze_command *c, uint32_t n)
{
	atomic_fetch_add(c->once ? &l0->timeless : &l0->timeless_runs, n);
}

static void no_times(struct aif_level_zero *l0, const struct aif_ze_command *c)
{
	no_times_of(l0, c, 1);
}

static void report(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_command *c,
		   const struct aif_ze_kernel_times *times)
{
	struct aif_ze_device *d = c->stream->device;
	struct aif_emit_exec e = {
		.kind = c->kind,
		.launch = c->launch,
		.stream = c->stream->id,
		.kernel = c->kernel ? c->kernel->id : AIF_WIRE_NONE,
		.bytes = c->kind == AIF_EMIT_KERNEL ? 0 : c->bytes,
	};

	aif_ze_query_report(l0, t, c);
	/* Times of a clock that cannot be read are of no use. */
	if (!atomic_load_explicit(&d->last_ns, memory_order_relaxed) ||
	    !aif_ze_times(times, aif_ze_device_now(d), d->kernel_bits, &e.start, &e.end)) {
		no_times(l0, c);
	} else if (t && c->generation == t->generation) {
		e.start = aif_ze_ns(e.start, d->hertz);
		e.end = aif_ze_ns(e.end, d->hertz);
		aif_emit_exec(t, &e);
		c->reported = true;
	}
}

/* True if the times are of an execution before the first that was awaited: nobody recorded then, or the budget left it
 * out, so its event was not reset. */
static bool is_stale(const struct aif_ze_command *c, const struct aif_ze_kernel_times *times)
{
	struct aif_ze_device *d = c->stream->device;
	uint64_t start, end;

	return c->since &&
	       aif_ze_times(times, aif_ze_device_now(d), d->kernel_bits, &start, &end) &&
	       start < c->since;
}

/* True: it has ended, or `last`. */
static bool look(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_command *c,
		 bool last)
{
	struct aif_ze_kernel_times times;
	uint32_t r = AIF_ZE_NOT_READY;
	enum aif_ze_calling calling;

	if (c->ended)
		return true;
	calling = atomic_load_explicit(&c->calling, memory_order_acquire);
	if (calling == AIF_ZE_CALLING || calling == AIF_ZE_CALLING_LOST ||
	    calling == AIF_ZE_CALLING_EARLY || (!last && !aif_ze_query_is_over(l0, c)))
		return false;
	switch (calling) {
	case AIF_ZE_CALLING:
	case AIF_ZE_CALLING_LOST:
	case AIF_ZE_CALLING_EARLY:
		break;
	case AIF_ZE_CALL_RETURNED_EARLY:
		report(l0, t, c, &c->early);
		c->ended = true;
		break;
	case AIF_ZE_CALL_RETURNED_LOST:
		no_times(l0, c);
		c->ended = true;
		break;
	case AIF_ZE_CALL_RETURNED:
		break;
	}
	if (c->ended) {
		c->app = NULL;
		c->handle = NULL;
		return true;
	}
	if (c->handle && l0->api.zeEventQueryStatus(c->handle) == AIF_ZE_SUCCESS)
		r = l0->api.zeEventQueryKernelTimestamp(c->handle, &times);
	if (r == AIF_ZE_SUCCESS && is_stale(c, &times)) {
		if (c->event)
			l0->api.zeEventHostReset(c->handle);
		r = AIF_ZE_NOT_READY;
	}
	if (r == AIF_ZE_SUCCESS &&
	    /* An event that nobody has reset tells of the execution before. */
	    (c->once || c->event || times.start != c->last_start)) {
		report(l0, t, c, &times);
		c->last_start = times.start;
		if (c->event && !c->once)
			l0->api.zeEventHostReset(c->handle);
		/* The next one will signal it again, unless it has already. */
		c->ended = !c->more || last;
		if (c->ended)
			no_times_of(l0, c, c->more);
		c->more -= !c->ended;
	} else if (last || !c->handle || (r != AIF_ZE_SUCCESS && r != AIF_ZE_NOT_READY)) {
		no_times_of(l0, c, 1 + c->more);
		c->ended = true;
	}
	c->more = c->ended ? 0 : c->more;
	return c->ended;
}

static void chain(struct aif_level_zero *l0, struct aif_ze_command *c)
{
	c->ended = false;
	if (c->chained)
		return;
	c->chained = true;
	c->later = l0->awaited;
	l0->awaited = c;
}

static void take_inbox(struct aif_level_zero *l0)
{
	uint32_t i;

	while ((i = aif_ze_pop(&l0->inbox, l0->commands, sizeof(*l0->commands),
			       offsetof(struct aif_ze_command, next))) != AIF_WIRE_NONE)
		chain(l0, &l0->commands[i]);
}

void aif_ze_command_executed(struct aif_level_zero *l0, struct aif_ze_command *c, uint64_t since)
{
	if (c->left_out || !c->stream)
		return;
	if (!c->handle) {
		no_times(l0, c);
	} else if (c->chained && !c->ended) {
		c->more += c->more < UINT32_MAX;
	} else {
		c->since = since;
		chain(l0, c);
	}
	aif_ze_query_executed(c);
	c->executed = true;
}

/* Now or never. */
static void settle(struct aif_level_zero *l0, struct aif_ze_command *c)
{
	struct aif_thread *t;

	if (!c->chained || c->ended)
		return;
	t = aif_thread_enter();
	(void)look(l0, t, c, true);
	if (t)
		aif_thread_leave(t);
}

bool aif_ze_command_read_early(struct aif_level_zero *l0, struct aif_ze_command *c, void *event,
			       bool keeps)
{
	uint32_t state = AIF_ZE_CALLING, lost = AIF_ZE_CALLING_LOST;
	struct aif_ze_app_event *e = c->app;

	if (atomic_load_explicit(&c->calling, memory_order_acquire) != AIF_ZE_CALLING)
		return false;
	if (c->once && l0->api.zeEventQueryStatus(event) == AIF_ZE_SUCCESS &&
	    l0->api.zeEventQueryKernelTimestamp(event, &c->early) == AIF_ZE_SUCCESS)
		lost = AIF_ZE_CALLING_EARLY;
	else if (keeps)
		return true; /* it is signalled later */
	if (!atomic_compare_exchange_strong(&c->calling, &state, lost))
		return false;
	atomic_store(&e->command, NULL);
	return true;
}

void aif_ze_command_read_last(struct aif_level_zero *l0, struct aif_ze_command *c, bool keeps)
{
	take_inbox(l0);
	settle(l0, c);
	if (keeps)
		return;
	atomic_store(&c->app->command, NULL);
	c->app = NULL;
	c->handle = NULL;
}

void aif_ze_command_forget(struct aif_level_zero *l0, struct aif_ze_command *c)
{
	settle(l0, c);
	if (c->executed && !c->reported && c->generation)
		atomic_fetch_add(&l0->timeless, 1);
	c->forgotten = true;
	if (!c->chained)
		aif_ze_command_free(l0, c);
}

void aif_ze_stream_settle(struct aif_level_zero *l0, const struct aif_ze_stream *s)
{
	aif_ze_pending_poll(l0);
	for (struct aif_ze_command *c = l0->awaited; c; c = c->later)
		if (c->stream == s)
			settle(l0, c);
	aif_ze_pending_poll(l0);
}

void aif_ze_pending_poll(struct aif_level_zero *l0)
{
	struct aif_ze_command **at = &l0->awaited, *c;
	struct aif_thread *t;

	take_inbox(l0);
	if (!l0->awaited)
		return;
	t = aif_thread_enter();
	while ((c = *at)) {
		if (!look(l0, t, c, false)) {
			at = &c->later;
			continue;
		}
		*at = c->later;
		c->chained = false;
		if (c->once || c->forgotten)
			aif_ze_command_free(l0, c);
	}
	if (t)
		aif_thread_leave(t);
}

void aif_ze_pending_count_lost(struct aif_level_zero *l0)
{
	for (const struct aif_ze_command *c = l0->awaited; c; c = c->later)
		if (!c->once && !c->ended && (c->reported || c->more))
			no_times_of(l0, c, 1 + c->more);
}

void aif_ze_context_settle(struct aif_level_zero *l0, const struct aif_ze_context *context)
{
	aif_ze_pending_poll(l0);
	for (struct aif_ze_command *c = l0->awaited; c; c = c->later)
		if (c->event && c->event->context == context)
			settle(l0, c);
	aif_ze_pending_poll(l0);
	/* Lists that the application forgot have theirs yet. */
	for (uint32_t i = 0; i < AIF_MIN(atomic_load(&l0->commands_made), AIF_ZE_COMMANDS_MAX);
	     i++) {
		struct aif_ze_command *c = &l0->commands[i];

		if (aif_ze_query_is_of(c, context))
			c->query = NULL;
		if (!c->event || c->event->context != context)
			continue;
		c->event = NULL;
		c->handle = NULL;
	}
}
