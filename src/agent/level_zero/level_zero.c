/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Interval at which the helper looks at events. 64 Ki events of ours then allow 3 million launches a second. */
#define POLL_NS 20000000
/* At exit, what the application has waited for has ended: its times are there. */
#define LAST_TRIES 3

static void refused(struct aif_level_zero *l0, uint32_t error)
{
	struct aif_thread *t = aif_thread_enter();
	char text[128];

	if (!t)
		return;
	snprintf(text, sizeof(text), "zelTracerCreate: %#x", error);
	if (aif_emit_note(t, AIF_REASON_ZE_NO_TRACING, 1, text))
		l0->refused = t->generation;
	aif_thread_leave(t);
}

static bool functions_find(struct aif_level_zero *l0)
{
	bool all = true;

#define X(name, arguments, needed)                                       \
	l0->api.name = (uint32_t(*) arguments)dlsym(l0->library, #name); \
	all &= !(needed) || l0->api.name;
	AIF_ZE_FUNCTIONS(X)
#undef X
	return all;
}

/* Under the lock. Level off: nobody is listened to before somebody records. From then on it stays on: what is destroyed
 * must be noticed, and a tracer that is switched off while a thread waits in a call can never be switched on again. */
static void trace(struct aif_level_zero *l0, bool on)
{
	l0->tracing |= on && l0->tracer && !aif_ze_has_left() &&
		       l0->api.zelTracerSetEnabled(l0->tracer, true) == AIF_ZE_SUCCESS;
}

static bool wanted_asleep(void)
{
	return aif_agent.env.level != AIF_LEVEL_OFF;
}

/* The tracer's user data is what tells a child's callbacks from its parent's. */
static uint32_t tracer_make(struct aif_level_zero *l0)
{
	const struct aif_ze_tracer_desc desc = {.stype = AIF_ZE_TRACER_DESC, .user = l0};
	uint32_t r = l0->api.zelTracerCreate(&desc, &l0->tracer);

	/* The variable was not there when the loader looked. */
	if (r != AIF_ZE_SUCCESS && l0->api.zelEnableTracingLayer &&
	    l0->api.zelEnableTracingLayer() == AIF_ZE_SUCCESS)
		r = l0->api.zelTracerCreate(&desc, &l0->tracer);
	if (r != AIF_ZE_SUCCESS)
		l0->tracer = NULL;
	return r == AIF_ZE_SUCCESS ? aif_ze_calls_register(l0) : r;
}

static int make(void *function, struct aif_level_zero **ret)
{
	struct aif_level_zero *l0 = aif_pages(sizeof(*l0));
	Dl_info info;

	if (!l0)
		return -ENOMEM;
	l0->commands = aif_pages(sizeof(*l0->commands) * AIF_ZE_COMMANDS_MAX);
	l0->events = aif_pages(sizeof(*l0->events) * AIF_ZE_EVENTS_MAX);
	if (!l0->commands || !l0->events || !dladdr(function, &info) || !info.dli_fname)
		return -ENOMEM;
	pthread_mutex_init(&l0->lock, NULL);
	aif_ze_metrics_init(&l0->metrics);
	/* The loader is held: the application may close it. Where another library stands in front of it, as we do, it
	 * is found by name. */
	l0->library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!l0->library || !dlsym(l0->library, "zelTracerCreate"))
		l0->library = dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_NOLOAD);
	*ret = l0;
	return 0;
}

/* Known to others, the helper among them, only when the tracer is complete: one that is on takes no callbacks more. */
static void begin(void *function)
{
	struct aif_level_zero *l0;
	uint32_t r;

	if (make(function, &l0) < 0)
		return;
	r = l0->library && functions_find(l0) ? tracer_make(l0) : AIF_ZE_UNINITIALIZED;
	if (r != AIF_ZE_SUCCESS) {
		l0->tracer = NULL;
		refused(l0, r);
	} else {
		aif_agent_leave_before_driver();
		aif_ze_calls_find(l0);
		aif_ze_devices_find(l0);
	}
	atomic_store_explicit(&L0_SLOT->state, l0, memory_order_release);
	pthread_mutex_lock(&l0->lock);
	trace(l0, wanted_asleep() || !aif_thread_asleep());
	pthread_mutex_unlock(&l0->lock);
}

