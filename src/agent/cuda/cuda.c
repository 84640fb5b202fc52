/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

/* What is launched is executed after this time, mostly. */
#define UNDER_WAY_NS 20000000

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

/* Under `switching`. */
static void switch_to(struct aif_cuda *cuda, bool on)
{
	const struct timespec under_way = {.tv_nsec = UNDER_WAY_NS};

	if (cuda->on == on || !cuda->subscriber)
		return;
	cuda->on = on;
	if (on) {
		aif_cuda_blocks_begin(cuda, aif_now_ns());
	} else {
		aif_cuda_blocks_end(cuda, aif_now_ns());
		nanosleep(&under_way, NULL);
		aif_cuda_flush(cuda, false);
	}
}

/* Under `switching`, as the next two. Where the seat is another's we wait until that one stands up. */
static void sit(struct aif_cuda *cuda)
{
	int r;

	if (cuda->subscriber || cuda->taken)
		return;
	r = cuda->api.cuptiSubscribe(&cuda->subscriber, aif_cuda_callback, cuda);
	if (!r)
		r = aif_cuda_activity_init(cuda);
	if (r) {
		cuda->subscriber = NULL;
		cuda->taken = true;
		aif_cuda_refused(AIF_REASON_CUDA_REFUSED, "subscribing", r);
		return;
	}
	/* Another subscriber's numbers begin anew. */
	aif_cuda_forget(cuda);
	atomic_store(&cuda->captures, 0);
	if (aif_agent.session.device_rate)
		aif_cuda_sampling_init(cuda);
	aif_cuda_watch(cuda);
}

/* Only where somebody else wants the seat: a thread that is inside a call of CUDA's at that moment has the same
 * correlation id in all later ones, because CUPTI never sees that call's end (measured). */
static void stand_up(struct aif_cuda *cuda)
{
	switch_to(cuda, false);
	if (cuda->subscriber)
		cuda->api.cuptiUnsubscribe(cuda->subscriber);
	cuda->subscriber = NULL;
}

static void collect(bool on)
{
	struct aif_cuda *cuda = CUDA;

	if (!cuda || cuda->on == on || (on && (cuda->taken || cuda->left)))
		return;
	if (!on)
		aif_cuda_stop_sampling(cuda);
	pthread_mutex_lock(&cuda->switching);
	if (on)
		sit(cuda);
	switch_to(cuda, on);
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
	uint64_t unread;

	if (!cuda || !cuda->on)
		return;
	aif_cuda_flush(cuda, false);
	if (!pthread_mutex_trylock(&cuda->switching)) {
		aif_cuda_sampling_tick(cuda);
		pthread_mutex_unlock(&cuda->switching);
	}
	t = aif_thread_enter();
	if (!t)
		return;
	aif_cuda_clock_tick(t, cuda, now);
	unread = atomic_exchange(&cuda->unread, 0);
	if (unread && !aif_emit_note(t, AIF_REASON_NO_TIMES, unread, ""))
		atomic_fetch_add(&cuda->unread, unread);
	aif_thread_leave(t);
}

static uint64_t turn(uint64_t now)
{
	return CUDA ? aif_cuda_turn(CUDA, now) : UINT64_MAX;
}

static void leave(void)
{
	struct aif_cuda *cuda = CUDA;

	if (!cuda || !cuda->on)
		return;
	aif_cuda_leave(cuda);
	aif_cuda_flush(cuda, true);
}

/* A child has no use of its parent's CUDA. */
static void forked(void)
{
	atomic_store(&aif_agent.cuda, NULL);
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
	if (!atomic_compare_exchange_strong(&aif_agent.cuda, &none, cuda))
		return -EALREADY;
	aif_agent_leave_before_driver();
	collect(atomic_load(&aif_agent.session.armed->on));
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
	.leave = leave,
	.forked = forked,
};
