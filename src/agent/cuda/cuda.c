/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/cuda.h"

#include "agent/cuda/activity.h"
#include "agent/cuda/claim.h"
#include "agent/cuda/correlation.h"
#include "agent/cuda/duty.h"
#include "agent/cuda/errors.h"
#include "agent/cuda/launch.h"
#include "agent/cuda/library.h"
#include "agent/cuda/lock.h"
#include "agent/cuda/names.h"
#include "agent/cuda/quiesce.h"
#include "agent/cuda/records.h"
#include "agent/cuda/sampling.h"
#include "agent/cuda/use.h"
#include "agent/emit.h"
#include "agent/wait.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>

/* Time after which most of what was launched has been executed. */
#define UNDER_WAY_NS 20000000
/* Ending sampling: the number of tries, each a quarter of a second, or a second while it holds nobody; and for how long
 * they go on. */
#define LAST_TRIES 12
#define LAST_NS    (3 * AIF_NS_PER_S)
#define OPEN_NS    5000000
/* Before the last flush. */
#define QUIET_STEPS   60
#define QUIET_STEP_NS 50000000
/* Ending records: calls that last are waited for, and after an attach the gate's first 3 s. */
#define RECORDS_END_NS (4 * AIF_NS_PER_S)

/*
 * Callbacks of launches go on one by one, and off only with the subscription: CUPTI loses count of a thread that is inside
 * a call whose callback is switched off, which it then calls back no more, or for each call with the same correlation id,
 * until cuptiFinalize() (bench/results/h100-cupti.md). Unsubscribing does not do that. Under `switching`.
 */
static void callbacks_begin(struct aif_cuda *cuda)
{
	int r;

	if (cuda->callbacks_on || !cuda->subscriber)
		return;
	aif_cuda_quiesce_begin(cuda);
	aif_cuda_names_invalidate(cuda); /* some went unseen */
	r = aif_cuda_callbacks_switch(cuda, true);
	cuda->callbacks_on = true;
	if (r)
		aif_cuda_report_error(AIF_REASON_CUDA_REFUSED, "callbacks", r);
}

/* From here on graphs may be made unseen. */
static void callbacks_end(struct aif_cuda *cuda)
{
	cuda->api.cuptiUnsubscribe(cuda->subscriber);
	aif_wait_spins_forget();
	cuda->subscriber = NULL;
	cuda->callbacks_on = false;
	atomic_store(&cuda->has_graphs, true);
}

static void report_count(struct aif_thread *t, _Atomic uint64_t *n, enum aif_reason reason)
{
	uint64_t k = atomic_exchange(n, 0);

	if (k && !aif_emit_note(t, reason, k, ""))
		atomic_fetch_add(n, k);
}

static void report_counts(struct aif_cuda *cuda)
{
	struct aif_thread *t = aif_thread_enter();

	if (!t)
		return;
	report_count(t, &cuda->timeless, AIF_REASON_NO_TIMES);
	report_count(t, &cuda->confused, AIF_REASON_CUDA_CONFUSED);
	report_count(t, &cuda->unjoined, AIF_REASON_UNJOINED);
	report_count(t, &cuda->unsampled, AIF_REASON_SAMPLE_LOST);
	report_count(t, &cuda->nameless, AIF_REASON_CUDA_NAMELESS);
	aif_thread_leave(t);
}

/* Before no tick comes any more. */
static void flush_and_report(struct aif_cuda *cuda)
{
	aif_cuda_activity_flush(cuda, true);
	report_counts(cuda);
}

/* Under `switching`. */
static void switch_recording(struct aif_cuda *cuda, bool on)
{
	const struct timespec under_way = {.tv_nsec = UNDER_WAY_NS};

	if (cuda->on == on || !cuda->subscriber)
		return;
	if (on)
		callbacks_begin(cuda);
	cuda->on = on;
	if (on) {
		aif_cuda_duty_begin(cuda, aif_now_ns());
	} else {
		aif_cuda_duty_end(cuda, aif_now_ns());
		nanosleep(&under_way, NULL);
		if (aif_cuda_activity_may_flush(cuda, aif_now_ns()))
			aif_cuda_activity_flush(cuda, false);
		report_counts(cuda);
	}
}

