/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/capture.h"
#include "agent/cuda/cuda_translate.h"
#include "agent/handles.h"
#include "agent/memory.h"
#include "agent/runtime.h"

/*
 * NVIDIA's runtime, by way of CUPTI. The driver opens us when it initialises (CUDA_INJECTION64_PATH) and
 * calls InitializeInjection().
 *
 *     cuda.c            the life of it: injection, on and off, ticks, the end
 *     cuda_library.c    which libcupti, and its functions
 *     cuda_launch.c     the driver's calls, seen as CUPTI's callbacks: LAUNCH records
 *     cuda_activity.c   what CUPTI tells when it is over: EXEC records
 *     cuda_seat.c       other users of CUPTI in the process go first
 *     cuda_names.c      kernels, devices and streams: ids, told where they are needed
 *     cuda_translate.c  pure
 *
 * A launch and its executions meet by CUPTI's correlation id. The launch callback leaves the launch's
 * number in a table, from which the execution takes it; an entry lives as long as it takes for
 * AIF_CUDA_CORRELATIONS more launches: 4 s at the 68,000 launches/s of a fast decode, against some
 * 0.3 s that a record is under way. A graph's executions all have the correlation id of its launch.
 */

#define AIF_CUDA_CORRELATIONS (1u << 18)
struct aif_cuda_correlation {
	_Atomic uint64_t id; /* correlation id + 1; 0 = free */
	_Atomic uint64_t launch;
};
#define AIF_CUDA_NOT_CAPTURED (UINT64_MAX - 1) /* the budget left it out */

struct aif_cuda_kernel {
	uint32_t id;
	_Atomic uint32_t told; /* session generation */
	uint64_t hash;
	struct aif_cuda_kernel *next; /* in its bucket */
	char name[];
};

#define AIF_CUDA_DEVICES 64
struct aif_cuda_device {
	_Atomic uint32_t told;
	_Atomic bool used;
};

struct aif_cuda_stream {
	uint32_t device, context, stream; /* CUDA's ordinal, CUPTI's numbers */
	uint32_t id;
	uint32_t told;
	struct aif_cuda_stream *next;
};

#define AIF_CUDA_BUCKETS 4096 /* of kernel names; a power of two */
/* 2 MiB hold 9,700 kernel records: 0.14 s of a fast decode. */
#define AIF_CUDA_BUFFER  (2u << 20)
#define AIF_CUDA_BUFFERS 32

struct aif_cuda {
	struct aif_cupti api;
	void *library;    /* libcupti */
	uint32_t version; /* of CUPTI */
	void *subscriber; /* NULL: the seat is not ours; under `switching` */

	_Atomic int captures; /* streams that are being captured into graphs */

	pthread_mutex_t lock; /* of names */
	struct aif_arena arena;
	struct aif_cuda_kernel *kernels[AIF_CUDA_BUCKETS];
	uint32_t kernels_len;
	struct aif_handles by_pointer; /* of a name, as CUPTI has it -> kernel */
	struct aif_cuda_stream *streams;
	uint32_t streams_len;
	struct aif_cuda_device devices[AIF_CUDA_DEVICES];

	struct aif_cuda_correlation *correlations; /* AIF_CUDA_CORRELATIONS */

	pthread_mutex_t switching;
	_Atomic bool on, taken; /* we record; the seat is another's */
	uint64_t pair_ns;       /* when the clocks were last compared */
	pthread_mutex_t flushing;
	_Atomic int completing;  /* threads that read a buffer */
	_Atomic uint64_t unread; /* records that no ring was there for, yet untold */
	pthread_mutex_t buffers_lock;
	uint8_t *free[AIF_CUDA_BUFFERS];
	unsigned free_len, made;
};

#define CUDA (atomic_load_explicit(&aif_agent.cuda, memory_order_acquire))

/* Finds libcupti: the copy that the process has, else the one that it would get. 0, or -ENOENT. */
int aif_cuda_library(struct aif_cupti *api, void **ret_library, uint32_t *ret_version);

/* Somebody else wants CUPTI's seat; does not need it any more. */
void aif_cuda_yield(struct aif_cuda *cuda);
void aif_cuda_yielded_back(struct aif_cuda *cuda);

/* CUPTI's callback. */
void aif_cuda_callback(void *user, uint32_t domain, uint32_t id, const void *data);
/* All calls' callbacks on or off. 0 or CUPTI's error. */
int aif_cuda_launches(struct aif_cuda *cuda, bool on);

/* Which calls launch nothing is watched for as long as the seat is ours. */
void aif_cuda_watch_captures(struct aif_cuda *cuda);

/* Records on or off. 0 or CUPTI's error. */
int aif_cuda_activity(struct aif_cuda *cuda, bool on);
int aif_cuda_activity_init(struct aif_cuda *cuda);
/* What is complete is told now. `last`: waits, not for long, until all of it is told. */
void aif_cuda_flush(struct aif_cuda *cuda, bool last);

/* The kernel of this name; made if new. NULL: no memory. */
struct aif_cuda_kernel *aif_cuda_kernel(struct aif_cuda *cuda, const char *name);
/* Its id, told to t's ring if nobody was told it yet in this session. */
uint32_t aif_cuda_kernel_tell(struct aif_thread *t, struct aif_cuda_kernel *k);
/* The same for a stream, and its device. AIF_WIRE_NONE: no memory. */
uint32_t aif_cuda_stream_tell(struct aif_thread *t, struct aif_cuda *cuda, uint32_t device,
			      uint32_t context, uint32_t stream);
/* A pair for each device in use. */
void aif_cuda_clock_tick(struct aif_thread *t, struct aif_cuda *cuda, uint64_t now);

static inline void aif_cuda_correlate(struct aif_cuda *cuda, uint32_t correlation, uint64_t launch)
{
	struct aif_cuda_correlation *c = &cuda->correlations[correlation % AIF_CUDA_CORRELATIONS];

	/* No reader may take the new number for the old id's. */
	atomic_store_explicit(&c->id, 0, memory_order_relaxed);
	atomic_store_explicit(&c->launch, launch, memory_order_release);
	atomic_store_explicit(&c->id, (uint64_t)correlation + 1, memory_order_release);
}

/* False: unknown, or overwritten. */
static inline bool aif_cuda_correlated(struct aif_cuda *cuda, uint32_t correlation,
				       uint64_t *ret_launch)
{
	struct aif_cuda_correlation *c = &cuda->correlations[correlation % AIF_CUDA_CORRELATIONS];
	uint64_t id = (uint64_t)correlation + 1;

	if (atomic_load_explicit(&c->id, memory_order_acquire) != id)
		return false;
	*ret_launch = atomic_load_explicit(&c->launch, memory_order_acquire);
	return atomic_load_explicit(&c->id, memory_order_acquire) == id;
}
