/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/cuda.h"

#include "agent/wait.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

/* What is launched is executed after this time, mostly. */
#define UNDER_WAY_NS 20000000
/* To end sampling: tries, of which each takes a quarter of a second, or a second while it holds nobody; and how long
 * they go on. */
#define LAST_TRIES 12
#define LAST_NS    (3 * AIF_NS_PER_S)
#define OPEN_NS    5000000
/* To end records: a call that lasts is waited for, and after an attach the gate's first 3 s. */
#define RECORDS_END_NS (4 * AIF_NS_PER_S)

void aif_cuda_refused_in(struct aif_thread *t, enum aif_reason reason, const char *what, int error)
{
	const char *why = NULL;
	char text[256];

	if (error > 0)
		CUDA->api.cuptiGetResultString(error, &why);
	snprintf(text, sizeof(text), "%s%s%s", what, why ? ": " : "", why ? why : "");
	aif_emit_note(t, reason, 1, text);
}

void aif_cuda_refused(enum aif_reason reason, const char *what, int error)
{
	struct aif_thread *t = aif_thread_enter();

	if (!t)
		return;
	aif_cuda_refused_in(t, reason, what, error);
	aif_thread_leave(t);
}

/* Under `switching`. Launches call back, or not. */
static void listen(struct aif_cuda *cuda, bool on)
{
	int r;

	if (cuda->listens == on || !cuda->subscriber)
		return;
	if (on) {
		aif_cuda_gate_begin(cuda);
		aif_cuda_names_go(cuda); /* some went unseen */
	}
	r = aif_cuda_launches(cuda, on);
	cuda->listens = on;
	if (r)
		aif_cuda_refused(AIF_REASON_CUDA_REFUSED, on ? "callbacks" : "callbacks' end", r);
}

static void tell_count(struct aif_thread *t, _Atomic uint64_t *n, enum aif_reason reason)
{
	uint64_t k = atomic_exchange(n, 0);

	if (k && !aif_emit_note(t, reason, k, ""))
		atomic_fetch_add(n, k);
}

static void tell_counts(struct aif_cuda *cuda)
{
	struct aif_thread *t = aif_thread_enter();

	if (!t)
		return;
	tell_count(t, &cuda->timeless, AIF_REASON_NO_TIMES);
	tell_count(t, &cuda->confused, AIF_REASON_CUDA_CONFUSED);
	tell_count(t, &cuda->unjoined, AIF_REASON_UNJOINED);
	tell_count(t, &cuda->unsampled, AIF_REASON_SAMPLE_LOST);
	tell_count(t, &cuda->nameless, AIF_REASON_CUDA_NAMELESS);
	aif_thread_leave(t);
}

/* Before no tick comes any more. */
static void flush_and_tell(struct aif_cuda *cuda, bool last)
{
	aif_cuda_flush(cuda, last);
	tell_counts(cuda);
}

/* Under `switching`. */
static void switch_to(struct aif_cuda *cuda, bool on)
{
	const struct timespec under_way = {.tv_nsec = UNDER_WAY_NS};

	if (cuda->on == on || !cuda->subscriber)
		return;
	if (on)
		listen(cuda, true);
	cuda->on = on;
	if (on) {
		aif_cuda_blocks_begin(cuda, aif_now_ns());
	} else {
		aif_cuda_blocks_end(cuda, aif_now_ns());
		nanosleep(&under_way, NULL);
		flush_and_tell(cuda, false);
	}
}

/* Under `switching`, as the next two. Where the seat is another's we wait until that one stands up. */
static void sit(struct aif_cuda *cuda)
{
	int r;

	if (cuda->taken)
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
			cuda->taken = true;
			cuda->refused = aif_agent.session.generation;
			aif_cuda_refused(r == AIF_CUPTI_MULTIPLE_SUBSCRIBERS
						 ? AIF_REASON_CUDA_CROWDED
						 : AIF_REASON_CUDA_REFUSED,
					 "subscribing", r);
			return;
		}
		/* Another subscriber's numbers begin anew; and contexts may have gone unseen. */
		aif_cuda_forget(cuda);
		cuda->records = (struct aif_cuda_records){0};
		if (!aif_cuda_is_sampling(cuda))
			aif_cuda_sampling_forget(cuda);
		atomic_store(&cuda->captures, 0);
		aif_cuda_watch(cuda);
	}
	aif_cuda_use_choose(cuda);
	aif_cuda_use_publish(cuda, true);
	/* Each recording is told what it does not get. */
	if (aif_agent.session.device_rate)
		aif_cuda_sampling_init(cuda);
}

/* Under `switching`. False: it could not be ended. Between two tries those who were held get on: a device may wait for
 * what they were about to launch. */
static bool end_sampling(struct aif_cuda *cuda, int tries)
{
	const uint64_t begin = aif_now_ns();

	while (aif_cuda_is_sampling(cuda) && tries-- > 0 && !cuda->left &&
	       aif_now_ns() - begin < LAST_NS)
		if (!aif_cuda_blocks_calm(cuda, aif_now_ns()) && tries)
			aif_cuda_sleep(OPEN_NS);
	return !aif_cuda_is_sampling(cuda);
}