/* Subscribes, unless another has. Under `switching`, as the next two. */
static void subscribe(struct aif_cuda *cuda)
{
	int r;

	if (cuda->other_subscribed)
		return;
	if (!cuda->subscriber) {
		r = cuda->api.cuptiSubscribe(&cuda->subscriber, aif_cuda_callback, cuda);
		if (!r) {
			r = aif_cuda_activity_init(cuda);
			if (r)
				cuda->api.cuptiUnsubscribe(cuda->subscriber);
		}
		if (r) {
			cuda->subscriber = NULL;
			cuda->other_subscribed = true;
			cuda->refused = aif_agent.session.generation;
			aif_cuda_report_error(r == AIF_CUPTI_MULTIPLE_SUBSCRIBERS
						      ? AIF_REASON_CUDA_CROWDED
						      : AIF_REASON_CUDA_REFUSED,
					      "subscribing", r);
			return;
		}
		/* Another subscriber's numbers begin anew; and contexts may have gone unseen. */
		atomic_store_explicit(&cuda->any_confused, false, memory_order_relaxed);
		aif_cuda_correlations_clear(cuda->correlations);
		cuda->records = (struct aif_cuda_records){0};
		if (!aif_cuda_is_sampling(cuda))
			aif_cuda_sampling_forget(cuda);
		atomic_store(&cuda->captures, 0);
		aif_cuda_callbacks_subscribe(cuda);
	}
	aif_cuda_use_choose(cuda);
	aif_cuda_use_publish(cuda, true);
	/* Each recording reports what it does not get. */
	if (aif_agent.session.device_rate)
		aif_cuda_sampling_init(cuda);
}

/* Under `switching`. False: it could not be ended. Between two tries those who were held get on: a device may wait for
 * what they were about to launch. */
static bool end_sampling(struct aif_cuda *cuda, int tries)
{
	const uint64_t begin = aif_now_ns();

	while (aif_cuda_is_sampling(cuda) && tries-- > 0 && !cuda->exiting &&
	       aif_now_ns() - begin < LAST_NS)
		if (!aif_cuda_duty_records_only(cuda, aif_now_ns()) && tries)
			aif_cuda_sleep(OPEN_NS);
	return !aif_cuda_is_sampling(cuda);
}

/* Makes room for another subscriber. */
static void unsubscribe(struct aif_cuda *cuda)
{
	switch_recording(cuda, false);
	/* While we sample, CUPTI refuses the other's records. */
	if (!end_sampling(cuda, LAST_TRIES))
		aif_cuda_report_error(AIF_REASON_CUDA_REFUSED, "the end of sampling", 0);
	if (!aif_cuda_records_end(cuda, RECORDS_END_NS))
		aif_cuda_report_error(AIF_REASON_CUDA_REFUSED, "the end of records", 0);
	aif_cuda_use_publish(cuda, false);
	if (!cuda->subscriber)
		return;
	/* No buffer of ours may come back to the other's function. */
	flush_and_report(cuda);
	callbacks_end(cuda);
}

/*
 * The recorder has gone, and neither records nor samples are on. But each launch costs 0.3 to 1.2 us more for as long as
 * CUPTI is there, once kernel records were on (bench/results/h200-cupti.md): so it is finalized. bench/gpu/sampling.c tried
 * that hundreds of times beside threads that launch, wait, copy and load. But where graphs were launched while CUPTI was there
 * the process crashed, whoever finalized and however: so not where there may be graphs; those that are first
 * launched afterwards are fine. Of versions before 13.0 nothing is known, and they stay.
 */
