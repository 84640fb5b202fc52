/* SPDX-License-Identifier: Apache-2.0 */
#include "cupti.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Records wait until what they tell of is over; then they are written into buffers, by a thread of the mock's or
 * by the one that flushes. As in CUPTI they are longer than what is read of them.
 */

enum { KERNEL_BYTES = 216, COPY_BYTES = 88, STRANGE_BYTES = 48, STRANGE_KIND = 46 };
static_assert(sizeof(struct aif_cupti_kernel) <= KERNEL_BYTES,
	      "a record has all that is read of it");
static_assert(sizeof(struct aif_cupti_memcpy) <= COPY_BYTES, "a record has all that is read of it");
#define WAITING (1u << 17)
/* CUPTI's thread takes that many at once. */
#define MANY 4096

struct record {
	uint64_t end; /* CLOCK_MONOTONIC */
	unsigned size;
	union {
		uint32_t kind;
		struct aif_cupti_kernel kernel;
		struct aif_cupti_memcpy copy;
	};
};

#define FRESH_NS UINT64_C(200000000)

static struct {
	aif_cupti_request_fn *request;
	aif_cupti_complete_fn *complete;
	struct record *waiting,
		*ready; /* WAITING each; under mock_cupti.lock; under `delivering` */
	unsigned waiting_len, ready_len;
	uint64_t written, timeless, foreign;
	bool strange, made, destroyed;
	_Atomic uint64_t dropped;
	pthread_mutex_t delivering;
	uint8_t *buffer;
	size_t size, used;
	long hoard;
	uint8_t *hoarded[256];
	size_t hoarded_size[256];
	unsigned hoarded_len;
	bool working;
} activity = {.delivering = PTHREAD_MUTEX_INITIALIZER};

void mock_activity_init(void)
{
	activity.hoard = mock_option("hoard");
	activity.strange = mock_option("strange");
	activity.timeless = (uint64_t)mock_option("timeless");
	activity.foreign = (uint64_t)mock_option("foreign");
	activity.waiting = calloc(WAITING, sizeof(*activity.waiting));
	activity.ready = calloc(WAITING, sizeof(*activity.ready));
	if (!activity.waiting || !activity.ready)
		abort();
}

static void fill(struct record *r, const struct mock_call *call)
{
	uint64_t start = call->start + EPOCH_NS, end = call->end + EPOCH_NS;
	uint32_t correlation = call->correlation;

	activity.written++;
	if (activity.timeless && activity.written % activity.timeless == 0)
		start = end = 0;
	if (activity.foreign && activity.written % activity.foreign == 0)
		correlation |= UINT32_C(1) << 31;
	r->end = call->end;
	if (call->kind == AIF_CUPTI_KIND_CONCURRENT_KERNEL) {
		r->size = KERNEL_BYTES;
		r->kernel = (struct aif_cupti_kernel){.kind = call->kind,
						      .start = start,
						      .end = end,
						      .registers = 40,
						      .static_shared = 768,
						      .dynamic_shared = 256,
						      .device = call->context->device,
						      .context = call->context->id,
						      .stream = call->stream,
						      .correlation = correlation,
						      .name = call->function->name};
	} else {
		r->size = COPY_BYTES;
		r->copy = (struct aif_cupti_memcpy){.kind = call->kind,
						    .copy = AIF_CUPTI_COPY_HTOD,
						    .bytes = call->bytes,
						    .start = start,
						    .end = end,
						    .device = call->context->device,
						    .context = call->context->id,
						    .stream = call->stream,
						    .correlation = correlation};
	}
}

void mock_activity_executed(const struct mock_call *call)
{
	bool wanted;

	pthread_mutex_lock(&mock_cupti.lock);
	wanted = mock_cupti.recorded[call->kind] && call->correlation;
	if (wanted && activity.waiting_len < WAITING) {
		fill(&activity.waiting[activity.waiting_len++], call);
		mock_cupti.records++;
	} else if (wanted) {
		atomic_fetch_add(&activity.dropped, 1);
	}
	pthread_mutex_unlock(&mock_cupti.lock);
	if (wanted)
		mock_spend(mock_cupti.record_ns);
}

/* ---- buffers; under `delivering` ---- */

static void give_back(uint8_t *buffer, size_t size, size_t used)
{
	activity.complete(NULL, 0, buffer, size, used);
}

static void *room(unsigned bytes)
{
	size_t most = 0;
	uint8_t *at;

	if (activity.buffer && activity.size - activity.used < bytes) {
		give_back(activity.buffer, activity.size, activity.used);
		activity.buffer = NULL;
	}
	if (!activity.buffer) {
		activity.request(&activity.buffer, &activity.size, &most);
		activity.used = 0;
		if (activity.buffer && ((uintptr_t)activity.buffer % 8 || activity.size < 4096))
			mock_log("BAD buffer size=%zu", activity.size);
	}
	if (!activity.buffer)
		return NULL;
	at = activity.buffer + activity.used;
	activity.used += bytes;
	memset(at, 0, bytes);
	return at;
}

/* Takes all buffers, until enough was lost. */
static bool hoards(void)
{
	size_t size, most;
	uint8_t *buffer;

	if (!activity.hoard)
		return false;
	while (activity.hoarded_len < AIF_ARRAY_LEN(activity.hoarded)) {
		buffer = NULL;
		activity.request(&buffer, &size, &most);
		if (!buffer)
			break;
		activity.hoarded[activity.hoarded_len] = buffer;
		activity.hoarded_size[activity.hoarded_len++] = size;
	}
	if (atomic_fetch_add(&activity.dropped, 1) + 1 < (uint64_t)activity.hoard)
		return true;
	mock_log("hoarded buffers=%u lost=%ld", activity.hoarded_len, activity.hoard);
	activity.hoard = 0;
	for (unsigned i = 0; i < activity.hoarded_len; i++)
		give_back(activity.hoarded[i], activity.hoarded_size[i], 0);
	return true;
}

