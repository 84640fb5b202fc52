/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/agent.h"
#include "agent/cuda/correlation.h"
#include "agent/cuda/cupti_abi.h"
#include "agent/cuda/duty.h"
#include "agent/cuda/names.h"
#include "agent/cuda/activity.h"
#include "agent/cuda/quiesce.h"
#include "agent/cuda/records.h"
#include "agent/cuda/replays.h"
#include "agent/cuda/sampling.h"
#include "agent/memory/handles.h"
#include "agent/memory/pages.h"

/*
 * NVIDIA's runtime, by way of CUPTI. The driver opens us when it initialises (CUDA_INJECTION64_PATH) and
 * calls InitializeInjection(). Each file has a header with what others call.
 *
 *     cuda.c            the life of it: injection, on and off, ticks, the end
 *     library.c         which libcupti, and its functions
 *     subscriber.c      other users of CUPTI in the process go first
 *     launch.c          the driver's calls, seen as CUPTI's callbacks: LAUNCH records
 *     graphs.c          nodes of graphs: NODE records
 *     replays.c         executions that name their graph, but no call
 *     activity.c        what CUPTI reports when it is over: EXEC records
 *     allocations.c     the driver's memory: MEMORY records
 *     torch.c           that of PyTorch's allocators
 *     correlation.h     from CUPTI's correlation ids to launches
 *     names.c           kernels, devices and streams: ids, defined where they are needed
 *     records.c         kernel records are switched on, and off when that is safe
 *     use.c             how much this libcupti may be asked
 *     duty.c            the overhead budget's blocks: what is switched when
 *     quiesce.c         who switches records or sampling is alone with the driver
 *     lock.c            waiting for a lock, but not for long
 *     sampling.c        instruction samples: which contexts, begin and end, when CUPTI is asked
 *     sampling_setup.c  buffers and configuration, and whether it is allowed
 *     samples.c         what it answers, in our words: WINDOW, CODE, REASON, PC records
 *     claim.c           one process samples a GPU
 *     nameless.c        samples in code that CUPTI has no name for
 *     errors.c          what CUPTI refused, for the profile
 *     translate.c       pure
 *
 * A launch and its executions meet by CUPTI's correlation id (correlation.h).
 */

struct aif_cuda {
	struct aif_cupti api;
	void *library;        /* libcupti */
	uintptr_t lo, hi;     /* where it lies; 0 = not known */
	uint32_t version;     /* of CUPTI */
	uint32_t use;         /* enum aif_cupti_use, never AUTO */
	uint32_t use_session; /* the generation for which it was chosen */
	uint8_t id[AIF_SHM_CUPTI_ID];
	void *subscriber; /* NULL: we are not it; under `switching` */

	_Atomic int captures; /* streams that are being captured into graphs */

	pthread_mutex_t lock; /* of names */
	struct aif_arena arena;
	struct aif_cuda_kernel *kernels[AIF_CUDA_BUCKETS];
	uint32_t kernels_len;
	struct aif_handles by_pointer; /* of a name, as CUPTI has it -> kernel */
	_Atomic uint32_t names_epoch;  /* while it is the same, so is what a pointer means */
	struct aif_cuda_stream *streams;
	uint32_t streams_len;
	struct aif_cuda_device devices[AIF_CUDA_DEVICES];

	struct aif_cuda_correlation *correlations; /* AIF_CUDA_CORRELATIONS */
	_Atomic bool any_confused;                 /* some of them are AIF_CUDA_CONFUSED */

	pthread_mutex_t switching;
	_Atomic bool on, other_subscribed,
		exiting;           /* we record; the subscriber is another; the process exits */
	_Atomic bool callbacks_on; /* launches call back */
	bool has_flushed;          /* the helper, since the program began to use CUDA */
	/* May there be graphs? Unless we have subscribed from the beginning, nobody knows. */
	_Atomic bool has_graphs;
	_Atomic bool has_replays;         /* graphs were launched while callbacks were on */
	bool follows_graphs;              /* writes what becomes of their nodes (graphs.c) */
	struct aif_cuda_replays *replays; /* NULL: not with this CUPTI */
	struct aif_cuda_numbers
		*numbers; /* of graphs' nodes (graphs.c); NULL: not with this CUPTI */
	uint32_t refused; /* the session in which CUPTI would not have us; 0 = none */
	struct aif_cuda_quiesce quiesce;
	struct aif_cuda_records records;
	uint32_t claim_salt;
	struct aif_cuda_duty duty;
	struct aif_cuda_sampling sampling;
	uint64_t pair_ns;                   /* when the clocks were last compared */
	_Atomic uint32_t clock_defined_gen; /* the session that has a pair of them */
	pthread_mutex_t flushing;
	struct aif_cuda_flushes flushes;
	_Atomic int completing; /* threads that read a buffer */
	/* Yet unreported: executions without times; launches that share a number; executions of launches that
	 * are not known; samples that no ring had room for. */
	_Atomic uint64_t timeless, confused, unjoined, unsampled, nameless;
	pthread_mutex_t buffers_lock;
	uint8_t *free[AIF_CUDA_BUFFERS];
	unsigned free_len, made;
};

#define CUDA AIF_RUNTIME_STATE(cuda, aif_cuda)

/* Another user of CUPTI in the process is about to subscribe: ends what is recorded, and lets it. */
void aif_cuda_subscriber_release(struct aif_cuda *cuda);
/* Subscribes again, after the other subscriber has unsubscribed. */
void aif_cuda_subscriber_reclaim(struct aif_cuda *cuda);