static void leave(struct aif_cuda *cuda)
{
	const struct timespec under_way = {.tv_nsec = UNDER_WAY_NS};
	bool finalizes = !atomic_load(&cuda->has_graphs) && cuda->version >= AIF_CUPTI_VERSION_13_0;

	if (!cuda->subscriber || cuda->records.on || cuda->sampling.is_stranded)
		return;
	/* Threads inside a callback get out of it meanwhile. */
	nanosleep(&under_way, NULL);
	if (cuda->exiting)
		return;
	flush_and_report(cuda);
	/* A graph may have been made meanwhile. */
	finalizes = finalizes && !atomic_load(&cuda->has_graphs);
	callbacks_end(cuda);
	if (finalizes)
		cuda->api.cuptiFinalize();
}

/* Waits until no code is being made, beside which a flush can end the program (activity.c), for QUIET_STEPS at most. */
static void await_quiet(struct aif_cuda *cuda)
{
	for (unsigned i = 0; i < QUIET_STEPS && !cuda->exiting; i++) {
		if (aif_cuda_activity_may_flush(cuda, aif_now_ns()))
			return;
		aif_cuda_sleep(QUIET_STEP_NS);
	}
}

/* Under `switching`. Callbacks are what makes it possible to end sampling, if that was not possible yet. */
static void stop_recording(struct aif_cuda *cuda, bool pause)
{
	uint64_t now = aif_now_ns();

	if (cuda->exiting)
		return;
	aif_cuda_quiesce_tick(cuda, now);
	if (pause) {
		(void)end_sampling(cuda, aif_cuda_quiesce_may_try(cuda, now));
		(void)aif_cuda_records_settle(cuda, now);
	} else if (end_sampling(cuda, LAST_TRIES)) {
		/* Work that was under way has ended: end_sampling() waited for it. */
		await_quiet(cuda);
		flush_and_report(cuda);
		if (!aif_cuda_records_end(cuda, RECORDS_END_NS) || cuda->exiting)
			return;
		aif_cuda_use_publish(cuda, false);
		leave(cuda);
	}
}

static void detach(void)
{
	struct aif_cuda *cuda = CUDA;

	if (!cuda || cuda->exiting)
		return;
	pthread_mutex_lock(&cuda->switching);
	/* The helper comes each second: one try. */
	if (!cuda->on && cuda->callbacks_on && !aif_cuda_is_sampling(cuda) &&
	    aif_cuda_records_end(cuda, 0))
		stop_recording(cuda, false);
	pthread_mutex_unlock(&cuda->switching);
}

/* Callbacks stay on in a pause: they cost next to nothing, and calls under way stay counted (quiesce.c). When
 * nobody will ever ask for more, nothing of ours shall be left on. */
static void enable(bool on)
{
	struct aif_cuda *cuda = CUDA;
	bool pause = !on && atomic_load(&aif_agent.session.armed->recorder_alive);

	/* The other subscriber may have gone unnoticed: each recording tries once. */
	if (cuda && on && cuda->refused && cuda->refused != aif_agent.session.generation) {
		cuda->refused = 0;
		cuda->other_subscribed = false;
	}
	if (!cuda || (on && (cuda->on || cuda->other_subscribed || cuda->exiting)) ||
	    (!on && !cuda->on && (pause || !cuda->callbacks_on) && !aif_cuda_is_sampling(cuda) &&
	     (cuda->records.on == cuda->records.wanted || cuda->sampling.is_stranded)))
		return;
	pthread_mutex_lock(&cuda->switching);
	if (cuda->exiting) {
		pthread_mutex_unlock(&cuda->switching);
		return;
	}
	if (on)
		subscribe(cuda);
	switch_recording(cuda, on);
	if (!on)
		stop_recording(cuda, pause);
	pthread_mutex_unlock(&cuda->switching);
}

