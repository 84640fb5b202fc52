/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/cuda/cupti_abi.h"
#include "agent/memory/handles.h"

#include <stdatomic.h>

struct aif_cuda;

/* CUPTI's own thread looks after the device's buffer so often. What it had not seen yet comes with the next window, so a
 * window is that much older (measured on an H100: 50 to 70 ms). */
#define AIF_CUDA_WORKER_MS 50

/* One context of each GPU can be sampled. */
#define AIF_CUDA_CONTEXTS   16
#define AIF_CUDA_REASONS    128
#define AIF_CUDA_PERIOD_MAX 24
struct aif_cuda_sampled {
	_Atomic(void *) context; /* NULL: the place is free */
	_Atomic bool destroyed;  /* while somebody switched: not to be used */
	void *event;             /* CUDA's, to see when the context is idle; NULL: not made yet */
	uint32_t device;
	bool on, refused;     /* refused: never again */
	bool restart;         /* disable it, and unless refused, begin anew */
	int claim;            /* on the GPU's sampling unit: the semaphore + 1; 0 = none */
	uint32_t defined_gen; /* of the device and the reasons, for windows */
	/* Place in the reasons of struct aif_cuda_sampling, + 1, by CUPTI's number, which is the device's; 0 = none. */
	uint8_t reasons[AIF_CUDA_REASONS];
	uint32_t period; /* log2 of cycles */
	double hertz;
	uint64_t period_ps, since;
	unsigned errors;       /* in a row */
	int error;             /* the last result of cuptiPCSamplingGetData() */
	int failed;            /* CUPTI's error that ends it; 0 = none */
	uint64_t device_bytes; /* that CUPTI takes of the device, where it is known */
	struct aif_cupti_samples *config, *out;
};

/* A reason's name in CUPTI, and what to do with it. */
struct aif_cuda_reason {
	char name[AIF_CUPTI_REASON_NAME]; /* without what all begin with */
	uint16_t other;                   /* the reason X of X_not_issued; of any other itself */
};

struct aif_cuda_sampling {
	struct aif_cuda_sampled contexts[AIF_CUDA_CONTEXTS];
	struct aif_cuda_reason reasons[AIF_CUDA_REASONS];
	unsigned reasons_len;
	size_t pc_size; /* size of struct aif_cupti_pc in this CUPTI */
	bool apart;     /* samples and kernel records exclude each other */
	struct aif_handles codes;
	uint32_t codes_len, windows;
	uint32_t session;  /* the generation that contexts were last tried in */
	bool leaves_first; /* our handler for the exit was registered after sampling had been on */
	/* Another process has the unit, though this one was let in: CUPTI switches nothing off any
	 * more without harm. */
	bool is_stranded;
};

/* Has it a context that can be used? */
static inline bool aif_cuda_is_usable(const struct aif_cuda_sampled *c)
{
	return atomic_load(&c->context) && !atomic_load(&c->destroyed);
}

/* Under `switching`, whenever we begin to record. The first time better before any context. */
void aif_cuda_sampling_init(struct aif_cuda *cuda);
/* Is it wanted at all, and is there a context that is not refused? */
bool aif_cuda_sampling_wanted(const struct aif_cuda *cuda);
/* Is any context sampled? */
bool aif_cuda_is_sampling(const struct aif_cuda *cuda);
/* Under `switching`: samples each known context, or stops, reporting what was sampled. False: not now (quiesce.c). */
bool aif_cuda_sampling_switch(struct aif_cuda *cuda, bool on);
/* Under `switching`, as a new subscriber, before anything calls back: nothing is sampled, and launches will show which
 * contexts are there. */
void aif_cuda_sampling_forget(struct aif_cuda *cuda);
/* Under `switching`: reports what was sampled since the last time. */
void aif_cuda_sampling_tick(struct aif_cuda *cuda);

/* Any thread: a launch came through this context. */
void aif_cuda_context_used(struct aif_cuda *cuda, void *context);
/* Returns true if contexts of several devices are there. */
bool aif_cuda_uses_several_devices(const struct aif_cuda *cuda);
/* Any thread: CUPTI reports a context or a module. */
void aif_cuda_resource_event(struct aif_cuda *cuda, uint32_t event,
			     const struct aif_cupti_resource *r);