void aif_ze_begin(void *function)
{
	struct aif_armed *armed = aif_agent.session.armed;

	/* In a child: what it has of its parent's goes first. */
	if (armed && !atomic_load_explicit(&armed->generation, memory_order_acquire))
		(void)aif_session_rearm(0);
	/* The first of several threads, or calls. */
	if (!L0 && !atomic_exchange(&L0_SLOT->begun, true) &&
	    aif_agent_start(AIF_RUNTIME_ID(level_zero)) == 0)
		begin(function);
}

static void enable(bool on)
{
	struct aif_level_zero *l0 = L0;

	if (l0 && !on) {
		aif_ze_metrics_stop(l0);
		aif_ze_queries_stop(l0);
	}
	if (!l0 || l0->tracing)
		return;
	if (!l0->tracer) {
		if (on && l0->refused != atomic_load(&aif_agent.session.armed->generation))
			refused(l0, AIF_ZE_UNINITIALIZED);
		return;
	}
	if (!on)
		return;
	pthread_mutex_lock(&l0->lock);
	trace(l0, true);
	pthread_mutex_unlock(&l0->lock);
}

static void report_count(struct aif_thread *t, _Atomic uint64_t *n, enum aif_reason reason)
{
	uint64_t k = atomic_exchange(n, 0);

	if (k && !aif_emit_note(t, reason, k, ""))
		atomic_fetch_add(n, k);
}

static void report_counts(struct aif_level_zero *l0, struct aif_thread *t)
{
	report_count(t, &l0->timeless, AIF_REASON_NO_TIMES);
	report_count(t, &l0->timeless_runs, AIF_REASON_ZE_NO_TIMES);
	report_count(t, &l0->unknown, AIF_REASON_ZE_UNKNOWN_LIST);
	report_count(t, &l0->queries_lost, AIF_REASON_ZE_QUERY_LOST);
}

static void tick(uint64_t now)
{
	struct aif_level_zero *l0 = L0;
	struct aif_thread *t;

	if (!l0 || !l0->tracer)
		return;
	t = aif_thread_enter();
	if (!t)
		return;
	pthread_mutex_lock(&l0->lock);
	if (!aif_ze_has_left())
		aif_ze_clock_tick(l0, t, now, false);
	aif_ze_unloaded_report(l0, t);
	pthread_mutex_unlock(&l0->lock);
	report_counts(l0, t);
	aif_thread_leave(t);
	aif_ze_metrics_tick(l0, now);
}

static uint64_t poll(uint64_t now)
{
	struct aif_level_zero *l0 = L0;

	if (!l0 || !l0->tracer)
		return UINT64_MAX;
	pthread_mutex_lock(&l0->lock);
	if (!aif_ze_has_left())
		aif_ze_pending_poll(l0);
	pthread_mutex_unlock(&l0->lock);
	return AIF_MIN(now + POLL_NS, aif_ze_metrics_poll(l0, now));
}

/* The driver is still there (aif_agent_leave_before_driver). What is under way is not waited for. */
static void at_exit(void)
{
	struct aif_level_zero *l0 = L0;
	struct aif_thread *t;

	if (!l0 || !l0->tracer)
		return;
	aif_ze_metrics_at_exit(l0);
	/* Another thread may hold it for good. */
	for (int i = 0; pthread_mutex_trylock(&l0->lock); i++) {
		const struct timespec step = {.tv_nsec = 1000000};

		if (i == LAST_TRIES)
			return;
		nanosleep(&step, NULL);
	}
	aif_ze_pending_poll(l0);
	aif_ze_pending_count_lost(l0);
	t = aif_thread_enter();
	if (t) {
		aif_ze_clock_tick(l0, t, aif_now_ns(), true);
		aif_ze_unloaded_report(l0, t);
		report_counts(l0, t);
		aif_thread_leave(t);
	}
	pthread_mutex_unlock(&l0->lock);
}

/* A child has no use of its parent's driver; what it starts itself is another. */
static void after_fork(void)
{
	atomic_store(&L0_SLOT->state, NULL);
	atomic_store(&L0_SLOT->begun, false);
}

const struct aif_runtime aif_runtime_level_zero = {
	.bound_ns = 3000,
	.enable = enable,
	.tick = tick,
	.poll = poll,
	.at_exit = at_exit,
	.after_fork = after_fork,
};