void aif_cuda_subscriber_release(struct aif_cuda *cuda)
{
	bool had;

	pthread_mutex_lock(&cuda->switching);
	had = cuda->subscriber;
	cuda->other_subscribed = true;
	unsubscribe(cuda);
	if (had)
		aif_cuda_report_error(AIF_REASON_CUDA_YIELDED, "", 0);
	pthread_mutex_unlock(&cuda->switching);
}

void aif_cuda_subscriber_reclaim(struct aif_cuda *cuda)
{
	cuda->other_subscribed = false;
	enable(atomic_load(&aif_agent.session.armed->on));
}

static void tick(uint64_t now)
{
	struct aif_cuda *cuda = CUDA;
	struct aif_thread *t;

	if (!cuda || !cuda->on)
		return;
	aif_cuda_activity_tick(cuda, aif_cuda_duty_launches(cuda), now);
	/* The exit handler is set again once the first records are there, and cuInit() has
	 * returned. */
	if (!cuda->has_flushed)
		aif_agent_leave_first();
	cuda->has_flushed = true;
	if (!pthread_mutex_trylock(&cuda->switching)) {
		aif_cuda_quiesce_tick(cuda, now);
		if (aif_cuda_uses_several_devices(cuda))
			aif_cuda_activity_use_peers(cuda);
		aif_cuda_sampling_tick(cuda);
		if (cuda->on)
			aif_cuda_duty_charge(cuda);
		pthread_mutex_unlock(&cuda->switching);
	}
	report_counts(cuda);
	t = aif_thread_enter();
	if (!t)
		return;
	aif_cuda_clock_tick(t, cuda, now);
	aif_thread_leave(t);
}

static uint64_t poll(uint64_t now)
{
	return CUDA ? aif_cuda_duty_poll(CUDA, now) : UINT64_MAX;
}

/* Makes the helper leave CUPTI, and waits until it has. A forked child has no helper, but perhaps its parent's lock. */
static void before_exit(void)
{
	struct aif_cuda *cuda = CUDA;

	if (!cuda || !atomic_load(&aif_agent.session.armed->generation))
		return;
	cuda->exiting = true;
	if (aif_cuda_trylock_briefly(cuda))
		pthread_mutex_unlock(&cuda->switching);
}

static void at_exit(void)
{
	struct aif_cuda *cuda = CUDA;

	if (!cuda || !cuda->on)
		return;
	aif_cuda_duty_at_exit(cuda);
	flush_and_report(cuda);
}

/* A child has no use of its parent's CUDA. */
static void after_fork(void)
{
	atomic_store(&aif_agent.runtime[AIF_RUNTIME_ID(cuda)].state, NULL);
}

/* With --delay: as in a pause, callbacks are on, and so all calls are counted when it begins (quiesce.c). */
static void begin_paused(struct aif_cuda *cuda)
{
	pthread_mutex_lock(&cuda->switching);
	subscribe(cuda);
	callbacks_begin(cuda);
	pthread_mutex_unlock(&cuda->switching);
}

/* Gives back what begin() had, and says why. Returns r. */
static int begin_failed(struct aif_cuda *cuda, enum aif_reason reason, const char *what, int r)
{
	munmap(cuda, sizeof(*cuda));
	aif_cuda_report_error(reason, what, 0);
	return r; /* no caller reports it: the reason above does */
}