/* Only where somebody else wants the seat: after it threads were seen whose calls all had one correlation id, that of
 * the call that they were in then. */
static void stand_up(struct aif_cuda *cuda)
{
	switch_to(cuda, false);
	/* While we sample, CUPTI refuses the other's records. */
	if (!end_sampling(cuda, LAST_TRIES))
		aif_cuda_refused(AIF_REASON_CUDA_REFUSED, "the end of sampling", 0);
	if (!aif_cuda_records_end(cuda, RECORDS_END_NS))
		aif_cuda_refused(AIF_REASON_CUDA_REFUSED, "the end of records", 0);
	aif_cuda_use_publish(cuda, false);
	if (cuda->subscriber) {
		/* No buffer of ours may come back to the other's function. */
		flush_and_tell(cuda, true);
		cuda->api.cuptiUnsubscribe(cuda->subscriber);
		aif_wait_spins_forget();
	}
	cuda->subscriber = NULL;
	cuda->listens = false;
	atomic_store(&cuda->has_graphs, true);
}

/* Under `switching`. Callbacks are what makes it possible to end sampling, if that was not possible yet. */
static void fall_silent(struct aif_cuda *cuda, bool pause)
{
	uint64_t now = aif_now_ns();

	if (cuda->left)
		return;
	aif_cuda_gate_tick(cuda, now);
	if (pause) {
		(void)end_sampling(cuda, aif_cuda_gate_may_try(cuda, now));
		(void)aif_cuda_records_settle(cuda, now);
	} else if (end_sampling(cuda, LAST_TRIES)) {
		/* What was under way is over now: for that it was waited. */
		flush_and_tell(cuda, true);
		if (!aif_cuda_records_end(cuda, RECORDS_END_NS) || cuda->left)
			return;
		listen(cuda, false);
		aif_cuda_use_publish(cuda, false);
	}
}

/*
 * The recorder has gone, and nothing of ours is on any more. But each launch costs 0.3 to 1.2 us more for as long as CUPTI is
 * there, once kernel records were on (bench/results/h200-cupti.md): so it is sent away. bench/gpu/sampling.c tried
 * that hundreds of times beside threads that launch, wait, copy and load. But where graphs were launched while CUPTI was there
 * the process crashed, whoever finalized and however: so not where there may be graphs; those that are first
 * launched afterwards are fine. Of versions before 13.0 nothing is known, and they stay.
 */
static void send_away(struct aif_cuda *cuda)
{
	const struct timespec under_way = {.tv_nsec = UNDER_WAY_NS};

	if (!cuda->subscriber || cuda->on || cuda->listens || cuda->records.on ||
	    cuda->sampling.is_stranded || aif_cuda_is_sampling(cuda) ||
	    atomic_load(&cuda->has_graphs) || cuda->version < AIF_CUPTI_VERSION_13_0)
		return;
	/* Who is in a callback gets out of it. */
	nanosleep(&under_way, NULL);
	if (cuda->left)
		return;
	aif_cuda_flush(cuda, true);
	cuda->api.cuptiUnsubscribe(cuda->subscriber);
	aif_wait_spins_forget();
	cuda->subscriber = NULL;
	atomic_store(&cuda->has_graphs, true); /* from here on they may be made unseen */
	cuda->api.cuptiFinalize();
}

static void over(void)
{
	struct aif_cuda *cuda = CUDA;

	if (!cuda || cuda->left)
		return;
	pthread_mutex_lock(&cuda->switching);
	/* The helper comes each second: one try. */
	if (!cuda->on && cuda->listens && !aif_cuda_is_sampling(cuda) &&
	    aif_cuda_records_end(cuda, 0))
		fall_silent(cuda, false);
	if (!cuda->left)
		send_away(cuda);
	pthread_mutex_unlock(&cuda->switching);
}

/* In a pause callbacks stay on: they cost next to nothing, and who is inside a call stays counted (cuda_gate.c). When
 * nobody will ever ask for more, nothing of ours shall be left on. */
static void collect(bool on)
{
	struct aif_cuda *cuda = CUDA;
	bool pause = !on && atomic_load(&aif_agent.session.armed->recorder_alive);

	/* Who has the seat may have left it without our knowing: each recording asks once. */
	if (cuda && on && cuda->refused && cuda->refused != aif_agent.session.generation) {
		cuda->refused = 0;
		cuda->taken = false;
	}
	if (!cuda || (on && (cuda->on || cuda->taken || cuda->left)) ||
	    (!on && !cuda->on && (pause || !cuda->listens) && !aif_cuda_is_sampling(cuda) &&
	     (cuda->records.on == cuda->records.wanted || cuda->sampling.is_stranded)))
		return;
	pthread_mutex_lock(&cuda->switching);
	if (cuda->left) {
		pthread_mutex_unlock(&cuda->switching);
		return;
	}
	if (on)
		sit(cuda);
	switch_to(cuda, on);
	if (!on)
		fall_silent(cuda, pause);
	pthread_mutex_unlock(&cuda->switching);
}

