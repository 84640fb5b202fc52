/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/activity.h"

#include "agent/cuda/correlation.h"
#include "agent/cuda/cuda.h"
#include "agent/cuda/names.h"
#include "agent/cuda/translate.h"
#include "agent/emit.h"

#include <errno.h>
#include <string.h>

/*
 * CUPTI fills buffers of ours with records and gives them back, on a thread of its own or on the one that
 * flushes (the helper, four times a second). Copies and fills come in buffers of the same kind.
 *
 * A program of JAX that compiles for each new shape ended with CUDA_ERROR_LAUNCH_FAILED at the first replay of a graph, in 25 of
 * 29 recordings; alone in none of 6, nor in any of 41 with CUPTI's records and callbacks that nobody flushed
 * (bench/results/h200-jax-graphs.md: by bench/gpu/price_floor.c, without aiflame). It takes records of kernels, of copies and of copies
 * between devices, graphs, and cuptiActivityFlushAll() meanwhile. Without records of copies between devices 2 of 17 ended with aiflame, and
 * none of 17 with price_floor.c. So
 *
 *     copies between devices have records only where a process uses several devices
 *     nothing is flushed while code is loaded or graphs are made, nor for NEW_NS afterwards, unless MOST launches would wait
 *     nothing is flushed again and again while nothing is launched
 */

#define NEW_NS UINT64_C(250000000)
/* More launches than these, and CUPTI's numbers of the first ones are forgotten (correlation.h). */
#define MOST 100000
/* Work that lasts is flushed after its launch has been: how long after, doubled each time. */
#define AGAIN_NS     AIF_NS_PER_S
#define AGAIN_MAX_NS (32 * AIF_NS_PER_S)

#define LAST_STEPS 1000 /* of 100 us: what an exit is delayed by at most */

static const uint32_t kinds[] = {AIF_CUPTI_KIND_CONCURRENT_KERNEL, AIF_CUPTI_KIND_MEMCPY,
				 AIF_CUPTI_KIND_MEMSET, AIF_CUPTI_KIND_MEMCPY_PEER};

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	struct aif_cuda *cuda = CUDA;

	*buffer = NULL; /* CUPTI counts what it drops */
	*size = AIF_CUDA_BUFFER;
	*max_records = 0;
	pthread_mutex_lock(&cuda->buffers_lock);
	if (cuda->free_len) {
		*buffer = cuda->free[--cuda->free_len];
	} else if (cuda->made < AIF_CUDA_BUFFERS) {
		*buffer = aif_pages(AIF_CUDA_BUFFER);
		cuda->made += *buffer != NULL;
	}
	pthread_mutex_unlock(&cuda->buffers_lock);
	if (!*buffer)
		*size = 0;
}

/* k: the kernel, NULL = none. Captured launches stand for those that were left out (analysis/weights.h). */
static void emit(struct aif_cuda *cuda, struct aif_thread *t, const struct aif_cuda_record *r,
		 struct aif_cuda_kernel *k, uint64_t launch)
{
	struct aif_emit_exec e = {.kind = r->kind,
				  .launch = launch,
				  .start = r->start,
				  .end = r->end,
				  .kernel = AIF_WIRE_NONE,
				  .registers = r->registers,
				  .shared = r->shared,
				  .bytes = r->bytes,
				  .graph = r->graph,
				  .node = r->node};

	if (launch == AIF_CUDA_NOT_CAPTURED || launch == AIF_CUDA_CONFUSED)
		return;
	if (k)
		e.kernel = aif_cuda_kernel_define(t, k);
	e.stream = aif_cuda_stream_define(t, cuda, r->device, r->context, r->stream);
	aif_emit_exec(t, &e);
}

static struct aif_cuda_kernel *kernel_of(struct aif_cuda *cuda, const struct aif_cuda_record *r)
{
	return r->name ? aif_cuda_kernel(cuda, r->name) : NULL;
}

static void exec(struct aif_cuda *cuda, struct aif_thread *t, const struct aif_cuda_record *r)
{
	uint64_t launch;

	if (r->graph) {
		atomic_fetch_add_explicit(&cuda->duty.nodes, 1, memory_order_relaxed);
		if (aif_cuda_records_span_gap(cuda, r->start, r->end)) {
			atomic_fetch_add_explicit(&cuda->timeless, 1, memory_order_relaxed);
			return;
		}
	}
	if (r->graph && !r->correlation && cuda->replays &&
	    aif_cuda_replay_hold(cuda->replays, r, kernel_of(cuda, r)))
		return;
	if (!aif_cuda_correlation_get(cuda->correlations, r->correlation, &launch)) {
		atomic_fetch_add_explicit(&cuda->unjoined, 1, memory_order_relaxed);
		return;
	}
	if (r->graph && cuda->replays)
		aif_cuda_replay_ran(cuda->replays, r);
	if (launch != AIF_CUDA_NOT_CAPTURED && launch != AIF_CUDA_CONFUSED)
		emit(cuda, t, r, kernel_of(cuda, r), launch);
}