/* late: the program has used CUDA before. */
static int begin(bool late)
{
	struct aif_cuda *cuda = aif_pages(sizeof(*cuda));
	void *none = NULL;
	int r;

	if (!cuda)
		return -ENOMEM;
	pthread_mutex_init(&cuda->lock, NULL);
	pthread_mutex_init(&cuda->switching, NULL);
	pthread_mutex_init(&cuda->flushing, NULL);
	pthread_mutex_init(&cuda->buffers_lock, NULL);
	r = aif_cuda_library_open(&cuda->api, &cuda->library, &cuda->version);
	if (r < 0)
		return begin_failed(cuda, AIF_REASON_CUDA_NO_CUPTI, "", r);
	cuda->correlations = aif_pages(sizeof(*cuda->correlations) * AIF_CUDA_CORRELATIONS);
	if (!cuda->correlations)
		return begin_failed(cuda, AIF_REASON_CUDA_REFUSED, "no memory for launches",
				    -ENOMEM);
	aif_cuda_library_bounds((uintptr_t)cuda->api.cuptiGetVersion, &cuda->lo, &cuda->hi);
	aif_cuda_use_init(cuda);
	aif_cuda_claim_init(cuda);
	cuda->use = AIF_CUPTI_USE_THROUGHOUT;
	atomic_store(&cuda->has_graphs, true);
	if (!atomic_compare_exchange_strong(&aif_agent.runtime[AIF_RUNTIME_ID(cuda)].state, &none,
					    cuda))
		return -EALREADY;
	aif_agent_leave_before_driver();
	if (atomic_load(&aif_agent.session.armed->on))
		enable(true);
	else if (atomic_load(&aif_agent.session.armed->recorder_alive))
		begin_paused(cuda);
	/* No thread has launched anything yet, or made a graph. */
	if (!late) {
		aif_cuda_quiesce_settle(cuda);
		atomic_store(&cuda->has_graphs, !cuda->subscriber);
	}
	/* Before what CUPTI made for that is destroyed. */
	aif_agent_leave_first();
	return 0;
}

static int take_adds(struct dl_phdr_info *info, size_t size, void *ret)
{
	(void)size;
	*(unsigned long long *)ret = info->dlpi_adds;
	return 1;
}

/* Helper thread. True once cuInit() has returned. A driver that was never asked for anything says that it is not
 * initialized. The loader is not asked again for one that was not there while nothing has been loaded: a program that
 * forks meanwhile would have a child whose loader is locked. */
static bool is_in_use(void)
{
	static unsigned long long seen;
	unsigned long long adds = 0;
	void *lib;
	int (*count)(int *), n;
	bool is;

	dl_iterate_phdr(take_adds, &adds);
	if (adds == seen)
		return false;
	lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (!lib) {
		seen = adds;
		return false;
	}
	count = dlsym(lib, "cuDeviceGetCount");
	is = count && !count(&n);
	dlclose(lib);
	return is;
}

/* The driver has not called us, and will not. CUPTI may be subscribed to at any time, as in an attach to a process on
 * standby. */
static void start_late(void)
{
	struct aif_runtime_slot *slot = &aif_agent.runtime[AIF_RUNTIME_ID(cuda)];
	uint32_t session = aif_agent.session.generation + 1;

	if (slot->refused_late == session || !is_in_use())
		return;
	if (aif_agent_start(AIF_RUNTIME_ID(cuda)) < 0 || begin(true) < 0)
		slot->refused_late = session;
}

AIF_PUBLIC int InitializeInjection(void);

/* The library that would have been in our place. */
static void begin_other(void)
{
	const char *path = getenv(AIF_ENV_CUDA_BEFORE);
	void *lib = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(void) = lib ? dlsym(lib, "InitializeInjection") : NULL;

	if (initialize && initialize != InitializeInjection)
		initialize();
}

/* The driver calls this within cuInit(), once. 1: we are in. */
int InitializeInjection(void)
{
	int saved = errno;

	if (!CUDA && aif_agent_start(AIF_RUNTIME_ID(cuda)) == 0)
		(void)begin(false);
	begin_other();
	errno = saved;
	return 1;
}

const struct aif_runtime aif_runtime_cuda = {
	.bound_ns = 5000, /* 0.4 us for the stack, 1 to 3 us for CUPTI's callbacks and records */
	.start_late = start_late,
	.enable = enable,
	.tick = tick,
	.poll = poll,
	.detach = detach,
	.before_exit = before_exit,
	.at_exit = at_exit,
	.after_fork = after_fork,
};