void aif_cuda_yield(struct aif_cuda *cuda)
{
	bool had;

	pthread_mutex_lock(&cuda->switching);
	had = cuda->subscriber;
	cuda->taken = true;
	stand_up(cuda);
	if (had)
		aif_cuda_refused(AIF_REASON_CUDA_YIELDED, "", 0);
	pthread_mutex_unlock(&cuda->switching);
}

void aif_cuda_yielded_back(struct aif_cuda *cuda)
{
	cuda->taken = false;
	collect(atomic_load(&aif_agent.session.armed->on));
}

static void tick(uint64_t now)
{
	struct aif_cuda *cuda = CUDA;
	struct aif_thread *t;

	if (!cuda || !cuda->on)
		return;
	aif_cuda_flush(cuda, false);
	/* And for the first records; cuInit() has returned, too. */
	if (!cuda->has_flushed)
		aif_agent_leave_first();
	cuda->has_flushed = true;
	if (!pthread_mutex_trylock(&cuda->switching)) {
		aif_cuda_gate_tick(cuda, now);
		aif_cuda_sampling_tick(cuda);
		if (cuda->on)
			aif_cuda_blocks_spent(cuda);
		pthread_mutex_unlock(&cuda->switching);
	}
	tell_counts(cuda);
	t = aif_thread_enter();
	if (!t)
		return;
	aif_cuda_clock_tick(t, cuda, now);
	aif_thread_leave(t);
}

static uint64_t turn(uint64_t now)
{
	return CUDA ? aif_cuda_turn(CUDA, now) : UINT64_MAX;
}

/* Makes the helper leave CUPTI, and waits until it has. A forked child has no helper, but perhaps its parent's lock. */
static void exits(void)
{
	struct aif_cuda *cuda = CUDA;

	if (!cuda || !atomic_load(&aif_agent.session.armed->generation))
		return;
	cuda->left = true;
	if (aif_cuda_lock_soon(cuda))
		pthread_mutex_unlock(&cuda->switching);
}

static void leave(void)
{
	struct aif_cuda *cuda = CUDA;

	if (!cuda || !cuda->on)
		return;
	aif_cuda_leave(cuda);
	flush_and_tell(cuda, true);
}

/* A child has no use of its parent's CUDA. */
static void forked(void)
{
	atomic_store(&aif_agent.cuda, NULL);
}

/* With --delay: as in a pause, callbacks are on, and so all calls are counted when it begins (cuda_gate.c). */
static void begin_paused(struct aif_cuda *cuda)
{
	pthread_mutex_lock(&cuda->switching);
	sit(cuda);
	listen(cuda, true);
	pthread_mutex_unlock(&cuda->switching);
}

static int begin(void)
{
	struct aif_cuda *cuda = aif_pages(sizeof(*cuda)), *none = NULL;
	int r;

	if (!cuda)
		return -ENOMEM;
	pthread_mutex_init(&cuda->lock, NULL);
	pthread_mutex_init(&cuda->switching, NULL);
	pthread_mutex_init(&cuda->flushing, NULL);
	pthread_mutex_init(&cuda->buffers_lock, NULL);
	cuda->correlations = aif_pages(sizeof(*cuda->correlations) * AIF_CUDA_CORRELATIONS);
	if (!cuda->correlations)
		return -ENOMEM;
	r = aif_cuda_library(&cuda->api, &cuda->library, &cuda->version);
	if (r < 0) {
		aif_cuda_refused(AIF_REASON_CUDA_NO_CUPTI, "", 0);
		return r; /* nobody sees it */
	}
	aif_cuda_library_bounds((uintptr_t)cuda->api.cuptiGetVersion, &cuda->lo, &cuda->hi);
	aif_cuda_use_init(cuda);
	aif_cuda_claim_init(cuda);
	cuda->use = AIF_CUPTI_USE_THROUGHOUT;
	if (!atomic_compare_exchange_strong(&aif_agent.cuda, &none, cuda))
		return -EALREADY;
	aif_agent_leave_before_driver();
	if (atomic_load(&aif_agent.session.armed->on))
		collect(true);
	else if (atomic_load(&aif_agent.session.armed->recorder_alive))
		begin_paused(cuda);
	/* Nobody has launched anything yet, or made a graph. */
	aif_cuda_gate_settle(cuda);
	atomic_store(&cuda->has_graphs, !cuda->subscriber);
	/* Before what CUPTI made for that is destroyed. */
	aif_agent_leave_first();
	return 0;
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

	if (!CUDA && aif_session_start(&aif_runtime_cuda) == 0)
		(void)begin();
	begin_other();
	errno = saved;
	return 1;
}

const struct aif_runtime aif_runtime_cuda = {
	.name = "cuda",
	.bound_ns = 5000, /* 0.4 us for the stack, 1 to 3 us for CUPTI's callbacks and records */
	.collect = collect,
	.tick = tick,
	.turn = turn,
	.over = over,
	.exits = exits,
	.leave = leave,
	.forked = forked,
};