/* Executions without a call, after all others of their time. */
static void settle(struct aif_cuda *cuda, bool last)
{
	struct aif_thread *t = cuda->replays ? aif_thread_enter() : NULL;

	if (!t)
		return;
	atomic_fetch_add_explicit(&cuda->unjoined, aif_cuda_replays_settle(cuda, t, last, emit),
				  memory_order_relaxed);
	aif_thread_leave(t);
}

/* A record of what was asked for. */
static bool is_known(const void *record)
{
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	for (unsigned i = 0; i < AIF_ARRAY_LEN(kinds); i++)
		if (kinds[i] == kind)
			return true;
	return false;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	struct aif_cuda *cuda = CUDA;
	struct aif_thread *t = aif_thread_enter();
	struct aif_cuda_record r;
	void *record = NULL;
	size_t dropped = 0;
	uint64_t timeless = 0;
	int saved = errno;

	(void)size;
	atomic_fetch_add(&cuda->completing, 1);
	while (valid && !cuda->api.cuptiActivityGetNextRecord(buffer, valid, &record)) {
		if (t && aif_cuda_translate(record, &r))
			exec(cuda, t, &r);
		else
			timeless += is_known(record);
	}
	if (!cuda->api.cuptiActivityGetNumDroppedRecords(context, stream, &dropped))
		timeless += dropped;
	atomic_fetch_add(&cuda->timeless, timeless);
	if (t)
		aif_thread_leave(t);
	pthread_mutex_lock(&cuda->buffers_lock);
	cuda->free[cuda->free_len++] = buffer;
	pthread_mutex_unlock(&cuda->buffers_lock);
	atomic_fetch_sub(&cuda->completing, 1);
	errno = saved;
}

void aif_cuda_activity_made(struct aif_cuda *cuda)
{
	atomic_fetch_add_explicit(&cuda->flushes.made, 1, memory_order_relaxed);
}

bool aif_cuda_activity_may_flush(struct aif_cuda *cuda, uint64_t now)
{
	struct aif_cuda_flushes *f = &cuda->flushes;
	uint64_t made = atomic_load(&f->made);

	if (made != atomic_load(&f->seen) || aif_cuda_quiesce_is_loading(cuda) ||
	    atomic_load(&cuda->captures)) {
		atomic_store(&f->seen, made);
		atomic_store(&f->since, now);
		return false;
	}
	return now >= atomic_load(&f->since) + NEW_NS;
}

void aif_cuda_activity_tick(struct aif_cuda *cuda, uint64_t launches, uint64_t now)
{
	struct aif_cuda_flushes *f = &cuda->flushes;
	bool is_quiet = aif_cuda_activity_may_flush(cuda, now), is_new = launches != f->launches;

	if (!is_quiet && launches - f->launches < MOST)
		return;
	if (!is_new && now < f->again_at)
		return;
	f->again_ns = is_new ? AGAIN_NS : AIF_MIN(2 * f->again_ns, AGAIN_MAX_NS);
	f->again_at = now + f->again_ns;
	f->launches = launches;
	aif_cuda_activity_flush(cuda, false);
}

void aif_cuda_activity_flush(struct aif_cuda *cuda, bool last)
{
	const struct timespec step = {.tv_nsec = 100000};
	int i = 0;

	if (!last) {
		pthread_mutex_lock(&cuda->flushing);
		cuda->api.cuptiActivityFlushAll(0);
		pthread_mutex_unlock(&cuda->flushing);
		settle(cuda, false);
		return;
	}
	/* The helper may have taken a buffer a moment ago, and ends with the process. */
	while (pthread_mutex_trylock(&cuda->flushing)) {
		if (++i > LAST_STEPS)
			return;
		nanosleep(&step, NULL);
	}
	cuda->api.cuptiActivityFlushAll(AIF_CUPTI_FLUSH_FORCED);
	pthread_mutex_unlock(&cuda->flushing);
	for (; i < LAST_STEPS && atomic_load(&cuda->completing); i++)
		nanosleep(&step, NULL);
	settle(cuda, true);
}

int aif_cuda_activity_init(struct aif_cuda *cuda)
{
	return cuda->api.cuptiActivityRegisterCallbacks(request, complete);
}

int aif_cuda_activity_switch(struct aif_cuda *cuda, bool on)
{
	int r = 0;

	for (unsigned i = 0; i < AIF_ARRAY_LEN(kinds); i++) {
		int one;

		if (kinds[i] == AIF_CUPTI_KIND_MEMCPY_PEER && !cuda->flushes.has_peers)
			continue;
		one = on ? cuda->api.cuptiActivityEnable(kinds[i])
			 : cuda->api.cuptiActivityDisable(kinds[i]);
		/* Copies between devices are refused where there is one device. */
		if (one && kinds[i] != AIF_CUPTI_KIND_MEMCPY_PEER)
			r = one;
	}
	return r;
}

void aif_cuda_activity_use_peers(struct aif_cuda *cuda)
{
	if (cuda->flushes.has_peers)
		return;
	cuda->flushes.has_peers = true;
	if (cuda->records.on)
		cuda->api.cuptiActivityEnable(AIF_CUPTI_KIND_MEMCPY_PEER);
}