static void write_record(const struct record *r)
{
	uint8_t *at;

	if (hoards())
		return;
	if (activity.strange) {
		at = room(STRANGE_BYTES);
		if (at)
			*(uint32_t *)(void *)at = STRANGE_KIND;
	}
	at = room(r->size);
	if (!at)
		atomic_fetch_add(&activity.dropped, 1);
	else if (r->size == KERNEL_BYTES)
		memcpy(at, &r->kernel, sizeof(r->kernel));
	else
		memcpy(at, &r->copy, sizeof(r->copy));
}

/* Moves the waiting records whose execution has ended to the ready ones, if at least `least`
 * wait. */
static void take_ready(unsigned least)
{
	uint64_t now = mock_now();
	unsigned left = 0;

	activity.ready_len = 0;
	pthread_mutex_lock(&mock_cupti.lock);
	if (activity.waiting_len >= least) {
		for (unsigned i = 0; i < activity.waiting_len; i++)
			if (activity.waiting[i].end <= now)
				activity.ready[activity.ready_len++] = activity.waiting[i];
			else
				activity.waiting[left++] = activity.waiting[i];
		activity.waiting_len = left;
	}
	pthread_mutex_unlock(&mock_cupti.lock);
}

static void deliver(unsigned least, bool flush)
{
	pthread_mutex_lock(&activity.delivering);
	take_ready(least);
	for (unsigned i = 0; i < activity.ready_len; i++)
		write_record(&activity.ready[i]);
	if (flush && activity.buffer) {
		give_back(activity.buffer, activity.size, activity.used);
		activity.buffer = NULL;
	}
	pthread_mutex_unlock(&activity.delivering);
}

static void *worker(void *arg)
{
	const struct timespec step = {.tv_nsec = 20000000};

	(void)arg;
	while (!mock_cupti.over) {
		nanosleep(&step, NULL);
		deliver(MANY, false);
	}
	return NULL;
}

/* ---- what others call ---- */

int cuptiActivityRegisterCallbacks(aif_cupti_request_fn *request, aif_cupti_complete_fn *complete)
{
	sigset_t all, old;
	pthread_t thread;

	mock_alive(__func__);
	pthread_mutex_lock(&activity.delivering);
	activity.request = request;
	activity.complete = complete;
	if (!activity.working) {
		activity.working = true;
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		pthread_create(&thread, NULL, worker, NULL);
		pthread_detach(thread);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	pthread_mutex_unlock(&activity.delivering);
	return 0;
}

static void destroy_records(void)
{
	activity.destroyed = true;
}

/* Made when they are first wanted, as are its samples. */
static void make_records(void)
{
	if (!activity.made)
		atexit(destroy_records);
	activity.made = true;
}

static int switch_kind(uint32_t kind, bool on)
{
	bool refused = false;

	if (kind == 0 || kind >= MOCK_KINDS)
		return CUPTI_INVALID_PARAMETER;
	if (kind == AIF_CUPTI_KIND_MEMCPY_PEER)
		return AIF_CUPTI_NOT_COMPATIBLE; /* there is one device */
	if (on)
		make_records();
	pthread_mutex_lock(&mock_cupti.lock);
	/* The first that was measured of CUPTI. */
	refused = on && kind == AIF_CUPTI_KIND_CONCURRENT_KERNEL && mock_sampling_is_on() &&
		  !mock_cupti.recorded[kind];
	/* CUPTI 13.0 ends the program some ms later if the call is a copy's. The program's own profiler, which has no
	 * `user`, does it all the same. */
	if (!on && mock_cupti.recorded[kind] && mock_cupti.user && mock_in_driver())
		mock_log("BAD activity kind=%u off beside=%u", kind, mock_in_driver());
	if (!refused)
		mock_cupti.recorded[kind] = on;
	mock_log("activity kind=%u on=%d refused=%d callback_kinds=%u record_kinds=%u sampled=%d",
		 kind, on, refused, mock_callbacks_on(), mock_records_on(), mock_sampling_is_on());
	pthread_mutex_unlock(&mock_cupti.lock);
	return refused ? AIF_CUPTI_NOT_COMPATIBLE : 0;
}

int cuptiActivityEnable(uint32_t kind)
{
	mock_alive(__func__);
	return switch_kind(kind, true);
}

int cuptiActivityDisable(uint32_t kind)
{
	mock_alive(__func__);
	return switch_kind(kind, false);
}

int cuptiActivityFlushAll(uint32_t flag)
{
	mock_alive(__func__);
	if (activity.destroyed)
		mock_log("BAD flush after the records' end");
	/* The last flush comes whatever the program does. */
	if (!flag && mock_option("fresh"))
		mock_log(mock_now() - atomic_load(&mock_cupti.loaded_ns) < FRESH_NS
				 ? "BAD flush beside loading"
				 : "flush");
	deliver(0, true);
	return 0;
}

static unsigned size_of(uint32_t kind)
{
	switch (kind) {
	case AIF_CUPTI_KIND_CONCURRENT_KERNEL:
		return KERNEL_BYTES;
	case AIF_CUPTI_KIND_MEMCPY:
		return COPY_BYTES;
	default:
		return STRANGE_BYTES;
	}
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	uint8_t *at = *record ? (uint8_t *)*record + size_of(*(uint32_t *)*record) : buffer;

	if ((size_t)(at - buffer) >= valid)
		return CUPTI_MAX_LIMIT;
	*record = at;
	return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
	(void)context, (void)stream;
	*dropped = atomic_exchange(&activity.dropped, 0);
	return 0;
}
